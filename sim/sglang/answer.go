package sglang

import (
	"fmt"
	"io"
	"strconv"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// The members of SGLang's answers, in SGLang's order.
type (
	sglangAnswer struct {
		Text      string     `json:"text"`
		OutputIDs []uint32   `json:"output_ids"`
		Meta      sglangMeta `json:"meta_info"`
		Index     *int       `json:"index,omitempty"`
	}
	sglangMeta struct {
		ID            string          `json:"id"`
		FinishReason  any             `json:"finish_reason"`
		PromptTokens  int             `json:"prompt_tokens"`
		WeightVersion string          `json:"weight_version"`
		Retractions   int             `json:"num_retractions"`
		Input         *[]any          `json:"input_token_logprobs,omitempty"`
		Output        *[]sglangToken  `json:"output_token_logprobs,omitempty"`
		Length        *int            `json:"output_token_logprobs_length,omitempty"`
		Top           [][]sglangToken `json:"output_top_logprobs,omitempty"`
		Reasoning     int             `json:"reasoning_tokens"`
		Completion    int             `json:"completion_tokens"`
		Cached        int             `json:"cached_tokens"`
	}
	// sglangToken is a logprob, a token, and the token's text, which is null.
	sglangToken  [3]any
	sglangFinish struct {
		Type    string `json:"type"`
		Matched any    `json:"matched,omitempty"`
		Length  int    `json:"length,omitempty"`
	}
	sglangAbort struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Status  *int   `json:"status_code"`
		ErrType any    `json:"err_type"`
	}
)

func (generate) Leading(*server.Job) []byte { return nil }

// Event repeats what came before, unless [server.Options.IncrementalStreaming] is set.
func (k generate) Event(j *server.Job, index, from, to int) []byte {
	if !j.Server.Options.IncrementalStreaming {
		from = 0
	}
	return server.Frame(k.answer(j, index, from, to))
}

// answer returns the tokens from..to of a choice. Choices have ids of their own, and an index if there are several.
func (generate) answer(j *server.Job, index, from, to int) sglangAnswer {
	a := sglangAnswer{Text: j.Text(from, to), OutputIDs: server.List(j.Answer.IDs[from:to]), Meta: sglangMeta{ID: j.ID,
		PromptTokens: len(j.Asked.IDs), WeightVersion: "default", Completion: to, Cached: j.Cached}}
	if j.Asked.Choices() > 1 {
		a.Index, a.Meta.ID = &index, j.ID+"_"+strconv.Itoa(index)
	}
	if to == len(j.Answer.IDs) {
		a.Meta.FinishReason = finishOf(j)
	}
	if j.Asked.Logprobs == nil {
		return a
	}
	tokens := []sglangToken{}
	for at := from; at < to; at++ {
		_, sampled, all := server.Alternatives(j.Answer.IDs[at], at, *j.Asked.Logprobs)
		tokens = append(tokens, sglangToken{sampled, j.Answer.IDs[at], nil})
		var top []sglangToken
		for _, other := range all {
			top = append(top, sglangToken{other.Logprob, other.Token, nil})
		}
		if len(all) > 0 {
			a.Meta.Top = append(a.Meta.Top, top)
		}
	}
	a.Meta.Input, a.Meta.Output, a.Meta.Length = &[]any{}, &tokens, &to
	return a
}

// finishOf returns why the answer ended. Every stop names what has matched.
func finishOf(j *server.Job) any {
	switch {
	case j.Answer.Finish == "length":
		return sglangFinish{Type: "length", Length: len(j.Answer.IDs)}
	case j.Answer.Finish != "stop":
		return sglangAbort{Type: "abort", Message: "Aborted"}
	}
	return sglangFinish{Type: "stop", Matched: matched(j)}
}

// matched returns what has ended the answer, which is also told of the tokenizer's own end.
func matched(j *server.Job) any {
	if j.Answer.Stop == nil && len(j.Answer.IDs) > 0 {
		return j.Answer.IDs[len(j.Answer.IDs)-1]
	}
	return j.Answer.Stop
}

func (generate) Trailing(*server.Job) []byte { return nil }

// Whole returns one object, or a list of several.
func (k generate) Whole(j *server.Job) []byte {
	if j.Asked.Choices() == 1 {
		return server.MustJSON(k.answer(j, 0, 0, len(j.Answer.IDs)))
	}
	var all []sglangAnswer
	for i := range j.Asked.Choices() {
		a := k.answer(j, i, 0, len(j.Answer.IDs))
		a.Index = nil
		all = append(all, a)
	}
	return server.MustJSON(all)
}

// Metrics writes SGLang's names for what vLLM's have too.
func (generate) Metrics(w io.Writer, m *server.Metrics, model string, capacity int) {
	c := m.Counts(capacity)
	labels := `engine_type="unified",model_name=` + strconv.Quote(model) + `,pp_rank="0",tp_rank="0"`
	for _, one := range []struct {
		name, kind, help string
		value            float64
	}{
		{"num_running_reqs", "gauge", "The number of running requests.", float64(c.Running)},
		{"num_queue_reqs", "gauge", "The number of requests in the waiting queue.", float64(c.Waiting)},
		{"token_usage", "gauge", "The token usage.", c.KVCacheUsage},
		{"prompt_tokens_total", "counter", "Number of prefill tokens processed.", float64(c.Prompt)},
		{"generation_tokens_total", "counter", "Number of generation tokens processed.", float64(c.Output)},
		{"cached_tokens_total", "counter", "Number of cached prompt tokens.", float64(c.Hits)},
		{"num_retracted_requests_total", "counter", "Total number of retracted requests.", float64(c.Preemptions)},
	} {
		fmt.Fprintf(w, "# HELP sglang:%s %s\n# TYPE sglang:%s %s\nsglang:%s{%s} %s\n", one.name, one.help, one.name,
			one.kind, one.name, labels, server.Number(one.value))
	}
}
