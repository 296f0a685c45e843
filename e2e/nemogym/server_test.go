//go:build e2e

package nemogym

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scripted is a Chat server that keeps what it is asked and gives the answer that it was told.
type scripted struct {
	url string
	mu  sync.Mutex
	// answer is a whole chat.completion, or a status and a body. tokens are what /tokenize answers.
	answer map[string]any
	// unstreamed makes it answer with the whole object, also a request for a stream.
	unstreamed bool
	asked      []sent
}

func runScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// next sets the next answer.
func (s *scripted) next(answer map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.asked = answer, nil
}

// requests returns what it was asked since then.
func (s *scripted) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := sent{Path: r.URL.Path}
	if err := decode(data, &got.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, got)
	answer, unstreamed := s.answer, s.unstreamed
	s.mu.Unlock()
	status := http.StatusOK
	var body any = answer
	switch {
	case got.Path == "/tokenize":
		body = map[string]any{"tokens": answer["tokenize"], "count": 0, "max_model_len": 32768}
	case answer["status"] != nil:
		status, body = int(number(answer["status"])), answer["body"]
	case got.Body["stream"] == true && !unstreamed:
		w.Header().Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, stream(answer))
		return
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// stream returns the events that vLLM's Chat endpoint sends for a whole answer: each text in pieces, the ids of the
// prompt in the first chunk, and the ids and logprobs of the answer with the text.
func stream(answer map[string]any) string {
	choice, _ := elements(answer["choices"])[0].(map[string]any)
	deltas := deltasOf(choice)
	var out strings.Builder
	write := func(members map[string]any) {
		event := map[string]any{"id": answer["id"], "object": "chat.completion.chunk", "created": answer["created"],
			"model": answer["model"]}
		maps.Copy(event, members)
		data, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		out.WriteString("data: " + string(data) + "\n\n")
	}
	one := func(delta, more map[string]any) map[string]any {
		c := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
		maps.Copy(c, more)
		return map[string]any{"choices": []any{c}}
	}
	first := one(map[string]any{"role": "assistant", "content": ""}, nil)
	if ids := answer["prompt_token_ids"]; ids != nil {
		first["prompt_token_ids"] = ids
	}
	write(first)
	for i, delta := range deltas {
		write(one(delta, sampledShare(choice, i, len(deltas))))
	}
	write(one(map[string]any{}, map[string]any{"finish_reason": choice["finish_reason"]}))
	if usage := answer["usage"]; usage != nil {
		write(map[string]any{"choices": []any{}, "usage": usage})
	}
	return out.String() + "data: [DONE]\n\n"
}

// deltasOf returns the deltas of a choice. If the choice has ids of tokens, each delta has some.
func deltasOf(choice map[string]any) []map[string]any {
	message, _ := choice["message"].(map[string]any)
	reasoning := []string{"reasoning_content", "reasoning"}
	var deltas []map[string]any
	// Servers that send both fields send them in one delta.
	if message[reasoning[0]] != nil && message[reasoning[1]] != nil {
		for _, piece := range pieces(message[reasoning[0]]) {
			deltas = append(deltas, map[string]any{reasoning[0]: piece, reasoning[1]: piece})
		}
		reasoning = nil
	}
	for _, field := range append(reasoning, "content") {
		for _, piece := range pieces(message[field]) {
			deltas = append(deltas, map[string]any{field: piece})
		}
	}
	for i, c := range elements(message["tool_calls"]) {
		deltas = append(deltas, callDeltas(i, c)...)
	}
	if len(deltas) == 0 {
		deltas = []map[string]any{{}}
	}
	ids := len(elements(choice["token_ids"]))
	if logprobs, ok := choice["logprobs"].(map[string]any); ok {
		ids = len(elements(logprobs["content"]))
	}
	for ids > 0 && len(deltas) > ids {
		last := len(deltas) - 1
		merge(deltas[last-1], deltas[last])
		deltas = deltas[:last]
	}
	return deltas
}

// merge adds the next delta to one.
func merge(delta, next map[string]any) {
	for name, value := range next {
		switch v := value.(type) {
		case string:
			text, _ := delta[name].(string)
			delta[name] = text + v
		default:
			delta[name] = append(elements(delta[name]), elements(v)...)
		}
	}
}

// sampledShare returns the ids and logprobs that come with a delta: of the choice's, one part of as many as there are
// deltas.
func sampledShare(choice map[string]any, i, n int) map[string]any {
	share := func(all []any) []any { return all[len(all)*i/n : len(all)*(i+1)/n] }
	more := map[string]any{}
	if ids := choice["token_ids"]; ids != nil {
		more["token_ids"] = share(elements(ids))
	}
	if logprobs, ok := choice["logprobs"].(map[string]any); ok {
		more["logprobs"] = map[string]any{"content": share(elements(logprobs["content"]))}
	}
	return more
}

// callDeltas returns the deltas of a call: its name first, then its arguments.
func callDeltas(i int, c any) []map[string]any {
	call, _ := c.(map[string]any)
	function, _ := call["function"].(map[string]any)
	delta := func(members map[string]any) map[string]any {
		members["index"] = i
		return map[string]any{"tool_calls": []any{members}}
	}
	all := []map[string]any{delta(map[string]any{"id": call["id"], "type": "function",
		"function": map[string]any{"name": function["name"], "arguments": ""}})}
	for _, piece := range pieces(function["arguments"]) {
		all = append(all, delta(map[string]any{"function": map[string]any{"arguments": piece}}))
	}
	return all
}

// pieces cuts a text into about three parts, between runes. A value that is no text has none.
func pieces(v any) []string {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	runes := []rune(text)
	if len(runes) < 3 {
		return []string{text}
	}
	a, b := len(runes)/3, 2*len(runes)/3
	return []string{string(runes[:a]), string(runes[a:b]), string(runes[b:])}
}

func elements(v any) []any {
	list, _ := v.([]any)
	return list
}

func number(v any) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	f, err := n.Float64()
	if err != nil {
		return 0
	}
	return f
}
