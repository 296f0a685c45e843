package sim

import (
	"fmt"
	"io"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// refusal is flat, except for requests that are not even of the right form.
func (trtllm) refusal(r *refusal) []byte {
	if r.Type == "Bad Request" {
		return mustJSON(map[string]string{"error": r.Message})
	}
	return mustJSON(flat(r))
}

// errorEvent has neither a status nor a type that tells one error from another.
func (trtllm) errorEvent(r *refusal) []byte {
	type failure struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Code    *int    `json:"code"`
		Param   *string `json:"param"`
	}
	return frame(map[string]failure{"error": {Message: r.Message, Type: "server_error"}})
}

// streamsRefusals reports true: what the engine's own process refuses comes in the stream.
func (trtllm) streamsRefusals() bool { return true }

func (trtllm) streamType() string { return "text/event-stream; charset=utf-8" }

func (trtllm) leading(*job) []byte { return nil }

// The members of the answers, in TensorRT-LLM's order.
type (
	trtllmChunk struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Created int64          `json:"created"`
		Model   string         `json:"model"`
		Choices []trtllmChoice `json:"choices"`
		Usage   *usage         `json:"usage"`
	}
	trtllmChoice struct {
		Index        int      `json:"index"`
		Text         string   `json:"text"`
		TokenIDs     []uint32 `json:"token_ids"`
		Logprobs     any      `json:"logprobs"`
		FinishReason *string  `json:"finish_reason"`
		StopReason   any      `json:"stop_reason"`
		PerIteration *float64 `json:"avg_decoded_tokens_per_iter"`
	}
)

// chunk returns a chunk without choices. Its model is the request's.
func (trtllm) chunk(j *job) trtllmChunk {
	return trtllmChunk{ID: j.id, Object: "text_completion", Created: j.created, Model: *j.c.Model,
		Choices: []trtllmChoice{}}
}

func (k trtllm) event(j *job, index, from, to int) []byte {
	c := k.chunk(j)
	c.Choices = append(c.Choices, k.choice(j, index, from, to))
	return frame(c)
}

// choice returns the tokens from..to, in ids or as text. A stop token that is not the tokenizer's own end is left out
// of the ids too, unless the request wants it.
func (trtllm) choice(j *job, index, from, to int) trtllmChoice {
	c := trtllmChoice{Index: index, Logprobs: j.logprobs(from, to)}
	ids := list(j.gen.ids[from:to])
	if to == len(j.gen.ids) {
		c.FinishReason, c.StopReason = &j.gen.finish, j.gen.stop
		if j.gen.finish == "abort" {
			cancelled := "cancelled"
			c.FinishReason = &cancelled
		}
		if id, ok := j.gen.stop.(uint32); ok && id != tokenizer.Return && !j.c.IncludeStop && len(ids) > 0 {
			ids = ids[:len(ids)-1]
		}
	}
	if isTrue(j.c.ReturnTokenIDs) {
		c.TokenIDs = ids
	} else {
		c.Text = j.text(from, to)
	}
	return c
}

func (k trtllm) trailing(j *job) []byte {
	if !j.c.wantsUsage() {
		return nil
	}
	c := k.chunk(j)
	c.Usage = k.usage(j)
	return frame(c)
}

// usage always has the cached tokens.
func (trtllm) usage(j *job) *usage {
	u := j.allUsage()
	u.Details = &usageDetails{CachedTokens: j.cached}
	return u
}

func (k trtllm) whole(j *job) []byte {
	c := k.chunk(j)
	c.Choices, c.Usage = append(c.Choices, k.choice(j, 0, 0, len(j.gen.ids))), k.usage(j)
	return mustJSON(c)
}

// iterations returns the statistics of the last iteration as JSON, which is what trtllm-serve has at /metrics.
func iterations(m *metrics, capacity int) []byte {
	const tokensPerBlock = 32
	load, blocks := m.counts(capacity).Load, capacity/tokensPerBlock
	return mustJSON([]map[string]any{{"iter": 1, "numActiveRequests": load.Running, "numQueuedRequests": load.Waiting,
		"kvCacheStats": map[string]any{"maxNumBlocks": blocks, "tokensPerBlock": tokensPerBlock,
			"usedNumBlocks": int(load.KVCacheUsage * float64(blocks))}}})
}

// metrics writes some of the names of tensorrt_llm/metrics/collector.py.
func (trtllm) metrics(w io.Writer, m *metrics, model string, capacity int) {
	load := m.counts(capacity).Load
	for _, one := range []struct {
		name, help string
		value      float64
	}{
		{"num_requests_running", "Number of requests that are running.", float64(load.Running)},
		{"num_requests_waiting", "Number of requests that are waiting.", float64(load.Waiting)},
		{"kv_cache_utilization", "KV cache utilization.", load.KVCacheUsage},
	} {
		fmt.Fprintf(w, "# HELP trtllm_%s %s\n# TYPE trtllm_%s gauge\ntrtllm_%s{engine_type=\"undefined\",model_name=%s} %s\n",
			one.name, one.help, one.name, one.name, strconv.Quote(model), number(one.value))
	}
}

func (trtllm) terminator() []byte { return done }

func (trtllm) singleUse() bool { return false }

func (trtllm) meets() bool { return false }
