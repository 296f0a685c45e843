//go:build e2e && vllm

package vllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestSimulated holds what the simulated vLLM says when something is wrong against what the real one says: status, type
// and words, up to numbers, ids and spaces.
func TestSimulated(t *testing.T) {
	t.Run("context", likeLongPrompts)
	t.Run("busy, and killed", likeBusyServer)
	t.Run("drains", likeDrainingServer)
}

// path is one of vLLM's paths that the gateway uses, and the kind of the simulated server that has it.
type path struct {
	kind, at string
	// request returns a body for a prompt, as ids and as the text of a message.
	request func(ids []uint32, text string, stream bool) map[string]any
}

var paths = []path{
	{sim.VLLM, "/v1/completions", func(ids []uint32, _ string, stream bool) map[string]any {
		return map[string]any{"model": engines.VLLMModel, "prompt": ids, "stream": stream, "temperature": 0,
			"max_tokens": 2000, "return_token_ids": true}
	}},
	{sim.VLLMGenerate, "/inference/v1/generate", func(ids []uint32, _ string, stream bool) map[string]any {
		return map[string]any{"model": engines.VLLMModel, "token_ids": ids, "stream": stream,
			"sampling_params": map[string]any{"temperature": 0, "max_tokens": 2000, "detokenize": false}}
	}},
	{sim.Chat, "/v1/chat/completions", func(_ []uint32, text string, stream bool) map[string]any {
		return map[string]any{"model": engines.VLLMModel, "stream": stream, "temperature": 0, "max_tokens": 2000,
			"messages": []any{map[string]any{"role": "user", "content": text}}}
	}},
}

func (p path) String() string { return p.kind }

// ask sends a request to a server. fault is for a simulated one.
func (p path) ask(t *testing.T, url string, ids []uint32, text string, stream bool, fault string) lab.Answer {
	t.Helper()
	body, err := json.Marshal(p.request(ids, text, stream))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	if fault != "" {
		header.Set("x-sim-fault", fault)
	}
	return lab.Do(client, http.MethodPost, url+p.at, header, strings.NewReader(string(body)))
}

// simulated starts a simulated server of the path's kind.
func (p path) simulated(t *testing.T) string {
	t.Helper()
	_, url := lab.RunSim(t, sim.Options{Kind: p.kind, Models: []string{engines.VLLMModel}, MaxModelLen: contextLength,
		AnyPrompt: true, AllowHeaders: true})
	return url
}

var (
	anyID     = regexp.MustCompile(`"(id|request_id)":"[^"]*"`)
	anyNumber = regexp.MustCompile(`\d+`)
	// finishReason finds that of a whole answer, or of a stream's last event.
	finishReason = regexp.MustCompile(`"finish_reason":(null|"[a-z_]*")`)
	anyNumbers   = regexp.MustCompile(`\[0(,0)*\]`)
)

// likeness returns what must be equal of a real and a simulated answer. Of an error that is all but spaces in JSON. Of
// the end of a stream and of a whole answer it is the finish reason: the other members are another version's.
func likeness(a lab.Answer) string {
	if a.Err != nil {
		return a.Err.Error()
	}
	body := strings.TrimSpace(a.Body)
	if events := strings.Split(body, "\n\n"); len(events) > 2 {
		body = strings.Join(events[len(events)-2:], "\n\n")
	}
	if data, done, _ := strings.Cut(body, "\n\n"); json.Valid([]byte(strings.TrimPrefix(data, "data: "))) {
		var compact bytes.Buffer
		_ = json.Compact(&compact, []byte(strings.TrimPrefix(data, "data: "))) // it is JSON
		body = compact.String() + "\n" + done
	}
	if !strings.Contains(body, `"error":`) {
		body = fmt.Sprint(finishReason.FindAllString(body, -1), strings.Contains(body, "[DONE]"))
	}
	body = anyNumbers.ReplaceAllString(anyNumber.ReplaceAllString(anyID.ReplaceAllString(body, `"$1":""`), "0"), "[0]")
	return fmt.Sprintf("%d %s\n%s", a.Status, a.Header.Get("content-type"), body)
}

func wantLike(t *testing.T, what string, simulated, real lab.Answer) {
	t.Helper()
	if got, want := likeness(simulated), likeness(real); got != want {
		t.Errorf("%s: the simulator says\n%s\nvLLM says\n%s", what, got, want)
	}
}

// likeLongPrompts asks for more than the context holds.
func likeLongPrompts(t *testing.T) {
	v := servers.Shared(t, wideFlags...)
	for _, p := range paths {
		url := p.simulated(t)
		for _, length := range []int{contextLength, contextLength + 1, contextLength + 500} {
			ids := engines.Spell(strings.Repeat(" x", length))
			for _, stream := range []bool{true, false} {
				text := strings.Repeat(" x", length)
				if p.kind == sim.Chat && length <= contextLength+1 {
					continue // the template has more words than the simulator's
				}
				wantLike(t, fmt.Sprintf("%s, %d tokens, stream=%t", p, length, stream), p.ask(t, url, ids, text, stream, ""),
					p.ask(t, v.URL, ids, text, stream, ""))
			}
		}
	}
}

// endlessPrompt returns a prompt whose answer has no end, as ids and as the text of a message.
func endlessPrompt(t *testing.T) (ids []uint32, text string) {
	t.Helper()
	ids, err := engines.Prompt(engines.Spell(endless), engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	return ids, puppet(t, endless)
}

// likeBusyServer asks a server whose queue is full, without --enable-scale-out, and kills its engine.
func likeBusyServer(t *testing.T) {
	v := servers.New(t, "--max-num-seqs", "2", "--max-num-queued-reqs", "3")
	ids, text := endlessPrompt(t)
	generate := paths[1]
	for _, stream := range []bool{true, false} {
		simulated := generate.ask(t, generate.simulated(t), ids, text, stream, "status:403")
		wantLike(t, fmt.Sprintf("no scale-out, stream=%t", stream), simulated, generate.ask(t, v.URL, ids, text, stream, ""))
	}

	// Two run, and one waits.
	type running struct {
		path
		stream bool
		got    lab.Answer
	}
	all := []*running{{path: paths[0], stream: true}, {path: paths[2], stream: true}, {path: paths[0]}}
	var asking sync.WaitGroup
	for i, r := range all {
		asking.Go(func() { r.got = r.ask(t, v.URL, ids, text, r.stream, "") })
		await(t, v, "vllm:num_requests_running", func(n float64) bool { return n >= float64(min(i+1, 2)) })
	}
	await(t, v, "vllm:num_requests_waiting", func(n float64) bool { return n == 1 })
	for _, p := range []path{paths[0], paths[2]} {
		for _, stream := range []bool{true, false} {
			simulated := p.ask(t, p.simulated(t), ids, text, stream, "status:503")
			wantLike(t, fmt.Sprintf("busy: %s, stream=%t", p, stream), simulated, p.ask(t, v.URL, ids, text, stream, ""))
		}
	}
	if err := v.KillEngine(); err != nil {
		t.Fatal(err)
	}
	asking.Wait()
	for _, r := range all {
		wantLike(t, fmt.Sprintf("killed: %s, stream=%t", r.path, r.stream),
			r.ask(t, r.simulated(t), ids, text, r.stream, "engine-dead:3"), r.got)
	}
}

// likeDrainingServer asks a server that drains. By chance vLLM does not drain, but stops listening at once. Then the
// next server is asked.
func likeDrainingServer(t *testing.T) {
	const tries = 6
	for range tries {
		if likeDraining(t) {
			return
		}
	}
	t.Errorf("of %d servers none has answered while it drained", tries)
}

func likeDraining(t *testing.T) bool {
	v := servers.New(t, append([]string{"--shutdown-timeout", "120"}, wideFlags...)...)
	defer v.Stop()
	ids, text := endlessPrompt(t)
	left := make(chan struct{})
	go func() {
		defer close(left)
		paths[0].ask(t, v.URL, ids, text, true, "")
	}()
	await(t, v, "vllm:num_requests_running", func(n float64) bool { return n == 1 })
	if err := v.Terminate(); err != nil {
		t.Fatal(err)
	}
	if a := awaitRefusing(t, v); a.Err != nil || a.Status != http.StatusOK {
		v.Stop()
		<-left
		return false
	}
	type pair struct{ real, simulated lab.Answer }
	for _, p := range paths {
		url := p.simulated(t)
		for _, stream := range []bool{true, false} {
			both := pair{p.ask(t, v.URL, ids, text, stream, ""), p.ask(t, url, ids, text, stream, "abort:0")}
			wantLike(t, fmt.Sprintf("drains: %s, stream=%t", p, stream), both.simulated, both.real)
		}
	}
	v.Stop()
	<-left
	return true
}
