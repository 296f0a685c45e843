//go:build e2e

package routing

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// messageDelta is an event of a message.
func messageDelta(delta string) string {
	return `data: {"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n"
}

// rudeAnswers are answers that an observer must bear. Each has a media type.
func rudeAnswers() map[string][2]string {
	const events, object = "text/event-stream", "application/json"
	chunk := func(text string) string {
		return `data: {"id":"x","choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	call := func(i int) string {
		return fmt.Sprintf(`data: {"choices":[{"index":%d,"delta":{"tool_calls":[{"index":%d,"id":"%d","function":`+
			`{"name":"f","arguments":"{}"}}]}}]}`+"\n\n", i%128, i, i)
	}
	var calls strings.Builder
	for i := range 20_000 {
		calls.WriteString(call(i))
	}
	return map[string][2]string{
		"tiny events":     {events, strings.Repeat(chunk("<"), 50_000)},
		"one large event": {events, chunk(strings.Repeat("<|end|>", 5<<20/7))},
		"a line":          {events, "data: " + strings.Repeat("x", 5<<20)},
		"control tokens":  {events, strings.Repeat(chunk("<|start|>assistant<|channel|>analysis<|message|>"), 5_000)},
		"many calls":      {events, calls.String()},
		"comments":        {events, strings.Repeat(": x\n\n", 200_000)},
		"a large object":  {object, `{"choices":[{"index":0,"message":{"content":"` + strings.Repeat("<", 3<<20) + `"}}]}`},
		"deep":            {object, strings.Repeat(`{"choices":[`, 100_000)},
		"no JSON":         {object, strings.Repeat("\x00\xff", 1<<19)},
		"many choices": {object, `{"choices":[` + strings.Repeat(`{"index":0,"message":{"content":"<|end|>"},`+
			`"finish_reason":"stop"},`, 8_000) + `{"index":127}]}`},
		"tiny events of a message": {events, strings.Repeat(messageDelta(`{"type":"text_delta","text":"<"}`), 50_000)},
		"one large event of a message": {events, messageDelta(`{"type":"thinking_delta","thinking":"` +
			strings.Repeat("<|end|>", 5<<20/7) + `"}`)},
		"many calls of a message": {events, strings.Repeat(`data: {"type":"content_block_start","index":0,`+
			`"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`+"\n\n"+
			`data: {"type":"content_block_stop","index":0}`+"\n\n", 20_000)},
		"a large message": {object, `{"content":[{"type":"text","text":"` + strings.Repeat("<", 3<<20) + `"}]}`},
		"many blocks": {object, `{"content":[` + strings.Repeat(`{"type":"tool_use","id":"1","name":"f","input":{}},`,
			8_000) + `{"type":"text","text":"a"}],"stop_reason":"tool_use"}`},
		"nothing": {events, ""},
	}
}

// TestObserveRude shows that whatever a server answers passes an observer byte for byte, and the largest requests too,
// and that the filter goes on.
func TestObserveRude(t *testing.T) { lab.OnProxies(t, observeRude) }

func observeRude(t *testing.T, run lab.RunProxy) {
	answers := rudeAnswers()
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		answer := answers[r.Header.Get("x-answer")]
		w.Header().Set("content-type", answer[0])
		_, _ = io.WriteString(w, answer[1])
	}))
	t.Cleanup(server.Close)
	c := lab.OneModel(server.URL)
	c.BodyLimit = config.DefaultBodyLimit
	c.Models[0].Translate, c.Models[0].Aliases = contract.TranslateObserve, []string{"x*"}
	h := run(t, c)
	client := lab.HTTP1(t)
	const size = config.DefaultBodyLimit - 1000
	requests := map[string]string{
		"a text":       `"messages":[{"role":"user","content":"` + strings.Repeat("a ", size/2) + `"}]`,
		"messages":     `"messages":[` + strings.Repeat(`{"role":"user","content":"a"},`, size/30) + `{}]`,
		"values":       `"messages":[` + strings.Repeat(`0,`, size/2-1) + `0]`,
		"tools":        `"tools":[` + strings.Repeat(`{"type":"function","function":{"name":"f"}},`, size/45) + `0]`,
		"an escape":    `"messages":[{"role":"user","content":"` + strings.Repeat(`\u0061`, size/6) + `"}]`,
		"not a member": `"x":"` + strings.Repeat("y", size) + `"`,
	}
	askAt := func(path, name, request, answer string) {
		t.Helper()
		body := `{"model":"` + name + `",` + request + `}`
		header := http.Header{"X-Answer": {answer}}
		a := lab.Do(client, http.MethodPost, h.URL+path, header, strings.NewReader(body))
		want := strings.Replace(body, `"`+name+`"`, `"`+lab.Model+`"`, 1)
		if a.Err != nil || a.Status != 200 || got != want || a.Body != answers[answer][1] {
			t.Errorf("%s, %.30s, %s: %d, %v; %d bytes of %d were sent, and %d of %d came back", path, request, answer, a.Status,
				a.Err,
				len(got), len(want), len(a.Body), len(answers[answer][1]))
		}
	}
	paths := []string{lab.ChatPath, contract.MessagesPath}
	for _, path := range paths {
		for answer := range answers {
			askAt(path, "xyz", `"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`, answer)
		}
		for _, request := range requests {
			askAt(path, lab.Model, request, "nothing")
			askAt(path, "x", request, "nothing")
		}
	}
	counts := lab.Counters(t, h)
	if n := counts["harmony_untranslated_requests_total"]; n != len(paths)*(len(answers)+2*len(requests)) {
		t.Errorf("%d requests are counted", n)
	}
	// The observed ones are fewer: some have too many values.
	if n := counts["harmony_observed_total.kind.request"]; n < len(paths)*(len(answers)+len(requests)) {
		t.Errorf("%d requests were observed", n)
	}
}
