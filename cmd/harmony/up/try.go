package up

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	tryTimeout  = 3 * time.Second
	tryInterval = 5 * time.Second
)

// tryServers begins to try the servers in the models' own lists, and returns a function that stops it. A server may
// start later, so an error here is only a warning.
func (u *up) tryServers(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var tries sync.WaitGroup
	for i := range u.config.Models {
		m := &u.config.Models[i]
		for _, text := range m.Servers {
			if s, err := config.ParseServer(text); err == nil { // otherwise Validate has reported it
				tries.Go(func() { u.tryServer(ctx, m, s) })
			}
		}
	}
	return func() {
		cancel()
		tries.Wait()
	}
}

// tryPools warns of servers of the pools that cannot be reached. It is for a host without a control plane, which would
// log them. end stops it.
func (u *up) tryPools(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var tries sync.WaitGroup
	for _, p := range u.config.Pools {
		for _, text := range p.Servers {
			e, err := config.ParseURL(text)
			if err != nil {
				continue // Validate has reported it
			}
			tries.Go(func() {
				if err := dial(ctx, e); err != nil && ctx.Err() == nil {
					fmt.Fprintf(u.stderr, "warning: no connection to %s of the pool %s (%v); while none of its servers answers, "+
						"requests get 503\n", e, p.Name, err)
				}
			})
		}
	}
	return func() {
		cancel()
		tries.Wait()
	}
}

// tryServer warns if a server cannot be reached, and tries again until the server lists its models. Then it prints what
// the server is, and what is wrong with it.
func (u *up) tryServer(ctx context.Context, m *config.Model, s config.Server) {
	e, kind, warned := s.Endpoint, contract.KindNamed(s.Kind), false
	pool := pools.Pool{Models: []string{cmp.Or(m.ServerModel, m.Name)}, CAFile: u.config.CAFile,
		APIPath: s.APIPath, TokenIDs: kind != nil && kind.TokenIDs()}
	for {
		err := dial(ctx, e)
		if err == nil {
			found, served, askErr := pools.Ask(ctx, e, pool)
			if askErr == nil {
				u.describe(m, s, &found)
				u.compareModels(m, e, served)
			}
			if askErr == nil || pools.Answered(askErr) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !warned {
			warned = true
			fmt.Fprintf(u.stderr, "warning: no connection to %s of %s (%v); requests get 503 until there is one\n", e, m.Name,
				err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tryInterval):
		}
	}
}

func dial(ctx context.Context, e config.Endpoint) error {
	dialer := net.Dialer{Timeout: tryTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// describe prints what a server has told about itself, and warns of what does not fit the model.
func (u *up) describe(m *config.Model, configured config.Server, s *pools.Server) {
	e := configured.Endpoint
	if s.Program != "unknown" || s.Vocabulary != pools.VocabularyNotAsked {
		fmt.Fprintf(u.stderr, "note: %s is %s\n", e, cli.ProgramText(s.Program, s.Context, s.Vocabulary))
	}
	if kinds := s.Engine.Misfit(configured.Kind); len(kinds) > 0 {
		fmt.Fprintf(u.stderr, "warning: %s is %s, and its kind is %s: write %s=%s, or ask harmony probe\n", e, s.Engine.Name,
			configured.Kind, kinds[0], e)
	}
	if s.Vocabulary == pools.OtherVocabulary {
		fmt.Fprintf(u.stderr, "warning: %s has another vocabulary: %s. Start it with a gpt-oss model and that model's own "+
			"tokenizer; until then it reads every request as other words\n", e, s.VocabularyExample)
	}
	if s.Context > 0 && s.Context < m.ContextLength && !takesConversations(configured.Kind) {
		u.describeContext(m, e, s.Context)
	}
}

// describeContext prints that a server has a smaller context than the model's default, or than the operator has set.
func (u *up) describeContext(m *config.Model, e config.Endpoint, context int) {
	inForce := m.ContextLength
	if n, known := u.contexts[m.Name]; known {
		inForce = min(n, inForce)
	}
	switch {
	case m.ContextSet:
		fmt.Fprintf(u.stderr, "warning: %s has a context of %d tokens, and that of %s is %d: it refuses requests without "+
			"max_tokens; %s\n", e, context, m.Name, m.ContextLength, u.hint(m, "context-length", strconv.Itoa(context)))
	case u.contexts != nil && context < inForce:
		fmt.Fprintf(u.stderr, "warning: %s has a context of %d tokens, and did not answer when harmony up began: it refuses "+
			"requests to %s without max_tokens; %s, or start harmony up again\n", e, context, m.Name,
			u.hint(m, "context-length", strconv.Itoa(context)))
	case u.contexts == nil || context == inForce:
		fmt.Fprintf(u.stderr, "note: prompt and answer of a request to %s may have %d tokens together, as %s has no more\n",
			m.Name, context, e)
	}
}

// takesConversations reports whether servers of a kind render prompts themselves, so that they hold their context
// themselves too.
func takesConversations(kind string) bool {
	k := contract.KindNamed(kind)
	return k != nil && k.Conversations && !k.Renders
}

// compareModels warns if a server does not list a model by the name that requests to it have.
func (u *up) compareModels(m *config.Model, e config.Endpoint, served []string) {
	name := cmp.Or(m.ServerModel, m.Name)
	if slices.Contains(served, name) {
		return
	}
	// Some kinds of servers do not read the name in a request.
	fmt.Fprintf(u.stderr, "warning: %s serves %s, not %q: %s. Until then requests get 502 server_model_not_found, or "+
		"another model's answers\n", e, pools.Quoted(served), name, u.serverModelHint(m, served))
}

// serverModelHint returns advice on where to set the server's name of a model.
func (u *up) serverModelHint(m *config.Model, served []string) string {
	if len(served) == 0 {
		return "start the server with the model"
	}
	name := "NAME" // there are several, or the name would need quotes in a shell or in YAML
	if len(served) == 1 && cli.Plain(served[0]) {
		name = served[0]
	}
	return u.hint(m, "server-model", name)
}

// hint returns advice on where to write a setting of a model that has a flag.
func (u *up) hint(m *config.Model, flag, value string) string {
	key := strings.ReplaceAll(flag, "-", "_")
	switch {
	case u.file != "":
		return fmt.Sprintf("set %s: %s of the model %s in %s", key, value, m.Name, u.file)
	case len(u.config.Models) > 1:
		return fmt.Sprintf("write %s: %s of the model %s in a --config file", key, value, m.Name)
	}
	return "add --" + flag + " " + value
}

// watchServers watches the servers as the control plane does with the host envoy: a change of their readiness is
// logged. They are asked in this interval, or in the control plane's if it is 0. The caller closes the watcher.
func (u *up) watchServers(c *config.Resolved, interval time.Duration) (*pools.Watcher, error) {
	w := pools.New(pools.Options{Log: u.eventLog(), ReadyInterval: interval})
	if err := w.Set(server.WatchedPools(c, func(string) string { return "" })); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// followServers takes the servers that are not ready out of the pools of the filter in this program, and tells the
// filter what servers do with structural tags, as the control plane does with the host envoy, until the function that
// it returns is called. w may be nil.
func (u *up) followServers(ctx context.Context, s *inprocess.Server, c *config.Resolved, w *pools.Watcher) (end func()) {
	if w == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		for {
			states := w.Servers()
			for i := range c.Pools {
				out := server.TakenOut(&c.Pools[i], states[c.Pools[i].Name])
				s.Proxy().TakeOut(contract.PoolCluster(c.Pools[i].Name), func(address string) bool { return out[address] })
			}
			u.followStructures(s, c, states)
			select {
			case <-w.Changed():
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		following.Wait()
	}
}

// lockedStructures are the result of [server.Structures], for several goroutines.
type lockedStructures struct {
	mu    sync.Mutex
	value map[string]string
}

func (l *lockedStructures) get() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value
}

func (l *lockedStructures) set(value map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value = value
}

// followStructures gives the filter in this program another configuration if its servers do something else with
// structural tags than before. A failure is tried again at the next change of the servers.
func (u *up) followStructures(s *inprocess.Server, c *config.Resolved, states map[string]pools.PoolState) {
	before := u.structures.get()
	next := server.Structures(c, states, before)
	if maps.Equal(next, before) {
		return
	}
	u.structures.set(next)
	module, err := u.module.Path()
	if err == nil {
		var r *xds.Resources
		if r, err = u.build(c, module); err == nil {
			err = s.Configure(r)
		}
	}
	if err != nil {
		u.structures.set(before)
		fmt.Fprintln(u.stderr, "warning: the filter keeps structured_outputs as it was:", err)
	}
}

// contextWait is how long harmony up waits for the servers' contexts before it starts the filter in this program.
const contextWait = time.Second

// toldContexts returns the smallest contexts of the models' servers that answer at once.
func toldContexts(ctx context.Context, c *config.Resolved, w *pools.Watcher) map[string]int {
	late := time.NewTimer(contextWait)
	defer late.Stop()
	for {
		states := w.Servers()
		if !unasked(states) {
			return server.SmallestContexts(c, states)
		}
		select {
		case <-w.Changed():
		case <-late.C:
			return server.SmallestContexts(c, w.Servers())
		case <-ctx.Done():
			return server.SmallestContexts(c, w.Servers())
		}
	}
}

// unasked reports whether there is a server that has not answered yet, or has a name that has not been looked up.
func unasked(states map[string]pools.PoolState) bool {
	for _, p := range states {
		for i := range p.Servers {
			if p.Servers[i].Reason == pools.NotAsked {
				return true
			}
		}
		if len(p.Unresolved) > 0 {
			return true
		}
	}
	return false
}

// eventLog is for the events of a control plane. Events of its normal work matter only with many Envoys.
func (u *up) eventLog() *slog.Logger {
	out := u.stderr
	if u.events != nil {
		out = u.events
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
