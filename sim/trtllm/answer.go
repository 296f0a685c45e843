package trtllm

import (
	"fmt"
	"io"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Refusal is flat, except for requests that are not even of the right form.
func (completions) Refusal(r *server.Refusal) []byte {
	if r.Type == "Bad Request" {
		return server.MustJSON(map[string]string{"error": r.Message})
	}
	return server.MustJSON(server.Flat(r))
}

// ErrorEvent has neither a status nor a type that tells one error from another.
func (completions) ErrorEvent(r *server.Refusal) []byte {
	type failure struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Code    *int    `json:"code"`
		Param   *string `json:"param"`
	}
	return server.Frame(map[string]failure{"error": {Message: r.Message, Type: "server_error"}})
}

// StreamsRefusals reports true: what the engine's own process refuses comes in the stream.
func (completions) StreamsRefusals() bool { return true }

func (completions) StreamType() string { return "text/event-stream; charset=utf-8" }

func (completions) Leading(*server.Job) []byte { return nil }

// The members of the answers, in TensorRT-LLM's order.
type (
	trtllmChunk struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Created int64          `json:"created"`
		Model   string         `json:"model"`
		Choices []trtllmChoice `json:"choices"`
		Usage   *server.Usage  `json:"usage"`
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
func (completions) chunk(j *server.Job) trtllmChunk {
	return trtllmChunk{ID: j.ID, Object: "text_completion", Created: j.Created, Model: *j.Asked.Model,
		Choices: []trtllmChoice{}}
}

func (k completions) Event(j *server.Job, index, from, to int) []byte {
	c := k.chunk(j)
	c.Choices = append(c.Choices, k.choice(j, index, from, to))
	return server.Frame(c)
}

// choice returns the tokens from..to, in ids or as text. A stop token that is not the tokenizer's own end is left out
// of the ids too, unless the request wants it.
func (completions) choice(j *server.Job, index, from, to int) trtllmChoice {
	c := trtllmChoice{Index: index, Logprobs: j.Logprobs(from, to)}
	ids := server.List(j.Answer.IDs[from:to])
	if to == len(j.Answer.IDs) {
		c.FinishReason, c.StopReason = &j.Answer.Finish, j.Answer.Stop
		if j.Answer.Finish == "abort" {
			cancelled := "cancelled"
			c.FinishReason = &cancelled
		}
		if id, ok := j.Answer.Stop.(uint32); ok && id != tokenizer.Return && !j.Asked.IncludeStop && len(ids) > 0 {
			ids = ids[:len(ids)-1]
		}
	}
	if server.IsTrue(j.Asked.ReturnTokenIDs) {
		c.TokenIDs = ids
	} else {
		c.Text = j.Text(from, to)
	}
	return c
}

func (k completions) Trailing(j *server.Job) []byte {
	if !j.Asked.WantsUsage() {
		return nil
	}
	c := k.chunk(j)
	c.Usage = k.usage(j)
	return server.Frame(c)
}

// usage always has the cached tokens.
func (completions) usage(j *server.Job) *server.Usage {
	u := j.AllUsage()
	u.Details = &server.UsageDetails{CachedTokens: j.Cached}
	return u
}

func (k completions) Whole(j *server.Job) []byte {
	c := k.chunk(j)
	c.Choices, c.Usage = append(c.Choices, k.choice(j, 0, 0, len(j.Answer.IDs))), k.usage(j)
	return server.MustJSON(c)
}

// iterations returns the statistics of the last iteration as JSON, which is what trtllm-serve has at /metrics.
func iterations(m *server.Metrics, capacity int) []byte {
	const tokensPerBlock = 32
	load, blocks := m.Counts(capacity).Load, capacity/tokensPerBlock
	return server.MustJSON([]map[string]any{{"iter": 1, "numActiveRequests": load.Running,
		"numQueuedRequests": load.Waiting,
		"kvCacheStats": map[string]any{"maxNumBlocks": blocks, "tokensPerBlock": tokensPerBlock,
			"usedNumBlocks": int(load.KVCacheUsage * float64(blocks))}}})
}

// Metrics writes some of the names of tensorrt_llm/metrics/collector.py.
func (completions) Metrics(w io.Writer, m *server.Metrics, model string, capacity int) {
	load := m.Counts(capacity).Load
	for _, one := range []struct {
		name, help string
		value      float64
	}{
		{"num_requests_running", "Number of requests that are running.", float64(load.Running)},
		{"num_requests_waiting", "Number of requests that are waiting.", float64(load.Waiting)},
		{"kv_cache_utilization", "KV cache utilization.", load.KVCacheUsage},
	} {
		fmt.Fprintf(w, "# HELP trtllm_%s %s\n# TYPE trtllm_%s gauge\ntrtllm_%s{engine_type=\"undefined\",model_name=%s} %s\n",
			one.name, one.help, one.name, one.name, strconv.Quote(model), server.Number(one.value))
	}
}

func (completions) Terminator() []byte { return server.Done }

func (completions) SingleUse() bool { return false }

func (completions) Meets() bool { return false }
