package up

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// startSim starts a simulated server, and returns its URL.
func startSim(t *testing.T, o sim.Options) string {
	t.Helper()
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// askURLs reads a command line of harmony up with servers by URL. It returns what is printed and the configuration.
func askURLs(t *testing.T, args ...string) (printed string, c *config.Config, err error) {
	t.Helper()
	var f upFlags
	var s upURLs
	flags := pflag.NewFlagSet("up", pflag.ContinueOnError)
	f.add(flags)
	s.add(flags)
	if err := flags.Parse(args); err != nil {
		return "", nil, err
	}
	if err := s.take(flags.Args(), &f); err != nil {
		return "", nil, err
	}
	var out strings.Builder
	if len(s.urls) > 0 {
		if err := s.ask(t.Context(), &f, &out); err != nil {
			return out.String(), nil, err
		}
	}
	c, err = f.config(flags)
	return out.String(), c, err
}

func noEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range append(slices.Clone(cli.OpenAIServerVariables), cli.OpenAIKeyVariable) {
		t.Setenv(name, "")
	}
}

// TestURL checks that a URL is enough: the printed file is the configuration in force.
func TestURL(t *testing.T) {
	noEnvironment(t)
	for _, kind := range sim.Kinds() {
		if kind == sim.Chat || kind == sim.Text || kind == sim.Ollama {
			continue // the first has no gpt-oss, and the others need a flag
		}
		found := kind
		if kind == contract.VLLMRender {
			found = contract.VLLMGenerate // gpt-oss needs no server that renders
		}
		t.Run(kind, func(t *testing.T) {
			url := startSim(t, sim.Options{Kind: kind, Models: []string{"openai/gpt-oss-120b"}, MaxModelLen: 4096})
			printed, c, err := askURLs(t, url, "--listen", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut(printed, "for harmony up --config FILE:\n\n")
			kept, err := config.Parse("printed", []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			m, k := c.Filter().Models[0], kept.Filter().Models[0]
			if m.Name != "gpt-oss-120b" || m.ServerModel != "openai/gpt-oss-120b" || m.Server != found ||
				c.Pools[0].Servers[0] != url || c.Listen != "127.0.0.1:0" {
				t.Errorf("got %+v", m)
			}
			if k.Name != m.Name || k.ContextLength != m.ContextLength || kept.Pools[0].Servers[0] != url {
				t.Errorf("the printed file is another:\n%s", printed)
			}
			if !strings.Contains(printed, url+" is ") {
				t.Errorf("it prints\n%s", printed)
			}
		})
	}
}

// TestURLs checks pools of several URLs, names, and servers that take text.
func TestURLs(t *testing.T) {
	noEnvironment(t)
	a := startSim(t, sim.Options{MaxModelLen: 8192})
	b := startSim(t, sim.Options{MaxModelLen: 4096})
	other := startSim(t, sim.Options{Kind: sim.SGLang})
	text := startSim(t, sim.Options{Kind: sim.Text})
	two := startSim(t, sim.Options{Models: []string{"gpt-oss-20b", "gpt-oss-120b"}})
	printed, c, err := askURLs(t, a, b)
	if err != nil || len(c.Pools[0].Servers) != 2 || c.Models[0].ContextLength != 4096 {
		t.Fatalf("two: %v\n%s", err, printed)
	}
	if _, c, err = askURLs(t, a, "--model", "ours", "--context-length", "2000"); err != nil || len(c.Models) != 1 ||
		c.Models[0].Name != "ours" || c.Models[0].ServerModel != "gpt-oss-120b" || c.Models[0].ContextLength != 2000 {
		t.Errorf("with flags: %v", err)
	}
	if _, c, err = askURLs(t, text, "--accept-text-prompts"); err != nil || c.Filter().Models[0].Server != contract.Text {
		t.Errorf("text: %v", err)
	}
	if _, c, err = askURLs(t, two, "--model", "gpt-oss-20b"); err != nil || c.Models[0].Name != "gpt-oss-20b" ||
		c.Models[0].ServerModel != "" {
		t.Errorf("one of two models: %v", err)
	}
	for args, want := range map[string]string{
		a + " " + other:                  "write a file with a pool for each",
		text:                             "add --accept-text-prompts",
		two:                              `it serves "gpt-oss-20b", "gpt-oss-120b"; choose one with --server-model NAME`,
		"gpu":                            `"gpu" is not expected here; the URL of a server is`,
		"http://127.0.0.1:1":             "http://127.0.0.1:1 does not answer: connection refused; check that the server is started",
		a + " --config c.yaml":           "write it into the pools of c.yaml",
		a + " --backend vllm=" + b:       "write every server as --backend KIND=URL",
		a + " --model m --model n":       "write --backend MODEL=KIND=URL for several",
		a + " --key-env NO_SUCH_KEY_SET": "the environment has no NO_SUCH_KEY_SET",
		"--key-env X":                    "--key-env is the key of a server that is named by its URL",
		"":                               "no server is given; write its URL, as in harmony up http://HOST:PORT",
	} {
		if _, _, err := askURLs(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", args, err, want)
		}
	}
}

// TestURLOfTheEnvironment checks that the variables of OpenAI's clients name a server, and that their key goes to no
// other server.
func TestURLOfTheEnvironment(t *testing.T) {
	noEnvironment(t)
	closed := startSim(t, sim.Options{APIKey: "k"})
	t.Setenv("OPENAI_BASE_URL", closed+"/v1")
	t.Setenv("OPENAI_API_KEY", "k")
	printed, c, err := askURLs(t)
	if err != nil || c.Pools[0].Servers[0] != closed || len(c.Secrets) != 1 || c.Secrets[0].Env != "OPENAI_API_KEY" ||
		!strings.Contains(printed, "the file to keep (the server is of $OPENAI_BASE_URL), for ") {
		t.Fatalf("%v\n%s", err, printed)
	}
	if strings.Contains(printed, "\"k\"") {
		t.Errorf("the key is printed:\n%s", printed)
	}
	keys := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case keys <- r.Header.Get("Authorization"):
		default:
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer elsewhere.Close()
	if _, _, err = askURLs(t, elsewhere.URL); err == nil || !strings.Contains(err.Error(), "name that with --key-env") {
		t.Errorf("another server: %v", err)
	}
	if key := <-keys; key != "" {
		t.Errorf("another server gets %q", key)
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	if _, _, err = askURLs(t); err == nil || !strings.HasPrefix(err.Error(), "$OPENAI_BASE_URL: ") {
		t.Errorf("nothing there: %v", err)
	}
	if _, c, err = askURLs(t, "--model", "m", "--backend", "vllm=http://a:1"); err != nil || len(c.Secrets) != 0 {
		t.Errorf("with --backend: %v", err)
	}
}
