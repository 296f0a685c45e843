//go:build e2e && routers

package routers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// habits are what a router does beside the choice of a server: the rows of the second table of docs/routers.md.
var habits = []struct {
	name string
	seen func(t *testing.T, e *engine, url string) string
}{
	{"an answer's stream", streams},
	{"a request", func(t *testing.T, e *engine, url string) string {
		if _, ok := passed(t, e, url, "")["zz"]; ok {
			return "is written anew; unknown members stay"
		}
		return "is written anew; unknown members are dropped"
	}},
	{"members that it adds", added},
	{"unknown members of a message", func(t *testing.T, e *engine, url string) string {
		messages, _ := passed(t, e, url, "")["messages"].([]any)
		if message, ok := messages[0].(map[string]any); ok && message["zz"] == nil {
			return "dropped"
		}
		return "stay"
	}},
	{"`max_tokens` of Chat", func(t *testing.T, e *engine, url string) string {
		if got := passed(t, e, url, ""); got["max_tokens"] == nil && got["max_completion_tokens"] == 5.0 {
			return "becomes `max_completion_tokens`"
		}
		return "stays"
	}},
	{"a client's headers", func(t *testing.T, e *engine, url string) string {
		if passed(t, e, url, "")["header"] == "mine" {
			return "kept"
		}
		return "dropped"
	}},
	{"a function without `parameters`", func(t *testing.T, e *engine, url string) string {
		status, _ := e.record(t, url, `,"tools":[{"type":"function","function":{"name":"f"}}]`)
		if status == http.StatusOK {
			return "passes"
		}
		return fmt.Sprint(status)
	}},
	{"a server that says 503", retries},
	{"a client that leaves", leaves},
	{"`/v1/models`", models},
	{"`/tokenize`, `/version`, `/metrics`", func(t *testing.T, _ *engine, url string) string {
		tokenize := lab.Ask(lab.HTTP1(t), url+"/tokenize", `{"model":"`+lab.Model+`","prompt":"Hi"}`).Status
		statuses := []int{tokenize, get(t, url+"/version").Status, get(t, url+"/metrics").Status}
		if slices.Equal(statuses, []int{404, 404, 404}) {
			return "404"
		} else if slices.Equal(statuses, []int{200, 200, 200}) {
			return "the server's own"
		}
		return fmt.Sprint(statuses)
	}},
}

// TestHabits has each router before a server that notes what comes.
func TestHabits(t *testing.T) {
	page, err := os.ReadFile(lab.File("docs/routers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]string, len(habits))
	for i := range all {
		e := startEngine(t)
		url := all[i].start(t, e.url)
		for at := range habits {
			rows[at] += " " + habits[at].seen(t, e, url) + " |"
			e.chat.Store(nil)
		}
	}
	for at := range habits {
		if row := "| " + habits[at].name + " |" + rows[at]; !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/routers.md lacks the row\n%s", row)
		}
	}
}

func (e *engine) answer(chat http.HandlerFunc) { e.chat.Store(&chat) }

// request returns a request for a conversation through a router, with members that no API has.
func request(t *testing.T, url, more string) *http.Request {
	t.Helper()
	body := `{"model":"` + lab.Model + `","messages":[{"role":"user","content":"Hi","zz":1}],"zz":1,"max_tokens":5` +
		more + `}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+lab.ChatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Mine", "mine")
	return r
}

const wholeAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"` + lab.Model + `",` +
	`"choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`

// record sends a request through a router, and returns the answer's status and what the server has got: the body, and
// the header of the request as the member header.
func (e *engine) record(t *testing.T, url, more string) (status int, got map[string]any) {
	t.Helper()
	var body atomic.Pointer[map[string]any]
	e.answer(func(w http.ResponseWriter, r *http.Request) {
		read := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&read); err != nil {
			t.Error(err)
		}
		read["header"] = r.Header.Get("X-Mine")
		body.Store(&read)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, wholeAnswer)
	})
	response, err := lab.HTTP1(t).Do(request(t, url, more))
	if err != nil {
		t.Fatal(err)
	}
	status = lab.ReadAnswer(response).Status
	if read := body.Load(); read != nil {
		got = *read
	}
	return status, got
}

// passed is record of a request that must pass.
func passed(t *testing.T, e *engine, url, more string) map[string]any {
	t.Helper()
	status, got := e.record(t, url, more)
	if status != http.StatusOK || got == nil {
		t.Fatalf("%d, and the server got %v", status, got)
	}
	return got
}

// added returns the members that a router adds.
func added(t *testing.T, e *engine, url string) string {
	more := []string{}
	for name := range passed(t, e, url, "") {
		if !slices.Contains([]string{"model", "messages", "zz", "max_tokens", "max_completion_tokens", "header"}, name) {
			more = append(more, name)
		}
	}
	switch {
	case len(more) == 0:
		return "none"
	case slices.Contains(more, "skip_special_tokens"):
		return "`skip_special_tokens` and more"
	}
	slices.Sort(more)
	return "`" + strings.Join(more, "`, `") + "`"
}

// streams returns what a router does to the bytes of a stream, in which there are comments and odd events.
func streams(t *testing.T, e *engine, url string) string {
	events := []string{": a comment\n\n", "event: odd\nid: 1\ndata: {\"a\":1,  \"b\":[]}\n\n",
		"data: " + wholeAnswer + "\n\n", "data: [DONE]\n\n", ": after the end\n\n"}
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	response, err := lab.HTTP1(t).Do(request(t, url, `,"stream":true`))
	if err != nil {
		t.Fatal(err)
	}
	if got := lab.ReadAnswer(response); got.Body != strings.Join(events, "") || got.Err != nil {
		t.Logf("the stream came as %q (%v)", got.Body, got.Err)
		return "changed"
	}
	return "byte for byte"
}

// retries returns how often a server is asked that says 503.
func retries(t *testing.T, e *engine, url string) string {
	var asked atomic.Int32
	e.answer(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	response, err := lab.HTTP1(t).Do(request(t, url, ""))
	if err != nil {
		t.Fatal(err)
	}
	if got := lab.ReadAnswer(response); got.Status == http.StatusOK {
		t.Errorf("the client gets %+v", got)
	}
	return fmt.Sprintf("is asked %d times", asked.Load())
}

// leaves returns what a server that generates sees of a client that leaves. A silent one may see nothing.
func leaves(t *testing.T, e *engine, url string) string {
	left := make(chan struct{})
	e.answer(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is an end of the connection seen
		w.Header().Set("Content-Type", "text/event-stream")
		defer close(left)
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			_, err := io.WriteString(w, "data: {}\n\n")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, err := lab.HTTP1(t).Do(request(t, url, `,"stream":true`).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := response.Body.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-left:
		return "is passed on"
	case <-time.After(lab.Patience):
		return "is not passed on"
	}
}

func get(t *testing.T, url string) lab.Answer {
	return lab.Do(lab.HTTP1(t), http.MethodGet, url, nil, nil)
}

// models returns which models a router lists.
func models(t *testing.T, e *engine, url string) string {
	own, listed := get(t, e.url+"/v1/models"), get(t, url+"/v1/models")
	switch {
	case strings.Contains(listed.Body, `"unknown"`):
		return "`unknown` before a server that is not SGLang"
	case !strings.Contains(listed.Body, lab.Model):
		return listed.Body
	case !strings.Contains(listed.Body, "max_model_len"):
		return "the servers' models, without their context"
	case bytes.Contains([]byte(own.Body), []byte("max_model_len")):
		return "the server's own"
	}
	return listed.Body
}
