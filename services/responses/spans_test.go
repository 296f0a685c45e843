package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
)

// traceOf makes the spans of a fixture.
func traceOf(f *fixture) *tracetest.InMemoryExporter {
	exporter := tracetest.NewInMemoryExporter()
	f.s.env.Spans.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	return exporter
}

// lines returns each span with its status, and with the attributes that differ, in the order in which they have ended.
// The test fails if one of the words is in them.
func lines(t *testing.T, ended tracetest.SpanStubs, words ...string) string {
	t.Helper()
	var text strings.Builder
	for _, s := range ended {
		fmt.Fprintf(&text, "%s %s", s.Name, s.Status.Code)
		for _, a := range s.Attributes {
			switch a.Key {
			case "error.type", spans.Outcome, spans.Status, spans.Round, spans.ToolServer:
				fmt.Fprintf(&text, " %s", a.Value.String())
			}
		}
		text.WriteByte('\n')
		for _, word := range words {
			if strings.Contains(fmt.Sprintf("%+v", s), word) {
				t.Errorf("%s is in the span %s", word, s.Name)
			}
		}
	}
	return text.String()
}

// arriving is an exporter whose spans can be waited for.
type arriving chan sdktrace.ReadOnlySpan

func (a arriving) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		a <- s
	}
	return nil
}

func (a arriving) Shutdown(context.Context) error { return nil }

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestSpans has a tool that answers, one that says that it failed, and one whose protocol fails, in three rounds.
func TestSpans(t *testing.T) {
	tool := func(name string, result *mcp.CallToolResult, err error) toolservers.Tool {
		return toolservers.Tool{Name: name, Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
			return result,
				err
		}}
	}
	content := []mcp.Content{&mcp.TextContent{Text: "w-result"}}
	f, _, _ := startTools(t, ToolOptions{}, []string{
		answerOf("completed", 1, 1, callItem("t", "well", `{"a":"w-argument"}`)),
		answerOf("completed", 1, 1, callItem("t", "ill", `{}`)),
		answerOf("completed", 1, 1, callItem("t", "broken", `{}`), callItem("t", "w-unknown", `{}`)),
		answerOf("completed", 1, 1, textItem("w-answer")),
	}, tool("well", &mcp.CallToolResult{Content: content}, nil),
		tool("ill", &mcp.CallToolResult{Content: content, IsError: true}, nil), tool("broken", nil, errors.New("w-error")))
	exporter := traceOf(f)
	f.ask(`"input":"w-question",` + never)
	const want = `tools/list Unset t completed
chat m Unset 1 completed
tools/call well Unset t 1 completed
chat m Unset 2 completed
tools/call ill Error t 2 error error
chat m Unset 3 completed
tools/call broken Error t 3 failed failed
chat m Unset 4 completed
POST /v1/responses Unset 200
`
	if got := lines(t, exporter.GetSpans(), "w-"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSpansOfFailures has requests that the gateway refuses, or whose answer is lost. Its words about them may repeat
// the client's, and are in no span.
func TestSpansOfFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string
	}{
		"refused": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"w-message","type":"invalid_request_error","param":"w-param","code":"too_long"}}`)
		}, "chat m Error 1 too_long\nPOST /v1/responses Unset 400\n"},
		"unavailable": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
			"chat m Error 1 server_error\nPOST /v1/responses Error 503\n"},
		"lost": {func(w http.ResponseWriter) {
			w.Header().Set("content-type", "text/event-stream")
			fmt.Fprint(w, strings.Split(answered, "event: response.completed")[0])
		}, "chat m Error 1 lost\nPOST /v1/responses Error 502\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startAt(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tt.answer(w) }))
			exporter := traceOf(f)
			f.do("POST", "/v1/responses", `{"model":"m","input":"w-question"}`)
			if got := lines(t, exporter.GetSpans(), "w-"); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// TestSpansInBackground has a response in the background: its spans are in the trace of the request for it, and the
// gateway gets the trace.
func TestSpansInBackground(t *testing.T) {
	parents := make(chan string, 10)
	f := startAt(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/input_tokens") {
			parents <- r.Header.Get("traceparent")
		}
		w.Header().Set("content-type", "text/event-stream")
		fmt.Fprint(w, answered)
	}))
	spans := make(arriving, 10)
	f.s.env.Spans.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/responses",
		strings.NewReader(`{"model":"m","input":"hi","background":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("traceparent", traceparent)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	got := <-parents
	names := map[string]sdktrace.ReadOnlySpan{}
	for range 3 {
		one := <-spans
		names[one.Name()] = one
		if id := one.SpanContext().TraceID().String(); !strings.Contains(traceparent, id) {
			t.Errorf("%s is in the trace %s", one.Name(), id)
		}
	}
	round, made := names["chat m"], names["background response"]
	if round == nil || made == nil || round.Parent().SpanID() != made.SpanContext().SpanID() ||
		!strings.Contains(got, round.SpanContext().SpanID().String()) {
		t.Errorf("the gateway got %s; the spans are %v", got, names)
	}
}

// TestNoTracer passes a client's trace on to the gateway as it came.
func TestNoTracer(t *testing.T) {
	parents := make(chan string, 1)
	f := startAt(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("traceparent")
		w.Header().Set("content-type", "text/event-stream")
		fmt.Fprint(w, answered)
	}))
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/responses",
		strings.NewReader(`{"model":"m","input":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("traceparent", traceparent)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if got := <-parents; got != traceparent {
		t.Errorf("the gateway got %q", got)
	}
}
