package found

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/probe"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Options are the settings of [Ask].
type Options struct {
	// Model is the name that the server knows the model by. Empty: see [probe.Options].
	Model string
	// Choose is [probe.Options.Choose]. Its error is of the command line.
	Choose func(models []string) (string, error)
	// KeyVariable is the variable of the environment that has the server's key. Empty: no key is sent.
	KeyVariable string
	// Brief is [probe.Options.Brief].
	Brief bool
}

// Server is an inference server and what it has answered.
type Server struct {
	Report      *probe.Report
	server      config.Server
	keyVariable string
}

// Ask asks the server at a URL, which may have the path of a hosted API. It returns an error if the server cannot be
// reached or refuses the key.
func Ask(ctx context.Context, url string, o Options) (*Server, error) {
	server, err := config.ParseServer(contract.Chat + "=" + url) // this kind may have any path
	if err != nil {
		return nil, cli.Usage(err)
	}
	e := server.Endpoint
	var chosen error
	p := probe.Options{URL: e.String(), APIPath: server.APIPath, Model: o.Model, Brief: o.Brief,
		Transport: &http.Transport{DisableCompression: true}}
	if o.Choose != nil {
		p.Choose = func(models []string) (name string, err error) {
			name, chosen = o.Choose(models)
			return name, chosen
		}
	}
	if o.KeyVariable != "" {
		key := os.Getenv(o.KeyVariable)
		if key == "" {
			return nil, cli.Usage(fmt.Errorf("--key-env: the environment has no %s; export it", o.KeyVariable))
		}
		p.Authorization = "Bearer " + key
	}
	r, err := probe.Server(ctx, p)
	switch {
	case chosen != nil:
		return nil, cli.Usage(fmt.Errorf("%s: %w", url, chosen))
	case errors.Is(err, probe.ErrUnauthorized):
		return nil, fmt.Errorf("%s: %w; put its key into a variable of the environment, and name that with --key-env", e,
			err)
	case err != nil:
		return nil, fmt.Errorf("%s does not answer: %s; check that the server is started, and its address", e,
			pools.Cause(err, err.Error()))
	}
	return &Server{r, server, o.KeyVariable}, nil
}

// Unusable returns an error if the gateway cannot use the server.
func (s *Server) Unusable() error {
	if problem := s.Report.Problem(); problem != "" {
		return fmt.Errorf("the gateway cannot use %s: %s", s.server.Endpoint, problem)
	}
	return nil
}

// URL returns the server's URL, with the path of its API if that is not the usual one.
func (s *Server) URL() string {
	return s.server.Endpoint.String() + cli.IfTrue(s.server.APIPath != contract.DefaultAPIPath, s.server.APIPath)
}

// File returns the configuration for this server, or "" if the gateway cannot use it.
func (s *Server) File() string { return File(ClientName(s.Report.Model), s) }

// File returns the configuration of one pool of servers, by what the first of them has answered. model is the name that
// clients ask for. The file is "" if the gateway cannot use the first.
func File(model string, servers ...*Server) string {
	s := servers[0]
	r, kind := s.Report, s.Report.Kind()
	if r.Problem() != "" || kind == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "models:\n  - name: %s\n    pool: gpus\n", yamlText(model))
	if r.Model != model {
		fmt.Fprintf(&b, "    server_model: %s\n", yamlText(r.Model))
	}
	if s.otherContext() {
		fmt.Fprintf(&b, "    context_length: %d\n", r.Context)
	}
	if r.Render != nil && r.Render.Speaks != "" {
		fmt.Fprintf(&b, "    speaks: %s\n", r.Render.Speaks)
	}
	if r.Render != nil && len(r.Render.Spellings) > 0 {
		fmt.Fprint(&b, "    control_spellings:\n")
		for _, text := range r.Render.Spellings {
			fmt.Fprintf(&b, "      - %s\n", strconv.Quote(text))
		}
	}
	if settings := s.chatSettings(); settings != "" {
		fmt.Fprintf(&b, "    chat:\n%s", settings)
	}
	if kind.TagProblem != "" {
		fmt.Fprintf(&b, "    structured_outputs: %s\n", contract.NoStructure)
	}
	fmt.Fprintf(&b, "pools:\n  - name: gpus\n    kind: %s\n", kind.Name)
	if kind.TextPrompts {
		fmt.Fprint(&b, "    accept_text_prompts: true\n")
	}
	fmt.Fprint(&b, "    servers:\n")
	for _, one := range servers {
		fmt.Fprintf(&b, "      - %s\n", one.URL())
	}
	if e := r.Engine; e != nil && kind.Conversations && contract.KindNamed(kind.Name).Health == "" && s.server.APIPath == contract.DefaultAPIPath {
		// The kind has no path for the health of its servers, but the program may.
		if k := contract.KindNamed(e.ID); k != nil && k.Health != "" {
			fmt.Fprintf(&b, "    health: { path: %s }\n", k.Health)
		}
	}
	if s.keyVariable != "" {
		fmt.Fprintf(&b, "    authorization: server-key\nsecrets:\n  - name: server-key\n    env: %s\n", s.keyVariable)
	}
	return b.String()
}

// Command returns the command line for this server, or "" if there is none: not every setting has a flag.
func (s *Server) Command() string {
	r, kind := s.Report, s.Report.Kind()
	if s.File() == "" || r.Render != nil || s.keyVariable != "" || kind.TagProblem != "" || s.chatSettings() != "" || !cli.Plain(r.Model) {
		return ""
	}
	c := fmt.Sprintf("harmony up --backend %s=%s --model %s", kind.Name, s.URL(), ClientName(r.Model))
	if r.Model != ClientName(r.Model) {
		c += " --server-model " + r.Model
	}
	if kind.TextPrompts {
		c += " --accept-text-prompts"
	}
	if s.otherContext() {
		c += " --context-length " + strconv.Itoa(r.Context)
	}
	return c
}

// chatSettings returns the settings of the model's chat that differ from their defaults.
func (s *Server) chatSettings() string {
	history, opened := contract.ReasoningContentOnly, false
	if c := s.Report.Chat; c != nil {
		history, opened = c.History, c.Reasoning == probe.InOpenedTags
	}
	if r := s.Report.Render; r != nil && r.Problem == "" {
		history, opened = r.History, r.Opened
	}
	settings := ""
	if history != contract.ReasoningContentOnly {
		settings += "      reasoning_history: " + history + "\n"
	}
	if opened {
		settings += "      think_tags: " + contract.ThinkOpened + "\n"
	}
	return settings
}

func (s *Server) otherContext() bool {
	r := s.Report
	return r.Chat == nil && r.Render == nil && r.Context > 0 && r.Context != contract.DefaultContextLength
}

// ClientName returns a name for clients of a server's model: openai/gpt-oss-120b is gpt-oss-120b. Characters that such
// a name cannot have are replaced.
func ClientName(model string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, path.Base(model))
}

// yamlText returns a text as a value in YAML.
func yamlText(s string) string {
	_, notNumber := strconv.ParseFloat(s, 64)
	if cli.Plain(s) && notNumber != nil && s != "true" && s != "false" && s != "null" {
		return s
	}
	return strconv.Quote(s)
}
