//go:build e2e

package limits

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// rudeAnswer is something that a server could answer, and what a client must make of it.
type rudeAnswer struct {
	name  string
	serve func(http.ResponseWriter)
	// status and code of the error while the client has nothing yet; 200 wants an answer.
	status int
	code   string
	// text of the answer; with failed, the part that came in a stream, which must then say that it failed. A whole answer
	// is then an error: failed is its status.
	text   string
	failed int
	retry  string
}

// runRude runs a server that gives the answer that the request's header x-rude names.
func runRude(t *testing.T) string {
	answers := map[string]rudeAnswer{}
	for _, r := range rudeAnswers() {
		answers[r.name] = r
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answers[r.Header.Get("x-rude")].serve(w)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (r rudeAnswer) run(t *testing.T, client *http.Client, base string) {
	t.Helper()
	for _, path := range generatingPaths {
		for _, stream := range []string{"true", "false"} {
			header := http.Header{"X-Rude": {r.name}, "Content-Type": {"application/json"}}
			a := lab.Do(client, http.MethodPost, base+path, header,
				strings.NewReader(`{"stream":`+stream+`,`+lab.BodyOf(path, "rude", "Hi")[1:]))
			if model := a.Header.Get("openai-model"); model != "" {
				t.Errorf("the client is told that %s has answered", model)
			}
			status := r.status
			if r.failed != 0 && stream == "false" {
				status = r.failed
			}
			if status != 200 {
				r.wantRefused(t, a, path, status)
				continue
			}
			r.wantAnswer(t, a, path)
		}
	}
}

// wantRefused fails the test unless the answer is an error of its API.
func (r rudeAnswer) wantRefused(t *testing.T, a lab.Answer, path string, status int) {
	t.Helper()
	if path != lab.MessagesPath {
		lab.WantRefused(t, a, status, r.code)
	} else if err := grammar.ReadMessagesError(a.Body); a.Err != nil || a.Status != status || err != nil {
		t.Errorf("%s: got %d %s (%v), want %d: %v", path, a.Status, a.Body, a.Err, status, err)
	}
	if got := a.Header.Get("retry-after"); got != r.retry {
		t.Errorf("retry-after %q, want %q", got, r.retry)
	}
}

// wantAnswer fails the test unless the answer has the text, and says that it failed if it did.
func (r rudeAnswer) wantAnswer(t *testing.T, a lab.Answer, path string) {
	t.Helper()
	got := lab.Read(a.Body)
	// A Chat stream is reset behind its error. Of a server that has ended, the filter learns when it can send nothing
	// more. A server that goes on behind response.failed, or an error of Messages, is cut off, once the client has that.
	reset := r.failed != 0 && lab.IsReset(a.Err, "h1")
	failed := got.End == "failed" && got.Failure != ""
	switch path {
	case lab.ChatPath:
		failed = reset && (got.Failure == "") == (r.name == "half an event")
	case lab.MessagesPath:
		failed = got.Failure != "" && got.End == "" && !got.Last
	}
	if (a.Err != nil && !reset) || a.Status != 200 || got.Text != r.text || r.failed != 0 && !failed ||
		r.failed == 0 && !got.Finished() {
		t.Errorf("%s: got %d %v %+v of\n%.2000s", path, a.Status, a.Err, got, a.Body)
	}
}

// event is one of vLLM's events with these ids.
func event(ids any, finish string) string {
	list, err := json.Marshal(ids)
	if err != nil {
		panic(err)
	}
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"id":"x","choices":[{"index":0,"text":"","token_ids":` + string(list) + `,"finish_reason":` + finish +
		"}]}\n\n"
}

func rudeAnswers() []rudeAnswer {
	const (
		head = "<|channel|>final<|message|>"
		done = "data: [DONE]\n\n"
	)
	good := event(lab.Tokens(head+"Paris."), "null") + event(lab.Tokens("<|return|>"), "stop")
	events := func(parts ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			for _, p := range parts {
				_, _ = io.WriteString(w, p)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	plain := func(status int, contentType, body string, headers ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header()["Content-Type"] = nil
			if contentType != "" {
				w.Header().Set("Content-Type", contentType)
			}
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	ids := func(list string) string { // as JSON, however wrong
		return `data: {"choices":[{"index":0,"token_ids":` + list + `,"finish_reason":null}]}` + "\n\n"
	}
	text := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(lab.Tokens(s)), "["), "]")
	}
	commas := func(s string) string { return strings.ReplaceAll(text(s), " ", ",") }
	list := []rudeAnswer{
		{name: "good", serve: events(good, done), status: 200, text: "Paris."},
		{name: "all at once", serve: events(good + done), status: 200, text: "Paris."},
		{name: "no DONE", serve: events(good), status: 200, text: "Paris."},
		{name: "carriage returns", serve: events(strings.ReplaceAll(good+done, "\n", "\r\n")), status: 200, text: "Paris."},
		{name: "comments and fields", serve: events(": ping\n\nretry: 5\nid: 7\n\n", ":\n\n"+good, "event: end\n"+done),
			status: 200, text: "Paris."},
		{name: "words after DONE", serve: events(good, done, "data: {\"error\":{\"message\":\"late\"}}\n\n", "garbage"),
			status: 200, text: "Paris."},
		{name: "bad ids", serve: events(ids(`[-1,1.5,"7",99999999999999999999,null,true,4294967295,4294967294,201088,999999,`+
			commas(head+"Par")+`]`), ids(`[-200002,"200002",200002.0e0,`+commas("is.")+`]`), event(
			lab.Tokens("<|return|>"), "stop"), done), status: 200, text: "Paris."},
		{name: "ids is an object", serve: events(ids(`{"a":[1,2]}`), good, done), status: 200, text: "Paris."},
		{name: "ids is a string", serve: events(ids(`"1,2"`), good, done), status: 200, text: "Paris."},
		{name: "reserved ids", serve: events(ids("[200000,200001,200004,200011,200013,201087]"), good, done), status: 200,
			text: "Paris."},
		{name: "choices is null", serve: events("data: {\"choices\":null}\n\n", good, done), status: 502,
			code: "server_error"},
		{name: "choices is empty", serve: events("data: {\"choices\":[]}\n\n", good, done), status: 200, text: "Paris."},
		{name: "choice is a number", serve: events("data: {\"choices\":[7]}\n\n", good, done), status: 200, text: "Paris."},
		{name: "deep event", serve: events("data: {\"choices\":"+strings.Repeat("[", 1000)+"\n\n", good, done), status: 502,
			code: "server_error"},
		{name: "garbage first", serve: events("data: \xff\xfe\n\n", good, done), status: 502, code: "server_error"},
		{name: "garbage later", serve: events(event(lab.Tokens(head+"Par"), "null"), "data: {\"choices\":[\n\n", good, done),
			status: 200, text: "Par", failed: 502, code: "server_error"},
		{name: "not events", serve: events("<html>", "oops", "</html>"), status: 502, code: "server_error"},
		{name: "no events", serve: events(), status: 502, code: "server_error"},
		{name: "only DONE", serve: events(done), status: 502, code: "server_error"},
		{name: "DONE before the finish", serve: events(event(lab.Tokens(head+"Par"), "null"), done), status: 200, text: "Par",
			failed: 502, code: "server_error"},
		{name: "half an event", serve: events(event(lab.Tokens(head+"Par"), "null"), "data: {\"choi"), status: 200,
			text:   "Par",
			failed: 502, code: "server_error"},
		{name: "text without ids", serve: events(
			"data: {\"choices\":[{\"index\":0,\"text\":\"Paris.\",\"finish_reason\":null}]}\n\n",
			"data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n", done), status: 502,
			code: "server_error"},
		{name: "error event first", serve: events("data: {\"error\":{\"message\":\"no \\u0000 "+
			"\\\"room\\\"\",\"type\":\"X\",\"param\":\"a\\u0000b\",\"code\":503}}\n\n", done), status: 429,
			code: "server_overloaded", retry: "2"},
		{name: "error event with a surrogate",
			serve: events("data: {\"error\":{\"message\":\"\\ud800\",\"code\":503}}\n\n", done), status: 502,
			code: "server_error"},
		{name: "error event with a strange code", serve: events("data: {\"error\":{\"message\":\"m\",\"code\":99999}}\n\n"),
			status: 502, code: "server_error"},
		{name: "error event is a string", serve: events("data: {\"error\":\"loading\"}\n\n"), status: 502,
			code: "server_error"},
		{name: "error event later", serve: events(
			event(lab.Tokens(head+"Par"), "null"), "data: {\"error\":{\"message\":\"gone\",\"code\":500}}\n\n", done),
			status: 200,
			text:   "Par", failed: 500, code: "server_error"},
		{name: "an endless event", serve: events("data: {\"choices\":[", strings.Repeat("0,", 9<<20)), status: 502,
			code: "server_error"},
		{name: "a long event", serve: events(`data: {"choices":[{"index":0,"prompt_token_ids":[`+
			strings.TrimSuffix(strings.Repeat("200000,", 131072), ",")+`],"token_ids":[],"finish_reason":null}]}`+"\n\n", good,
			done), status: 200, text: "Paris."},

		{name: "error under 200", serve: plain(200, "application/json", `{"error":{"message":"m",`+
			`"type":"InternalServerError","code":500}}`), status: 500, code: "server_error"},
		{name: "completion that is no stream",
			serve: plain(200, "application/json", `{"object":"text_completion","choices":[{"text":"Paris."}]}`), status: 502,
			code: "server_error"},
		{name: "HTML under 200", serve: plain(200, "text/html", "<h1>hello</h1>"), status: 502, code: "server_error"},
		{name: "events without a type", serve: plain(200, "", good+done), status: 502, code: "server_error"},
		{name: "another model's name", serve: plain(200, "text/event-stream", good+done, "Openai-Model: other"),
			status: 200, text: "Paris."},
		{name: "204", serve: plain(204, "", ""), status: 502, code: "server_error"},
		{name: "10 MiB of error", serve: plain(500, "text/plain", strings.Repeat("x", 10<<20)), status: 500,
			code: "server_error"},
		{name: "10 MiB of JSON error", serve: plain(
			400, "application/json", `{"error":{"message":"`+strings.Repeat("x", 10<<20)+`"}}`), status: 400,
			code: "invalid_request"},
		{name: "error that is not UTF-8", serve: plain(500, "application/json", "{\"error\":{\"message\":\"a\xffb\"}}"),
			status: 500, code: "server_error"},
		{name: "error with control characters",
			serve: plain(400, "application/json",
				`{"error":{"message":"a\u0000\u001b\n\"b\\","param":"\u007f\uffff","code":400}}`), status: 400,
			code: "invalid_request"},
		{name: "error in Python's words", serve: plain(422, "application/json", `{"detail":[{"loc":["body"],"msg":"field `+
			`required"}]}`), status: 422, code: "invalid_request"},
		{name: "compressed without asking", serve: plain(
			200, "text/event-stream", "\x1f\x8b\x08\x00\x00", "Content-Encoding: gzip"), status: 502, code: "server_error"},
	}
	codes := map[int]string{
		301: "server_error", 400: "invalid_request", 401: "server_refused_credentials", 403: "server_refused_credentials",
		404: "server_path_not_found", 405: "server_path_not_found", 429: "rate_limit_exceeded",
		500: "server_error", 503: "server_overloaded", 599: "server_error",
	}
	for status, code := range codes {
		want, retry := status, ""
		spoken := code // for an error with a message
		switch status {
		case 301, 401, 403: // these are about the gateway's own request
			want = 502
		case 404, 405:
			want, spoken = 502, "server_error"
		case 429, 503:
			want, retry = 429, "2"
		}
		list = append(list,
			rudeAnswer{name: fmt.Sprint(status), serve: plain(status, "", "", "Content-Length: 0"), status: want, code: code,
				retry: retry},
			rudeAnswer{name: fmt.Sprintf("%d with text", status),
				serve: plain(status, "text/plain", "no \"chance\" \xff", "Location: http://127.0.0.1:9/"), status: want,
				code: code, retry: retry},
			rudeAnswer{name: fmt.Sprintf("%d with an error", status),
				serve: plain(status, "application/json",
					fmt.Sprintf(`{"error":{"message":"m","type":"T","param":null,"code":%d}}`, status), "Retry-After: 17"),
				status: want, code: spoken, retry: "17"},
			rudeAnswer{name: fmt.Sprintf("%d with events", status), serve: plain(status, "text/event-stream", good+done),
				status: want, code: code, retry: retry},
		)
	}
	return list
}
