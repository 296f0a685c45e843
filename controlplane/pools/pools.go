package pools

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/watch"
)

// Pool is what is to be watched.
type Pool struct {
	Name string
	// Servers are addresses, or names that may stand for many addresses.
	Servers []config.Endpoint
	// File holds more servers and is read again when it changes. Empty: there is none.
	File string
	// Models are what every server of the pool must serve. Empty: no server is asked.
	Models []string
	// Authorization is the header of that name with which the servers are asked. It is told to nobody else.
	Authorization string
	// AuthorizationName is what the operator calls it. A server that refuses it is told of by this name.
	AuthorizationName string
	// CAFile holds the certificates that https servers are checked against when they are asked, and is read again when it
	// changes. Empty: the system's.
	CAFile string
}

// State is whether a server serves its pool's models.
type State string

// A server that is Unknown may well serve them: whether it can be reached is for those to judge who send it requests.
const (
	Unknown  State = "unknown"
	Ready    State = "ready"
	NotReady State = "not_ready"
)

// NotAsked is the Reason of a server that has not been asked yet and will be. Its first answer is a change.
const NotAsked = "not asked yet"

// Server is one address of a pool.
type Server struct {
	// Endpoint is the server as it was written; its host is the name for TLS and the Host header.
	Endpoint config.Endpoint
	Address  netip.AddrPort
	State    State
	// Reason says why the server is not ready, or why the last question brought no answer that counts.
	Reason string
	// Since is when State came to be.
	Since time.Time
	// Silent is since when questions have brought no answer at all, for which Reason says why. Zero: the last one brought
	// one, or none has been asked.
	Silent time.Time
	// Refuses reports whether the server's last answer was that it does not accept the pool's authorization.
	Refuses bool
}

// PoolState is a pool at one moment.
type PoolState struct {
	// Servers are sorted by address, each of which is there once.
	Servers []Server
	// Unresolved are the names that have had no address yet. What such a pool had before this program ran is not known, so
	// that nobody should take servers away for it.
	Unresolved []string
	// Problem is why Servers may be old: what is wrong with a file or a name. Empty: they are not.
	Problem string
}

// Options are a Watcher's settings. The zero value of each is its default.
type Options struct {
	Log           *slog.Logger  // none
	DNSInterval   time.Duration // 5s, between two lookups of a name
	ReadyInterval time.Duration // 5s, between two questions to a server
	// Lookup finds a name's addresses; the system's resolver. network is "ip".
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	defaultInterval = 5 * time.Second
	maxLookups      = 32 // at once
	maxQuestions    = 64 // at once
)

// Watcher watches pools. All methods may be called at the same time.
type Watcher struct {
	log     *slog.Logger
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	files   *watch.Files
	dns     *rota[string]
	ready   *rota[*member]
	changed chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	// reading is held by whoever reads files and then puts what they say into lists and roots.
	reading sync.Mutex

	mu    sync.Mutex // never held while files are read or somebody is asked
	pools map[string]*pool
	names map[string]*name
	lists map[string]source[[]config.Endpoint] // by path
	roots map[string]source[*x509.CertPool]    // by path
}

// pool is a Pool, and what became of it.
type pool struct {
	Pool
	question *question
	members  []*member // by address
}

// New watches no pools yet.
func New(o Options) *Watcher {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupNetIP
	}
	if o.DNSInterval <= 0 {
		o.DNSInterval = defaultInterval
	}
	if o.ReadyInterval <= 0 {
		o.ReadyInterval = defaultInterval
	}
	w := &Watcher{log: o.Log, lookup: o.Lookup, files: watch.New(o.Log), changed: make(chan struct{}, 1), pools: map[string]*pool{}, names: map[string]*name{}}
	w.dns = newRota(o.DNSInterval, maxLookups, w.resolve)
	w.ready = newRota(o.ReadyInterval, maxQuestions, w.ask)
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.running.Go(func() { w.dns.run(w.ctx) })
	w.running.Go(func() { w.ready.run(w.ctx) })
	w.running.Go(w.followFiles)
	return w
}

// Set replaces the pools, or on an error leaves them as they are. Servers that stay keep their state. A file that was not
// watched before must be good; what goes wrong with it later is a PoolState's Problem.
func (w *Watcher) Set(pools []Pool) error {
	w.reading.Lock()
	defer w.reading.Unlock()
	next := make(map[string]*pool, len(pools))
	for _, p := range pools {
		if next[p.Name] != nil {
			return errors.New("there are two pools " + strconv.Quote(p.Name))
		}
		if !httpguts.ValidHeaderFieldValue(p.Authorization) {
			return errors.New("pool " + strconv.Quote(p.Name) + ": its authorization cannot stand in a header")
		}
		p.Servers, p.Models = slices.Clone(p.Servers), slices.Clone(p.Models)
		next[p.Name] = &pool{Pool: p, question: questionOf(p)}
	}
	lists, roots, err := w.sources(next)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.pools
	w.pools, w.lists, w.roots = next, lists, roots
	for name, p := range next {
		if old := before[name]; old != nil {
			p.members = old.members
			if old.question.equal(p.question) {
				p.question = old.question
			}
		}
	}
	for name, old := range before {
		if next[name] == nil {
			w.dismiss(old.members)
			tell(w.changed)
		}
	}
	w.refresh()
	return nil
}

// Servers tells of every pool, by name.
func (w *Watcher) Servers() map[string]PoolState {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]PoolState, len(w.pools))
	for name, p := range w.pools {
		s := PoolState{Servers: make([]Server, len(p.members))}
		for i, m := range p.members {
			s.Servers[i] = m.Server
		}
		s.Unresolved, s.Problem = w.troubles(p)
		all[name] = s
	}
	return all
}

// troubles are the names without an address, and all that is wrong.
func (w *Watcher) troubles(p *pool) (unresolved []string, problem string) {
	var problems []string
	if err := w.lists[p.File].err; err != nil {
		problems = append(problems, err.Error())
	}
	if err := w.roots[p.CAFile].err; err != nil {
		problems = append(problems, err.Error())
	}
	for _, host := range w.hosts(p) {
		n := w.names[host]
		if len(n.addresses) == 0 {
			unresolved = append(unresolved, host)
		}
		if n.problem != "" {
			problems = append(problems, host+": "+n.problem)
		}
	}
	return unresolved, strings.Join(problems, "; ")
}

// Changed has a token when servers came, went or changed their state since it last had one.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Resolved waits until every name of the pools has been looked up once, well or not.
func (w *Watcher) Resolved(ctx context.Context) error {
	w.mu.Lock()
	var asked []<-chan struct{}
	for _, n := range w.names {
		asked = append(asked, n.asked)
	}
	w.mu.Unlock()
	for _, c := range asked {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	return nil
}

// Close ends the watching. Servers still tells of the last moment.
func (w *Watcher) Close() {
	w.cancel()
	w.files.Close()
	w.running.Wait()
}
