//go:build llamacpp

package llamacpp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

// endless is a prompt whose answer has no end of its own: the padding is said for ever.
func endless(t *testing.T) []uint32 {
	t.Helper()
	prompt, err := engines.Prompt(engines.Spell("<|channel|>final<|message|>On and on."), "")
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}

// TestDisconnect lets the client of an endless answer leave. The server has one slot, so the next request is answered
// only when the first has been given up.
func TestDisconnect(t *testing.T) {
	s := start(t, 1, 131072)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	first := post(ctx, t, s.URL+"/completion", ask(endless(t), nil))
	line, err := bufio.NewReader(first.Body).ReadString('\n')
	if want := `data: {"index":0,"content":"<|channel|>","tokens":[200005],`; err != nil || !strings.HasPrefix(line,
		want) {
		t.Fatalf("the first line is %q (%v), want %q", line, err, want)
	}
	if got := slotsInUse(t, s); got != 1 {
		t.Fatalf("%d slots in use beside an open stream, want 1", got)
	}

	leave()
	prompt, err := engines.Prompt(engines.Scripts[0].IDs, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	checkStream(t, stream(t, s, ask(prompt, nil)), engines.Scripts[0].IDs, false)
	if got := slotsInUse(t, s); got != 0 {
		t.Errorf("%d slots in use after all streams, want 0", got)
	}
}

func get(t *testing.T, s *engines.LlamaCPP, path string) string {
	t.Helper()
	response, err := client.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return string(readAll(t, response))
}

func slotsInUse(t *testing.T, s *engines.LlamaCPP) int {
	t.Helper()
	var slots []struct {
		IsProcessing bool `json:"is_processing"`
	}
	if err := json.Unmarshal([]byte(get(t, s, "/slots")), &slots); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, slot := range slots {
		if slot.IsProcessing {
			n++
		}
	}
	return n
}

// TestConversationHeader lets the client leave an answer of 200 tokens after the first. With a request header of this
// name the server generates them all the same, and anyone can read them who knows the name: a gateway must not pass it
// on.
func TestConversationHeader(t *testing.T) {
	s := start(t, 1, 4096)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	data, err := json.Marshal(ask(endless(t), map[string]any{"n_predict": 200}))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/completion", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-conversation-id", "somebody")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()

	// The slot answers the next request after this one.
	prompt, err := engines.Prompt(engines.Scripts[0].IDs, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	checkStream(t, stream(t, s, ask(prompt, nil)), engines.Scripts[0].IDs, false)
	metrics := get(t, s, "/metrics")
	if want := fmt.Sprintf("\nllamacpp:tokens_predicted_total %d\n",
		200+len(engines.Scripts[0].IDs)); !strings.Contains(metrics, want) {
		t.Errorf("want %q in\n%s", want, metrics)
	}
	replay := get(t, s, "/v1/stream?conv_id=somebody")
	if got := strings.Count(replay, `"stop":false`); got != 200 {
		t.Errorf("anyone can read %d events, want 200", got)
	}
}

// TestPrefixCache asks for the same twice, and then for something else that begins alike. The tokens in the slot's
// cache are counted in timings.cache_n; the rest, at least one token, is in timings.prompt_n.
func TestPrefixCache(t *testing.T) {
	s := start(t, 1, 4096)
	head := engines.Spell("<|start|>system<|message|>" + strings.Repeat("Be brief. ", 50) +
		"<|end|><|start|>user<|message|>")
	prompt := func(script []uint32) []uint32 {
		p, err := engines.Prompt(script, engines.GenerationPrompt)
		if err != nil {
			t.Fatal(err)
		}
		return append(append([]uint32(nil), head...), p...)
	}
	one, other := prompt(engines.Scripts[0].IDs), prompt(engines.Scripts[3].IDs)
	shared := 0
	for one[shared] == other[shared] {
		shared++
	}
	for _, c := range []struct {
		name   string
		prompt []uint32
		cached int
	}{
		{"the first", one, 0},
		{"the same", one, len(one) - 1},
		{"another", other, shared},
		{"the other again", other, len(other) - 1},
	} {
		events := stream(t, s, ask(c.prompt, nil))
		got, want := *events[len(events)-1].Timings, timings{CacheN: c.cached, PromptN: len(c.prompt) - c.cached}
		if got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}
