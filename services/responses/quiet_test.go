package responses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// beats is how often a quiet stream gets a sign of life in these tests.
const beats = 20 * time.Millisecond

// quietGateway is a service that keeps streams alive, before a gateway that answers with one handler after another.
// relay is the model's.
func quietGateway(t *testing.T, relay string, answers ...http.HandlerFunc) *fixture {
	t.Helper()
	asked := make(chan http.HandlerFunc, len(answers))
	for _, a := range answers {
		asked <- a
	}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case answer := <-asked:
			answer(w, r)
		default:
			t.Error("the gateway is asked too often")
		}
	}))
	t.Cleanup(gateway.Close)
	f := start(t, Options{})
	f.change(func(o *Settings) {
		o.Gateway, o.KeepAlive = gateway.URL, map[string]time.Duration{"m": beats}
		m := contract.Model{Name: "m"}
		m.Relay, m.Aliases = relay, []string{"gpt-4o"}
		o.Models = []contract.Model{m}
	})
	return f
}

// after waits until the client has got enough, and then answers.
func after(enough chan struct{}, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-enough:
			answer(w, r)
		case <-r.Context().Done():
		}
	}
}

// sends sends a part of a stream, and cuts the stream after it if cut is set.
func sends(part string, cut bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(w, part)
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	}
}

// then is one handler after another.
func then(all ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, one := range all {
			one(w, r)
		}
	}
}

// listen asks for a response and reads its events. It calls each at each sign of life: an in_progress beyond the first.
// The events are returned by their kinds, with one sign for all that follow each other.
func (f *fixture) listen(members string, each func(signs int)) (kinds []string, last map[string]any) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), "POST", f.url+"/v1/responses",
		strings.NewReader(`{"model":"gpt-4o","input":"x","store":false,"stream":true`+members+`}`))
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("content-type"); answer.StatusCode != 200 || kind != "text/event-stream" {
		f.t.Fatalf("%d %s", answer.StatusCode, kind)
	}
	lines := bufio.NewScanner(answer.Body)
	number, signs := 0, -1
	for lines.Scan() {
		text, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		var e struct {
			Type     string
			Number   int `json:"sequence_number"`
			Response map[string]any
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Number != number {
			f.t.Errorf("event %d: %v: %s", number, err, text)
		}
		number++
		if e.Response != nil {
			last = e.Response
		}
		kind := strings.TrimPrefix(e.Type, "response.")
		if kind == "in_progress" {
			if signs++; signs > 0 {
				kind = "sign"
				each(signs)
			}
		}
		if kind != "sign" || kinds[len(kinds)-1] != "sign" {
			kinds = append(kinds, kind)
		}
	}
	if err := lines.Err(); err != nil {
		f.t.Error(err)
	}
	return kinds, last
}

// TestQuietResponses: a stream of the Responses API is begun while the model is silent, and has signs of life. The
// numbers of its events are in order, whatever follows.
func TestQuietResponses(t *testing.T) {
	whole := answerOf("completed", 10, 5, textItem("done"))
	begun, end := splitEnd(whole)
	opening := begun[:strings.Index(begun, "event: response.output_item")]
	refused := func(w http.ResponseWriter, _ *http.Request) { full(w) }
	for _, tt := range []struct {
		name, relay string
		answers     func(enough chan struct{}) []http.HandlerFunc
		want        string
		message     string
	}{
		{"a prefill", contract.RelayFinish, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{after(enough, sends(whole, false))}
		}, "created in_progress sign ITEM completed", ""},
		{"a pause", contract.RelayFinish, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{then(sends(begun, false), after(enough, sends(end, false)))}
		}, "created in_progress ITEM sign completed", ""},
		{"a refusal", contract.RelayRetry, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{after(enough, refused)}
		}, "created in_progress sign error failed", "No room. Please try again in 7s."},
		{"a server that dies in the prefill", contract.RelayFinish, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{after(enough, sends(opening, true))}
		}, "created in_progress sign error failed",
			"The model's server ended the stream before the answer was complete. Try again."},
		{"and is asked again", contract.RelayRetry, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{after(enough, sends(opening, true)), sends(whole, false)}
		}, "created in_progress sign ITEM completed", ""},
		{"one that dies after the opening, in a pause", contract.RelayRetry, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{then(sends(opening, false), after(enough, sends("", true))), sends(whole, false)}
		}, "created in_progress sign ITEM completed", ""},
		{"one that dies after an item", contract.RelayRetry, func(enough chan struct{}) []http.HandlerFunc {
			return []http.HandlerFunc{then(sends(begun, false), after(enough, sends("", true)))}
		}, "created in_progress ITEM sign error failed",
			"The model's server ended the stream before the answer was complete. Try again."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			enough := make(chan struct{})
			f := quietGateway(t, tt.relay, tt.answers(enough)...)
			kinds, last := f.listen("", func(signs int) {
				if signs == 3 {
					close(enough)
				}
			})
			got := strings.Join(kinds, " ")
			added := strings.Join(itemKinds(begun), " ")
			if want := strings.ReplaceAll(tt.want, "ITEM", added); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			failure, _ := last["error"].(map[string]any)
			if tt.message != "" && fmt.Sprint(failure["message"]) != tt.message {
				t.Errorf("%v", last)
			}
			if status, body := f.do("GET", "/v1/responses/"+fmt.Sprint(last["id"]), ""); status != 404 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// itemKinds returns the kinds of a stream's events about items.
func itemKinds(events string) (kinds []string) {
	for _, line := range strings.Split(events, "\n") {
		if kind, found := strings.CutPrefix(line, "event: response."); found && kind != "created" && kind != "in_progress" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TestQuietTool: a stream has signs of life while a tool of the service's runs.
func TestQuietTool(t *testing.T) {
	enough := make(chan struct{})
	slow := saying("hello")
	quick := slow.Answer
	slow.Answer = func(arguments json.RawMessage) (*mcp.CallToolResult, error) {
		<-enough
		return quick(arguments)
	}
	f, _, _ := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 10, 5, callItem("t", "say_it", `{}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, slow)
	f.change(func(o *Settings) {
		m := contract.Model{Name: "m"}
		m.Aliases = []string{"gpt-4o"}
		o.KeepAlive, o.Models = map[string]time.Duration{"m": beats}, []contract.Model{m}
	})
	kinds, last := f.listen(","+never, func(signs int) {
		if signs == 2 {
			close(enough)
		}
	})
	got := strings.Join(kinds, " ")
	before, after, found := strings.Cut(got, " sign ")
	if !found || !strings.HasSuffix(before, "mcp_call_arguments.done") || !strings.HasSuffix(after, " completed") ||
		last["status"] != "completed" {
		t.Errorf("%s: %v", got, last)
	}
}

// TestQuietStored: signs of life are not part of what is stored, and the numbers of a response in the background are
// those that are stored.
func TestQuietStored(t *testing.T) {
	enough := make(chan struct{})
	whole := sends(answerOf("completed", 10, 5, textItem("done")), false)
	f := quietGateway(t, contract.RelayFinish, after(enough, whole), whole)
	_, last := f.listen(`,"store":true`, func(signs int) {
		if signs == 2 {
			close(enough)
		}
	})
	if status, body := f.do("GET", "/v1/responses/"+fmt.Sprint(last["id"]), ""); status != 200 ||
		!strings.Contains(body, "done") {
		t.Errorf("%d %s", status, body)
	}
	kinds, _ := f.listen(`,"store":true,"background":true`, func(int) { t.Error("a sign of life in the background") })
	if len(kinds) == 0 || kinds[len(kinds)-1] != "completed" {
		t.Errorf("%v", kinds)
	}
}

// TestRelayed passes requests of the other APIs on, with their queries, and refuses what it cannot take in their forms.
func TestRelayed(t *testing.T) {
	type asked struct{ target, body, declined, id string }
	gets := make(chan asked, 10)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		gets <- asked{r.URL.RequestURI(), string(body), r.Header.Get(contract.ServiceHeader), r.Header.Get("anthropic-beta")}
		w.Header().Set("content-type", "application/json")
		w.Header().Set("request-id", "r")
		_, _ = io.WriteString(w, `{"a": 1}`)
	}))
	t.Cleanup(gateway.Close)
	f := start(t, Options{})
	f.change(func(o *Settings) { o.Gateway, o.BodyLimit = gateway.URL, 100 })
	const body = `{"model":"m", "stream":false}`
	if status, got := f.do("POST", "/v1/messages?beta=true", body); status != 200 || got != `{"a": 1}` {
		t.Errorf("%d %s", status, got)
	}
	if got := <-gets; got.target != "/v1/messages?beta=true" || got.body != body ||
		got.declined != contract.ServiceDeclined {
		t.Errorf("the gateway is asked %+v", got)
	}
	if status, got := f.do("POST", "/v1/chat/completions", body); status != 200 || got != `{"a": 1}` {
		t.Errorf("%d %s", status, got)
	}
	<-gets
	large := `{"model":"` + strings.Repeat("x", 100) + `"}`
	f.wants(413, "request_too_large", "POST", "/v1/chat/completions", large)
	f.wants(400, "invalid_json", "POST", "/v1/chat/completions", `{"model":`)
	for sent, kind := range map[string]string{large: "request_too_large", `{"model":`: "invalid_request_error"} {
		if _, got := f.do("POST", "/v1/messages", sent); !strings.HasPrefix(got, `{"type":"error","error":{"type":"`+kind) {
			t.Errorf("%.20s: %s", sent, got)
		}
	}
	f.wants(404, "unknown_url", "POST", "/v1/completions", body)
	if taken := f.s.memory.InUse(); taken != 0 {
		t.Errorf("%d bytes are not given back", taken)
	}
}

// TestMessagesID: an answer of Messages that is passed on has the id of its client's request in its head, not that of
// the service's own. So has a stream that begins with pings.
func TestMessagesID(t *testing.T) {
	const end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for _, quiet := range []bool{false, true} {
		enough := make(chan struct{})
		whole := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("request-id", "another")
			sends(end, false)(w, r)
		}
		f := quietGateway(t, contract.RelayFinish, after(enough, whole))
		if !quiet {
			f.change(func(o *Settings) { o.KeepAlive = nil })
			close(enough)
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/messages",
			strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-request-id", "id-1")
		answer, err := http.DefaultClient.Do(r) // the head comes with the first ping
		if err != nil {
			t.Fatal(err)
		}
		if quiet {
			close(enough)
		}
		all, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if got := answer.Header.Values("request-id"); err != nil || len(got) != 1 || got[0] != "id-1" ||
			strings.HasPrefix(string(all), "event: ping\n") != quiet || !strings.HasSuffix(string(all), end) {
			t.Errorf("quiet=%t: %v %q %s", quiet, err, got, all)
		}
	}
}
