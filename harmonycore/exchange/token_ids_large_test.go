//go:build !tinygo

package exchange

// Not under TinyGo: the garbage would make its heap large for every test that follows.

import (
	"fmt"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"slices"
	"strings"
	"testing"
)

// TestManyTokenIDs: a history of ids takes no memory beside its body, and values in their place do.
func TestManyTokenIDs(t *testing.T) {
	const n = openai.MaxValues
	list := "[" + strings.Repeat("1,", n-1) + "1]"
	history := func(prompt string) string {
		return `{"model":"` + testModel + `","input":[{"role":"user","content":"Hi"},{"role":"assistant","content":"A",` +
			`"prompt_token_ids":` + prompt + `,"generation_token_ids":` + list + `,"generation_log_probs":` + list + `}]}`
	}
	for _, tt := range []struct {
		prompt string
		ids    bool
		status int
	}{
		{list, true, 0}, {list, false, 400}, {"[" + list + "]", true, 400}, {`[["x",` + list[1:] + "]", true, 400},
	} {
		g := testGateway(func(o *Options) { o.Models[0].Answers.TokenIDs = tt.ids })
		admitted := 0
		body := history(tt.prompt)
		a := g.Begin("POST", "/v1/responses").Request([]byte(body), Host{Now: testNow, ID: testID,
			Admit: func(n int) bool { admitted = n; return true }})
		if tt.status == 0 && (a.Forward == nil || admitted > memoryFor(len(body), 100)) {
			t.Errorf("%+v, %d bytes were asked for", a.Reply, admitted)
		}
		if tt.status != 0 && (a.Reply == nil || a.Reply.Status != tt.status) {
			t.Errorf("%.20s: %+v", tt.prompt, a)
		}
	}
}

// TestTokenIDsAreBounded: a server whose logprobs are long numbers cannot make an answer that is too large to hold.
func TestTokenIDsAreBounded(t *testing.T) {
	number := "-0." + strings.Repeat("1", 1<<20)
	event := `data: {"choices":[{"index":0,"logprobs":{"token_logprobs":[` + number + `]},"token_ids":[200005]}]}` + "\n\n"
	for _, streamed := range []bool{false, true} {
		for path, body := range map[string]string{
			"/v1/chat/completions": chatBody(streamed),
			"/v1/responses":        fmt.Sprintf(`{"model":%q,"stream":%t,"input":"Hi"}`, testModel, streamed),
		} {
			x := forwarded(t, withTokenIDs(), path, body)
			if got := outcome(t, x, append(slices.Repeat([]string{event}, 10), "")); !strings.Contains(got, "answer_too_large") &&
				!strings.Contains(got, "larger than the gateway can hold") {
				t.Errorf("%s, stream %t: %.300s", path, streamed, got)
			}
		}
	}
}
