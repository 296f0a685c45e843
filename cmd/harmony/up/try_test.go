package up

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// lockedText is a lockedWriter whose text can be read while it is written.
type lockedText struct {
	lockedWriter
	text strings.Builder
}

func (s *lockedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestUpAsksItsServers checks the warning for a server that lists other models, and what it says to add.
func TestUpAsksItsServers(t *testing.T) {
	const then = ". Until then requests get 502 server_model_not_found, or another model's answers\n"
	for name, tt := range map[string]struct {
		answer string
		change func(*up)
		want   string // "": no warning
	}{
		"the same name": {`{"data":[{"id":"gpt-oss-120b"}]}`, func(*up) {}, ""},
		"another name": {`{"data":[{"id":"openai/gpt-oss-120b"}]}`, func(*up) {}, ` serves "openai/gpt-oss-120b", not ` +
			`"gpt-oss-120b": add --server-model openai/gpt-oss-120b` + then},
		"the name is set": {`{"data":[{"id":"openai/gpt-oss-120b"}]}`,
			func(u *up) { u.config.Models[0].ServerModel = "openai/gpt-oss-120b" }, ""},
		"a name set wrong": {`{"data":[{"id":"gpt-oss-120b"}]}`,
			func(u *up) { u.config.Models[0].ServerModel = "openai/gpt-oss-120b" },
			` serves "gpt-oss-120b", not "openai/gpt-oss-120b": `},
		"two names": {`{"data":[{"id":"a"},{"id":"b"}]}`, func(*up) {},
			` serves "a", "b", not "gpt-oss-120b": add --server-model NAME` + then},
		"no model": {`{"data":[]}`, func(*up) {},
			` serves nothing, not "gpt-oss-120b": start the server with the model` + then},
		"with a file": {`{"data":[{"id":"b"}]}`, func(u *up) { u.file = "h.yaml" },
			"set server_model: b of the model gpt-oss-120b in h.yaml" + then},
		"several models": {`{"data":[{"id":"b"}]}`,
			func(u *up) { u.config.Models = append(u.config.Models, config.DefaultModel("m")) },
			"write server_model: b of the model gpt-oss-120b in a --config file" + then},
		"a name with words": {`{"data":[{"id":"a; rm b"}]}`, func(*up) {},
			` serves "a; rm b", not "gpt-oss-120b": add --server-model NAME` + then},
		"no list of models": {`nothing`, func(*up) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.answer)) }))
			defer server.Close()
			got := tryOnce(t, server.URL, tt.change)
			if tt.want == "" && got != "" || !strings.HasSuffix(got, tt.want) && !strings.Contains(got, tt.want) {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}

// TestUpSaysWhatItsServersAre checks what is printed about a server that tells what it is, and the warnings for one that
// does not fit the model.
func TestUpSaysWhatItsServersAre(t *testing.T) {
	for name, tt := range map[string]struct {
		options sim.Options
		change  func(*up)
		want    []string // after the server's URL; each is one line
	}{
		"as it should be": {sim.Options{}, func(*up) {}, []string{
			"note: URL is vLLM " + sim.Version + ", context: 131072 tokens, vocabulary: same"}},
		"another vocabulary": {sim.Options{OtherVocabulary: true}, func(*up) {}, []string{
			"note: URL is vLLM " + sim.Version + ", context: 131072 tokens, vocabulary: other",
			`warning: URL has another vocabulary: "Hello, world!" has the ids [75 104 111 111 114 47 35 122 …] there, and ` +
				"[13225 11 2375 0] here. Start it with a gpt-oss model and that model's own tokenizer; until then it reads " +
				"every request as other words"}},
		"a small context": {sim.Options{MaxModelLen: 4096}, func(*up) {}, []string{
			"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same",
			"note: prompt and answer of a request to gpt-oss-120b may have 4096 tokens together, as URL has no more"}},
		"a smaller context than is set": {sim.Options{MaxModelLen: 4096},
			func(u *up) { u.config.Models[0].ContextSet = true }, []string{
				"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same",
				"warning: URL has a context of 4096 tokens, and that of gpt-oss-120b is 131072: it refuses requests without " +
					"max_tokens; add --context-length 4096"}},
		"a smaller context than is set in a file": {sim.Options{MaxModelLen: 4096},
			func(u *up) { u.file, u.config.Models[0].ContextSet = "h.yaml", true }, []string{
				"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same",
				"warning: URL has a context of 4096 tokens, and that of gpt-oss-120b is 131072: it refuses requests without " +
					"max_tokens; set context_length: 4096 of the model gpt-oss-120b in h.yaml"}},
		"a small context, known at the start": {sim.Options{MaxModelLen: 4096},
			func(u *up) { u.contexts = map[string]int{"gpt-oss-120b": 4096} }, []string{
				"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same",
				"note: prompt and answer of a request to gpt-oss-120b may have 4096 tokens together, as URL has no more"}},
		"a small context, beside a smaller one": {sim.Options{MaxModelLen: 4096},
			func(u *up) { u.contexts = map[string]int{"gpt-oss-120b": 2048} }, []string{
				"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same"}},
		"a small context, not known at the start": {sim.Options{MaxModelLen: 4096},
			func(u *up) { u.contexts = map[string]int{} }, []string{
				"note: URL is vLLM " + sim.Version + ", context: 4096 tokens, vocabulary: same",
				"warning: URL has a context of 4096 tokens, and did not answer when harmony up began: it refuses requests to " +
					"gpt-oss-120b without max_tokens; add --context-length 4096, or start harmony up again"}},
		"another kind": {sim.Options{Kind: sim.SGLang}, func(*up) {}, []string{
			"note: URL is SGLang " + sim.SGLangVersion + ", context: 131072 tokens, vocabulary: same",
			"warning: URL is SGLang, and its kind is vllm: write sglang=URL, or ask harmony probe"}},
		"another name": {sim.Options{Models: []string{"openai/gpt-oss-120b"}}, func(*up) {}, []string{
			"note: URL is vLLM " + sim.Version + ", context: 131072 tokens, vocabulary: same",
			`warning: URL serves "openai/gpt-oss-120b", not "gpt-oss-120b": add --server-model openai/gpt-oss-120b. Until ` +
				"then requests get 502 server_model_not_found, or another model's answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.New(tt.options)
			t.Cleanup(s.Close)
			server := httptest.NewServer(s.Handler())
			t.Cleanup(server.Close)
			got := strings.ReplaceAll(tryOnce(t, server.URL, tt.change), server.URL, "URL")
			if want := strings.Join(tt.want, "\n") + "\n"; got != want {
				t.Errorf("it says\n%swant\n%s", got, want)
			}
		})
	}
}

// TestUpWatchesItsServers checks that a change of a server is logged while the filter runs in this program.
func TestUpWatchesItsServers(t *testing.T) {
	models := `{"data":[{"id":"m"}]}`
	var mu sync.Mutex
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == contract.ModelsPath {
			_, _ = w.Write([]byte(models))
			select {
			case asked <- struct{}{}:
			default:
			}
		}
	}))
	defer server.Close()
	out := &lockedText{}
	out.writer = &out.text
	u := &up{config: config.Default(), stderr: out}
	u.config.Models = []config.Model{config.DefaultModel("m", "vllm="+server.URL)}
	c, err := u.config.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	w, err := u.watchServers(c, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	<-asked
	mu.Lock()
	models = `{"data":[{"id":"n"}]}`
	mu.Unlock()
	want := `level=WARN msg="a server's readiness has changed" pool=m server=` + server.URL
	for limit := time.Now().Add(30 * time.Second); !strings.Contains(out.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("it says %q", out)
		}
	}
	if !strings.Contains(out.String(), `state=not_ready reason="does not serve \"m\"; it serves \"n\""`) {
		t.Errorf("it says %q", out)
	}
}

// tryOnce tries a server that answers, and returns the warning.
func tryOnce(t *testing.T, url string, change func(*up)) string {
	t.Helper()
	var out strings.Builder
	u := &up{config: &config.Config{Models: []config.Model{config.DefaultModel("gpt-oss-120b", "vllm="+url)}},
		stderr: &out}
	change(u)
	server, err := config.ParseServer("vllm=" + url)
	if err != nil {
		t.Fatal(err)
	}
	u.tryServer(t.Context(), &u.config.Models[0], server)
	return out.String()
}

// TestUpWarnsOfAnUnreachableServer checks that a server that cannot be reached is reported once, and is tried until
// the run ends.
func TestUpWarnsOfAnUnreachableServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	out := &lockedText{}
	out.writer = &out.text
	u := &up{config: &config.Config{Models: []config.Model{config.DefaultModel("m", "vllm=http://"+address)}}, stderr: out}
	end := u.tryServers(context.Background())
	for limit := time.Now().Add(20 * time.Second); out.String() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nothing is said")
		}
	}
	end()
	if want := "warning: no connection to http://" + address + " of m ("; !strings.HasPrefix(out.String(), want) ||
		strings.Count(out.String(), "\n") != 1 {
		t.Errorf("it says %q", out)
	}
}

// TestTryPools: a server of a pool that is away is named, and one that listens is not.
func TestTryPools(t *testing.T) {
	here, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away.Close()
	var out lockedText
	out.writer = &out.text
	u := up{config: config.Default(), stderr: &out}
	u.config.Pools = []config.Pool{{Name: "gpus",
		Servers: []string{"http://" + here.Addr().String(), "http://" + away.Addr().String(), "nonsense://"}}}
	end := u.tryPools(t.Context())
	want := "warning: no connection to http://" + away.Addr().String() + " of the pool gpus ("
	for until := time.Now().Add(10 * time.Second); !strings.Contains(out.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it says %q", out.String())
		}
	}
	end()
	if strings.Count(out.String(), "warning") != 1 {
		t.Errorf("it says %q", out.String())
	}
}
