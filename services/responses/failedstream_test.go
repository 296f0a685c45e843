package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// turns is a gateway that answers by turns; the last answer is repeated.
type turns struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
}

// ServeHTTP implements [http.Handler].
func (g *turns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	g.mu.Lock()
	answer := g.answers[0]
	if len(g.answers) > 1 {
		g.answers = g.answers[1:]
	}
	g.mu.Unlock()
	answer(w)
}

// says answers with a stream.
func says(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("content-type", "text/event-stream")
		fmt.Fprint(w, text)
	}
}

// busy answers with a status.
func busy(w http.ResponseWriter) {
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprint(w, `{"error":{"message":"Slow down.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`)
}

// full is a gateway that says when to ask it again.
func full(w http.ResponseWriter) {
	w.Header().Set("retry-after", "7")
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprint(w, `{"error":{"message":"No room.","type":"server_error","param":null,"code":"server_overloaded"}}`)
}

// brokeBehind is a stream with an item that fails as the gateway's streams do: with the event error before the last.
func brokeBehind(item string, e *openai.Error) string {
	begun, last := splitEnd(answerOf("failed", 10, 5, item))
	last = strings.Replace(last, `"status":"failed"`,
		`"status":"failed","error":{"code":"server_error","message":"`+e.Message+`"}`, 1)
	return begun + "event: error\ndata: " + string(upstream.ErrorData(4, e)) + "\n\n" +
		strings.Replace(last, `"sequence_number":4`, `"sequence_number":5`, 1)
}

// splitEnd cuts a stream before its last event.
func splitEnd(stream string) (begun, last string) {
	at := strings.LastIndex(stream, "event: ")
	return stream[:at], stream[at:]
}

// told is what a stream tells of its failure.
type told struct{ code, param, kind, message string }

// readFailure reads a stream whose numbers begin at first. Its last two events must be error and response.failed, and
// say the same; with another end there must be no error.
func readFailure(t *testing.T, body string, first int) (end string, failure told) {
	t.Helper()
	events, _ := readEvents(strings.NewReader(body))
	for i, e := range events {
		var data struct {
			Type     string
			Number   int `json:"sequence_number"`
			Code     *string
			Param    *string
			Message  string
			Error    *struct{ Type, Code, Param, Message *string }
			Response struct{ Error struct{ Message string } }
		}
		if err := json.Unmarshal(e.Data, &data); err != nil || data.Type != e.Kind || data.Number != first+i {
			t.Fatalf("event %d: %v: %s", i, err, e.Data)
		}
		end = data.Type
		switch {
		case e.Kind == "error":
			nested := data.Error
			if i != len(events)-2 || nested == nil || valueOf(nested.Code) != valueOf(data.Code) ||
				valueOf(nested.Param) != valueOf(data.Param) || valueOf(nested.Message) != data.Message ||
				valueOf(nested.Type) == "" {
				t.Fatalf("event %d of %d: %s", i, len(events), e.Data)
			}
			failure = told{valueOf(data.Code), valueOf(data.Param), valueOf(nested.Type), data.Message}
		case e.Kind == "response.failed" && failure.message != data.Response.Error.Message:
			t.Errorf("response.failed behind %+v: %s", failure, e.Data)
		}
	}
	return end, failure
}

// TestFailedStream: whatever fails a stream, the event error goes before response.failed, once.
func TestFailedStream(t *testing.T) {
	half := textItem("half")
	overloaded := &openai.Error{Type: "server_error", Code: "server_overloaded", Param: "input", Message: "Too many."}
	broke := says(brokeBehind(half, overloaded))
	cut, _ := splitEnd(answerOf("completed", 10, 5, half))
	call := says(answerOf("completed", 10, 5, callItem("t", "say_it", `{}`)))
	good := says(answerOf("completed", 10, 5, half))
	const isCut = "The model's server ended the stream before the answer was complete. Try again."
	inside := told{"server_overloaded", "input", "server_error", "Too many."}
	outside := told{"server_error", "", "server_error", isCut}
	refusal := told{"rate_limit_exceeded", "", "rate_limit_error", "Slow down."}
	noRoom := told{"server_overloaded", "", "server_error", "No room. Please try again in 7s."}
	type answers = []func(http.ResponseWriter)
	for name, tt := range map[string]struct {
		answers answers
		end     string
		want    told
	}{
		"the gateway's":  {answers{broke}, "response.failed", inside},
		"cut":            {answers{says(cut)}, "response.failed", outside},
		"a later round":  {answers{call, broke}, "response.failed", inside},
		"a cut round":    {answers{call, says(cut)}, "response.failed", outside},
		"refused":        {answers{call, busy}, "response.failed", refusal},
		"full":           {answers{call, full}, "response.failed", noRoom},
		"none":           {answers{good}, "response.completed", told{}},
		"none, in turns": {answers{call, good}, "response.completed", told{}},
	} {
		t.Run(name, func(t *testing.T) {
			server := toolservers.Plain(t, saying("hello"))
			gateway := &turns{answers: tt.answers}
			f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}}), gateway)
			_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true,`+never+`}`)
			if end, got := readFailure(t, body, 0); end != tt.end || got != tt.want {
				t.Errorf("got %s %+v, want %s %+v: %s", end, got, tt.end, tt.want, body)
			}
		})
	}
}

// TestFailedBackground: followers get the same from the store, from the start and from any number.
func TestFailedBackground(t *testing.T) {
	f := startAt(t, Options{}, &turns{answers: []func(http.ResponseWriter){says(brokeBehind(textItem("half"),
		&openai.Error{Type: "server_error", Code: "server_error", Message: "It broke."}))}})
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true,"background":true}`)
	want := told{"server_error", "", "server_error", "It broke."}
	end, got := readFailure(t, body, 0)
	if end != "response.failed" || got != want {
		t.Fatalf("%s %+v: %s", end, got, body)
	}
	id := body[strings.Index(body, "resp_"):]
	id = id[:strings.Index(id, `"`)]
	events := strings.Count(body, "\n\n")
	for after := range events - 2 { // up to the event before the error
		_, rest := f.do("GET", fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, after), "")
		if end, got := readFailure(t, rest, after+1); end != "response.failed" || got != want {
			t.Errorf("after %d: %s %+v: %s", after, end, got, rest)
		}
	}
}

// TestFailureAskedAgain: of an answer that is asked for again, the client sees no error.
func TestFailureAskedAgain(t *testing.T) {
	begun, last := splitEnd(brokeBehind(textItem("half"),
		&openai.Error{Type: "server_error", Code: "server_error", Message: "It broke."}))
	events := strings.SplitAfter(begun, "\n\n")
	early := strings.Join(events[:2], "") + strings.Replace(events[4], `"sequence_number":4`, `"sequence_number":2`, 1) +
		strings.Replace(last, `"sequence_number":5`, `"sequence_number":3`, 1)
	f := startAt(t, Options{}, &turns{answers: []func(http.ResponseWriter){says(early),
		says(answerOf("completed", 10, 5, textItem("whole")))}})
	f.change(func(o *Settings) { o.Models = []contract.Model{retried("m")} })
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","stream":true}`)
	if end, got := readFailure(t, body, 0); end != "response.completed" || got != (told{}) {
		t.Errorf("%s %+v: %s", end, got, body)
	}
}

// TestFailedFrame: over a WebSocket a frame error refuses a request, so a response that fails has none.
func TestFailedFrame(t *testing.T) {
	broke := says(brokeBehind(textItem("half"),
		&openai.Error{Type: "server_error", Code: "server_error", Message: "It broke."}))
	f := startAt(t, Options{Settings: Settings{WebSocket: true}}, &turns{answers: []func(http.ResponseWriter){broke}})
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,"input":"go"`)
	kinds := []string{}
	for len(kinds) == 0 || kinds[len(kinds)-1] != "response.failed" && kinds[len(kinds)-1] != "error" {
		kind, _ := w.next()
		kinds = append(kinds, kind)
	}
	const want = "response.created response.in_progress response.output_item.added response.output_item.done " +
		"response.failed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
