//go:build e2e

package faults

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/sse"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// largeAnswer is a request whose answer is larger than what Envoy buffers for a connection.
type largeAnswer struct {
	name string
	// answers is what the server sends: a stream of events, or a JSON object.
	answers string
	// path and request are the client's. The model's name is its kind of servers.
	path, request string
	// least is the least size of the client's answer, in bytes. 0 is an answer that is too large for the gateway.
	least int
}

const (
	stream = `{"stream":true,` // the beginning of a request
	done   = "data: [DONE]\n\n"
)

// largeAnswers returns the answers. They are as large as the gateway takes them, and one is larger.
func largeAnswers() []largeAnswer {
	long := strings.Repeat("x", sse.MaxEvent-1<<10)
	calls := `[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":` + lab.Quote(long) + `}}]`
	call := `data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":` + calls + `}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + done
	wholeCall := `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":` + calls +
		`},"finish_reason":"tool_calls"}]}`
	text := `data: {"choices":[{"index":0,"text":` + lab.Quote("<|channel|>final<|message|>"+long) + "}]}\n\n" +
		`data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}` + "\n\n" + done

	space := lab.Tokens(strings.Repeat(" ", 64))
	count := 60_000 / len(space)
	ids := slices.Concat(lab.Tokens("<|channel|>final<|message|>"), slices.Repeat(space, count), lab.Tokens("<|return|>"))
	joined := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
	tokens := func(choices int) string {
		all := ""
		for i := range choices {
			all += fmt.Sprintf(`data: {"choices":[{"index":%d,"token_ids":[%s],"finish_reason":"stop"}]}`, i, joined) + "\n\n"
		}
		return all + done
	}
	chat := func(kind string) string { return lab.ChatBody(kind, "Hi") }
	responses := func(kind string) string { return lab.ResponsesBody(kind, "Hi") }
	asStream := func(request string) string { return stream + request[1:] }
	return []largeAnswer{
		{"a call, Chat stream", call, lab.ChatPath, asStream(chat(contract.Chat)), len(long)},
		{"a call, Chat whole", wholeCall, lab.ChatPath, chat(contract.Chat), len(long)},
		{"a call, Responses stream", call, lab.ResponsesPath, asStream(responses(contract.Chat)), 4 * len(long)},
		{"a call, Responses whole", call, lab.ResponsesPath, responses(contract.Chat), len(long)},
		{"text, Chat stream", text, lab.ChatPath, asStream(chat(contract.Text)), len(long)},
		{"text, Chat whole", text, lab.ChatPath, chat(contract.Text), len(long)},
		{"text, Responses stream", text, lab.ResponsesPath, asStream(responses(contract.Text)), 5 * len(long)},
		{"text, Responses whole", text, lab.ResponsesPath, responses(contract.Text), len(long)},
		{"ids, Chat stream", tokens(1), lab.ChatPath, asStream(chat(contract.VLLM)), 64 * count},
		{"ids, Chat whole", tokens(1), lab.ChatPath, chat(contract.VLLM), 64 * count},
		{"ids, many choices", tokens(10), lab.ChatPath, `{"n":10,` + chat(contract.VLLM)[1:], 0},
		{"ids, Responses whole", tokens(1), lab.ResponsesPath, responses(contract.VLLM), 64 * count},
	}
}

// check fails the test unless the client gets all of the answer, or an error in its API's form.
func (l *largeAnswer) check(t *testing.T, client *http.Client, url string) {
	t.Helper()
	a := lab.Do(client, http.MethodPost, url+l.path, http.Header{"X-Large": {l.name}}, strings.NewReader(l.request))
	if l.least == 0 {
		lab.WantRefused(t, a, http.StatusBadRequest, contract.CodeAnswerTooLarge)
		return
	}
	if a.Err != nil || a.Status != http.StatusOK || len(a.Body) < l.least || !strings.Contains(a.Body, l.end()) {
		t.Errorf("got %d with %d of %d bytes (%v): %.300s", a.Status, len(a.Body), l.least, a.Err, a.Body)
	}
}

// end returns what only a whole answer has.
func (l *largeAnswer) end() string {
	switch streams := strings.HasPrefix(l.request, stream); {
	case l.path == lab.ChatPath && streams:
		return done
	case l.path == lab.ChatPath:
		return `"finish_reason":`
	case streams:
		return "event: response.completed\n"
	default:
		return `"status":"completed"`
	}
}

// TestLargeAnswers: what the filter lets go at once may be larger than a connection's buffer in Envoy, and larger than
// the window of HTTP/2. The client gets it, or an error of the gateway in its API's form, and never Envoy's own.
func TestLargeAnswers(t *testing.T) { lab.OnProxies(t, largeAnswersPass) }

func largeAnswersPass(t *testing.T, run lab.RunProxy) {
	all := largeAnswers()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := slices.IndexFunc(all, func(l largeAnswer) bool { return l.name == r.Header.Get("X-Large") })
		w.Header().Set("Content-Type", "text/event-stream")
		if all[at].answers[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = io.WriteString(w, all[at].answers)
	}))
	t.Cleanup(server.Close)
	c := lab.OneModel(server.URL)
	c.Models = nil
	for _, kind := range []string{contract.Chat, contract.Text, contract.VLLM} {
		m := config.DefaultModel(kind, kind+"="+server.URL)
		m.AcceptTextPrompts = true
		c.Models = append(c.Models, m)
	}
	url := run(t, c).URL
	for protocol, client := range map[string]*http.Client{"HTTP1": lab.HTTP1(t), "HTTP2": lab.HTTP2(t)} {
		for i := range all {
			t.Run(all[i].name+"/"+protocol, func(t *testing.T) { all[i].check(t, client, url) })
		}
	}
}
