package brackets_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"example.com/brackets"

	"github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// settings are the filter's configuration.
const settings = `{"schema":1,"models":[{"name":"brackets-7b","server":"chat","speaks":"` + brackets.Speaks + `"}]}`

// A gateway answers a request. The answer comes from a model's server, cut into pieces.
type gateway func(t *testing.T, path, request string, server func(path, body string) string, pieces int) string

// gateways are the core in this process, and the filter as WebAssembly.
func gateways(t *testing.T) map[string]gateway {
	t.Helper()
	wasm := cmp.Or(os.Getenv("BRACKETS_WASM"), "../../dist/brackets-filter.wasm")
	host := filtertest.New(t, wasm, settings)
	return map[string]gateway{"native": native, "filter": func(t *testing.T, path, request string,
		server func(path, body string) string, pieces int) string {
		t.Helper()
		x := host.Request("POST", path, request, "content-type", "application/json")
		got := x.Server()
		if got.State != filtertest.Complete {
			t.Fatalf("the server has got %s, the client %s", got, x.Client())
		}
		x.BeginResponse(200, "content-type", "text/event-stream")
		x.SendResponse(cut(server(got.Header(":path"), got.Body()), pieces)...)
		x.EndResponse()
		return x.Client().Body()
	}}
}

// native answers by the core alone: this is all that a Go program needs for a gateway of its own.
func native(t *testing.T, path, request string, server func(path, body string) string, pieces int) string {
	t.Helper()
	c, err := config.Parse([]byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	g := exchange.New(exchange.Options{Config: *c, Tokenizer: o200k.Tokenizer(), Adapters: brackets.Adapters()})
	x := g.Begin("POST", path)
	x.RequestHeaders()
	asked := x.Request([]byte(request), exchange.Host{Now: 1_700_000_000_000, ID: "0123456789abcdef01234567"})
	if asked.Forward == nil {
		t.Fatalf("the request is not sent on: %+v", asked.Reply)
	}
	answer := cut(server(asked.Forward.Path, string(asked.Forward.Body)), pieces)
	var got strings.Builder
	got.Write(x.ResponseHeaders(exchange.ResponseHead{Status: 200, ContentType: "text/event-stream"}).Body)
	for i, piece := range answer {
		action := x.ResponseBody([]byte(piece), i == len(answer)-1)
		if action.Reply != nil {
			got.Write(action.Reply.Body)
		}
		got.Write(action.Body)
	}
	return got.String()
}

func cut(body string, size int) []string {
	var pieces []string
	for ; len(body) > size; body = body[size:] {
		pieces = append(pieces, body[:size])
	}
	return append(pieces, body)
}

// model is a simulated server. Its model writes text.
func model(t *testing.T, text string) func(path, body string) string {
	t.Helper()
	line, err := json.Marshal(map[string]string{"match": "Hi", "text": "<|channel|>final<|message|>" + text + "<|return|>"})
	if err != nil {
		t.Fatal(err)
	}
	script, err := sim.ReadScript(strings.NewReader(string(line)), o200k.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	server := sim.New(sim.Options{Kind: sim.Chat, Models: []string{"brackets-7b"}, Script: script})
	t.Cleanup(server.Close)
	return func(path, body string) string {
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, request)
		answer, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, answer)
		}
		return string(answer)
	}
}

// TestRules: whatever the model writes, the messages are the same at every cut, and no text is lost.
func TestRules(t *testing.T) {
	pieces := []string{"[[THINK]]", "[[/THINK]]", "[", "[[", "/THINK", "]]", "a", "é", "\xf0", structuretest.Break}
	random := rand.New(rand.NewSource(1))
	for range 500 {
		text := ""
		for range random.Intn(12) {
			text += pieces[random.Intn(len(pieces))]
		}
		structuretest.Read(t, brackets.New, structure.Options{}, text, true)
	}
	got := structuretest.Read(t, brackets.New, structure.Options{}, "[[THINK]]a[[/THINK]]b[[THINK]]c", true)
	if want := "[analysis] a end; [final] b end; [analysis] c return; missing_mark 1"; got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAdapter(t *testing.T) {
	for name, answer := range gateways(t) {
		for _, tt := range []struct{ text, want string }{
			{"[[THINK]]Easy.[[/THINK]]Hello.", "reasoning(Easy.) message(Hello.)"},
			{"Hello.", "message(Hello.)"},
			{"One [[THINK]]a[[b]][[/THINK]] two [[THINK]]c", "message(One ) reasoning(a[[b]]) message( two ) reasoning(c)"},
			{"[[THIN", "message([[THIN)"},
		} {
			t.Run(name+" "+tt.text, func(t *testing.T) {
				server := model(t, tt.text)
				for _, pieces := range []int{1, 2, 3, 7, 64, 1 << 20} {
					got := answer(t, "/v1/responses", `{"model":"brackets-7b","input":"Hi"}`, server, pieces)
					if items := itemsOf(t, got); items != tt.want {
						t.Fatalf("in pieces of %d: %s\n%s", pieces, items, got)
					}
					got = answer(t, "/v1/chat/completions",
						`{"model":"brackets-7b","messages":[{"role":"user","content":"Hi"}]}`, server, pieces)
					if strings.Contains(got, "THINK]]") {
						t.Fatalf("in pieces of %d: a tag is in %s", pieces, got)
					}
				}
			})
		}
	}
}

// TestUnknownAdapter: a filter refuses the name of an adapter that it does not have.
func TestUnknownAdapter(t *testing.T) {
	const want = "models[0].speaks: this filter has no adapter x-braces"
	wasm := cmp.Or(os.Getenv("BRACKETS_WASM"), "../../dist/brackets-filter.wasm")
	refuse := filtertest.Environment(map[string]string{"HARMONY_CONFIG_ERROR": "refuse"})
	if _, err := filtertest.Start(t, wasm, strings.Replace(settings, brackets.Speaks, "x-braces", 1), refuse); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// itemsOf returns the items of a response, each as TYPE(text).
func itemsOf(t *testing.T, body string) string {
	t.Helper()
	var response struct {
		Output []struct {
			Type    string
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &response); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var items []string
	for _, item := range response.Output {
		text := ""
		for _, part := range item.Content {
			text += part.Text
		}
		items = append(items, fmt.Sprintf("%s(%s)", item.Type, text))
	}
	return strings.Join(items, " ")
}
