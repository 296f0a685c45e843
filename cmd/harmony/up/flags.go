package up

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// upFlags are the flags of harmony up that change the configuration. Each takes precedence over the file.
type upFlags struct {
	file          string
	listen, admin string
	mode          string
	models        []string
	backends      []string
	serverModel   string
	contextLength int
	date          string
	bodyLimit     config.Size
	stallTimeout  config.Duration
	forwardAuth   bool
	acceptText    bool
	passthrough   string
	store         string
	envoy         string
	concurrency   int
	// base is the configuration of servers that are named by URL. It is nil if there are none.
	base *config.Config
}

func (f *upFlags) add(flags *pflag.FlagSet) {
	d := config.Default()
	f.bodyLimit, f.stallTimeout = d.BodyLimit, d.StallTimeout
	flags.StringVar(&f.file, "config", "", "configuration `FILE` (YAML); flags override it")
	flags.StringVar(&f.listen, "listen", d.Listen, "`ADDRESS` for clients; port 0 takes a free one")
	flags.StringVar(&f.admin, "admin", d.Admin, "`ADDRESS` of the page, with Envoy's admin interface behind it; on "+
		"loopback")
	flags.StringVar(&f.mode, "mode", d.Mode,
		"`MODE` of the filter: full, or reduced for an Envoy that cannot let it hold headers")
	flags.StringArrayVar(&f.models, "model", nil, "`NAME` that clients ask for (repeatable)")
	flags.StringArrayVar(&f.backends, "backend", nil, "inference server as `[MODEL=]KIND=URL`, such as "+
		"vllm=http://127.0.0.1:8000 (repeatable); MODEL where there are several")
	flags.StringVar(&f.serverModel, "server-model", "",
		"`NAME` that the servers know the model by (default: the model's own)")
	flags.IntVar(&f.contextLength, "context-length", contract.DefaultContextLength,
		"the models' whole context, in `TOKENS`; without it a smaller context of the servers counts")
	flags.BoolVar(&f.forwardAuth, "forward-authorization", false, "forward clients' authorization header to the servers")
	flags.BoolVar(&f.acceptText, "accept-text-prompts", false,
		"accept servers of --backend that take prompts as text: docs/servers.md")
	flags.StringVar(&f.date, "date", contract.DateUTC, "date in the system message: utc, omit or a `DAY` as YYYY-MM-DD")
	flags.Var(&f.bodyLimit, "body-limit", "largest request body, such as 512KiB or 16MiB")
	flags.Var(&f.stallTimeout, "stall-timeout",
		"how long a server may be silent before its request is ended; 0s: no limit")
	flags.StringVar(&f.passthrough, "passthrough", "",
		"`URL` of a server for every other model (default: none, they are answered 404)")
	flags.StringVar(&f.store, "store", "",
		"`FILE` of stored responses and conversations (SQLite), or postgres://HOST/DATABASE (default: nothing is stored)")
	flags.StringVar(&f.envoy, "envoy", "", "Envoy `PROGRAM` (default: $ENVOY, the one that pip installed with this "+
		"program, envoy on PATH, one next to this program, .tools/bin/envoy)")
	flags.IntVar(&f.concurrency, "concurrency", 0, "worker threads of Envoy (default: one per CPU)")
}

// config returns the configuration of the file and the flags together, validated.
func (f *upFlags) config(flags *pflag.FlagSet) (*config.Config, error) {
	c := config.Default()
	switch {
	case f.base != nil:
		c = f.base
	case f.file != "":
		var err error
		if c, err = config.Load(f.file); err != nil {
			return nil, err
		}
	}
	if err := f.adjust(flags)(c); err != nil {
		return nil, err
	}
	return c, c.Validate()
}

// adjust returns a function that applies the flags to a configuration.
func (f *upFlags) adjust(flags *pflag.FlagSet) func(*config.Config) error {
	return func(c *config.Config) error {
		if err := f.setModels(c, flags); err != nil {
			return err
		}
		for _, o := range []struct {
			flag string
			set  func()
		}{
			{"listen", func() { c.Listen, c.Listeners = f.listen, nil }},
			{"admin", func() { c.Admin = f.admin }},
			{"mode", func() { c.Mode = f.mode }},
			{"body-limit", func() { c.BodyLimit = f.bodyLimit }},
			{"stall-timeout", func() { c.StallTimeout = f.stallTimeout }},
			{"passthrough", func() { c.Passthrough = f.passthrough }},
			{"store", func() { c.ResponsesService.URL, c.ResponsesService.Store = "", f.store }},
			{"envoy", func() { c.Envoy.Path = f.envoy }},
			{"concurrency", func() { c.Envoy.Concurrency = f.concurrency }},
		} {
			if flags.Changed(o.flag) {
				o.set()
			}
		}
		if len(c.Models) == 0 {
			return errors.New("no server is given; write its URL, as in harmony up http://HOST:PORT, or --config FILE")
		}
		for i := range c.Models {
			if m := &c.Models[i]; len(m.Servers) == 0 && m.Pool == "" {
				return fmt.Errorf("no server is given for the model %s; write --backend %svllm=http://HOST:PORT", m.Name,
					cli.IfTrue(len(c.Models) > 1, m.Name+"="))
			}
		}
		return nil
	}
}

// setModels applies the flags about models to c. --model replaces all models of the file. The other flags apply to
// every model.
func (f *upFlags) setModels(c *config.Config, flags *pflag.FlagSet) error {
	if len(f.models) > 0 {
		c.Models = nil
		for _, name := range f.models {
			if slices.ContainsFunc(c.Models, func(m config.Model) bool { return m.Name == name }) {
				return fmt.Errorf("--model %s is listed twice; repeat --backend instead", name)
			}
			c.Models = append(c.Models, config.DefaultModel(name))
		}
	}
	if err := f.setBackends(c); err != nil {
		return err
	}
	if flags.Changed("server-model") && len(c.Models) > 1 {
		return errors.New("--server-model is for one model, and there are several; write server_model in a --config file")
	}
	for i := range c.Models {
		m := &c.Models[i]
		if flags.Changed("server-model") {
			m.ServerModel = f.serverModel
		}
		if flags.Changed("context-length") {
			if f.contextLength <= 0 {
				return fmt.Errorf("--context-length %d is out of range; write the model's whole context in tokens, such as %d",
					f.contextLength, contract.DefaultContextLength)
			}
			m.ContextLength, m.ContextSet = f.contextLength, true
		}
		if flags.Changed("forward-authorization") {
			m.ForwardAuthorization = f.forwardAuth
		}
		m.AcceptTextPrompts = f.acceptText
		if flags.Changed("date") && !c.ServerKind(m).Conversations {
			m.System.Date = cmp.Or(f.date, contract.DateUTC)
		}
	}
	return nil
}

// setBackends sets the servers of each model named by --backend, in place of those in the file.
func (f *upFlags) setBackends(c *config.Config) error {
	servers := map[string][]string{}
	for _, b := range f.backends {
		name, server := splitBackend(b)
		if name == "" {
			switch len(c.Models) {
			case 0:
				return fmt.Errorf("--backend %s is for no model; add --model NAME", b)
			case 1:
				name = c.Models[0].Name
			default:
				return fmt.Errorf("--backend %s does not say which model it serves; write --backend %s=%s", b, c.Models[0].Name, b)
			}
		}
		if !slices.ContainsFunc(c.Models, func(m config.Model) bool { return m.Name == name }) {
			return fmt.Errorf("--backend %s is for the model %s, which is not configured; add --model %s", b, name, name)
		}
		if _, err := config.ParseServer(server); err != nil {
			return fmt.Errorf("--backend %w", err)
		}
		servers[name] = append(servers[name], server)
	}
	for i := range c.Models {
		if servers := servers[c.Models[i].Name]; servers != nil {
			c.Models[i].Servers, c.Models[i].Pool = servers, ""
		}
	}
	return nil
}

// splitBackend splits MODEL= off [MODEL=]KIND=URL. The last = before the URL belongs to the kind.
func splitBackend(b string) (model, server string) {
	head := b
	if i := strings.Index(b, "://"); i >= 0 {
		head = b[:i]
	}
	kind := strings.LastIndexByte(head, '=')
	if kind < 0 {
		return "", b
	}
	if cut := strings.LastIndexByte(head[:kind], '='); cut >= 0 {
		return b[:cut], b[cut+1:]
	}
	return "", b
}
