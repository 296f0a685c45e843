package rustfrontend

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/harmonyedge/harmonyedge/sim"
)

// engine is a vLLM engine as the front end sees it. It takes requests from a DEALER socket and sends tokens by a PUSH
// socket, in the messages of vllm/v1/engine/__init__.py. The simulated server generates the tokens.
type engine struct {
	in, out *socket
	model   func() *sim.Server

	mu      sync.Mutex
	running map[string]context.CancelFunc
	aborted []string
	params  map[string]any // of the last request
	changed chan struct{}  // closed at the next abort; nil if no caller waits
	failed  error
}

// ready returns an EngineCoreReadyResponse: what the front end must know about its engine before it serves.
func ready(contextLength int) map[string]any {
	return map[string]any{
		"max_model_len": contextLength, "num_gpu_blocks": 8 * contextLength / 16, "block_size": 16, "dp_stats_address": nil,
		"dtype": "bfloat16", "vllm_version": sim.Version, "world_size": 1, "data_parallel_size": 1, "tensor_parallel_size": 1,
		"pipeline_parallel_size": 1, "decode_context_parallel_size": 1, "prefill_context_parallel_size": 1,
		"data_parallel_rank": 0,
		"max_num_seqs":       256, "max_num_batched_tokens": 8192, "instance_id": "scripted", "supports_lora": false,
		"max_loras": 0,
	}
}

// connect reports the engine to the front end, which serves from then on.
func connect(network, input, output string, contextLength int, model func() *sim.Server) (*engine, error) {
	rank := []byte{0, 0} // the engine's number, by which the front end addresses it
	in, err := dial(network, input, "DEALER", rank)
	if err != nil {
		return nil, err
	}
	out, err := dial(network, output, "PUSH", nil)
	if err != nil {
		in.close()
		return nil, err
	}
	e := &engine{in: in, out: out, model: model, running: map[string]context.CancelFunc{}}
	if err := in.send(appendMsgpack(nil, ready(contextLength))); err != nil {
		e.close()
		return nil, err
	}
	go e.serve()
	return e, nil
}

func (e *engine) close() {
	e.in.close()
	e.out.close()
}

// The kinds of messages to an engine.
const (
	addRequest   = "\x00"
	abortRequest = "\x01"
	utilityCall  = "\x03"
)

// serve takes messages until the front end has disconnected.
func (e *engine) serve() {
	for {
		frames, err := e.in.receive()
		if err != nil {
			e.abortAll()
			return
		}
		if len(frames) < 2 {
			continue // the front end's answer to the engine's report that it is ready
		}
		body, err := decodeMsgpack(frames[1])
		if err == nil {
			err = e.handle(string(frames[0]), body)
		}
		if err != nil {
			e.fail(err)
		}
	}
}

func (e *engine) handle(kind string, body any) error {
	list, _ := body.([]any)
	switch kind {
	case addRequest:
		r, err := readRequest(list)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		e.mu.Lock()
		e.running[r.id] = cancel
		e.params = r.params
		e.mu.Unlock()
		go func() {
			if err := e.generate(ctx, r); err != nil && ctx.Err() == nil {
				e.fail(err)
			}
			e.mu.Lock()
			delete(e.running, r.id)
			e.mu.Unlock()
			cancel()
		}()
	case abortRequest:
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, id := range list {
			id, _ := id.(string)
			e.aborted = append(e.aborted, id)
			if cancel := e.running[id]; cancel != nil {
				cancel()
			}
		}
		if e.changed != nil {
			close(e.changed)
			e.changed = nil
		}
	case utilityCall:
		if len(list) < 3 {
			return fmt.Errorf("a utility call of %d fields", len(list))
		}
		// No request to this engine needs a result.
		return e.send([]any{0, []any{}, nil, 0.0, []any{list[1], nil, []any{nil, nil}}})
	default:
		return fmt.Errorf("a message of kind %q", kind)
	}
	return nil
}

func (e *engine) abortAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.running {
		cancel()
	}
}

// fail keeps the first error for the test.
func (e *engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed == nil {
		e.failed = err
	}
}

func (e *engine) send(outputs []any) error { return e.out.send(appendMsgpack(nil, outputs)) }

// request has the members of an EngineCoreRequest that the engine supports.
type request struct {
	id       string
	params   map[string]any
	logprobs *int
	// eos is the end token that is not reported as a stop token.
	eos uint32
	ask sim.EngineRequest
}

// readRequest reads the array of an EngineCoreRequest: request_id, prompt_token_ids, mm_features, sampling_params, …
func readRequest(fields []any) (request, error) {
	var r request
	if len(fields) < 4 {
		return r, fmt.Errorf("a request of %d fields", len(fields))
	}
	prompt, isIDs := readIDs(fields[1])
	var ok bool
	if r.id, ok = fields[0].(string); !ok || !isIDs {
		return r, fmt.Errorf("a request without an id or without ids: %T, %T", fields[0], fields[1])
	}
	if r.params, ok = fields[3].(map[string]any); !ok {
		return r, fmt.Errorf("sampling_params is %T", fields[3])
	}
	r.ask.Prompt = prompt
	r.ask.MaxTokens = intOr(r.params["max_tokens"], 16)
	r.ask.MinTokens = intOr(r.params["min_tokens"], 0)
	stops, _ := readIDs(r.params["stop_token_ids"])
	r.ask.StopTokens = stops
	if eos, ok := r.params["_eos_token_id"].(int); ok {
		r.eos = uint32(eos)
		r.ask.StopTokens = append(r.ask.StopTokens, r.eos)
	}
	if n, ok := r.params["logprobs"].(int); ok {
		r.logprobs = &n
	}
	if n, ok := r.params["thinking_token_budget"].(int); ok {
		r.ask.ThinkingBudget = &n
	}
	if held, ok := r.params["structured_outputs"].(map[string]any); ok {
		// Other constraints, such as a schema, are not checked: an answer has reasoning before what they are about.
		r.ask.StructuralTag, _ = held["structural_tag"].(string)
	}
	return r, nil
}

func intOr(v any, otherwise int) int {
	if n, ok := v.(int); ok {
		return n
	}
	return otherwise
}

// readIDs reads a list of ids. nil is an empty list.
func readIDs(v any) ([]uint32, bool) {
	list, ok := v.([]any)
	ids := make([]uint32, 0, len(list))
	for _, e := range list {
		id, isInt := e.(int)
		if !isInt || id < 0 || id > math.MaxUint32 {
			return nil, false
		}
		ids = append(ids, uint32(id))
	}
	return ids, ok || v == nil
}

// The finish reasons by the engine's numbers.
var finishReasons = map[string]int{"stop": 0, "length": 1, "abort": 2, "error": 3}

// generate sends an answer piece by piece, until it ends or is aborted.
func (e *engine) generate(ctx context.Context, r request) error {
	answer, err := e.model().Engine(r.ask)
	if err != nil {
		return e.send([]any{0, []any{refusal(r.id, err)}})
	}
	total := len(answer.Tokens)
	for pos, piece := 0, 0; pos < total || piece == 0; piece++ {
		n := min(answer.Size(piece), total-pos)
		if err := answer.Wait(ctx, pos, n); err != nil || ctx.Err() != nil {
			answer.Done(true)
			return err
		}
		if err := e.send([]any{0, []any{r.output(&answer, pos, n)}}); err != nil {
			return err
		}
		answer.Sent(n)
		pos += n
	}
	answer.Done(false)
	return nil
}

// refusal returns the EngineCoreOutput of a request that the engine refuses. Its last field is a RequestError.
func refusal(id string, err error) []any {
	output := make([]any, 19)
	output[0], output[1], output[5] = id, []any{}, finishReasons["error"]
	output[13] = 0 // num_nans_in_logits
	output[18] = map[string]any{"code": "validation_error", "message": err.Error(), "retryable": false}
	return output
}

// output returns the array of an EngineCoreOutput with n tokens from pos.
func (r *request) output(a *sim.EngineAnswer, pos, n int) []any {
	tokens := []any{}
	for _, id := range a.Tokens[pos : pos+n] {
		tokens = append(tokens, int(id))
	}
	var finish, stop, logprobs, prefill any
	if pos+n == len(a.Tokens) {
		finish = finishReasons[a.Finish]
		if a.Finish == "stop" && a.Stop != 0 && a.Stop != r.eos {
			stop = int(a.Stop)
		}
	}
	if pos == 0 {
		computed := len(r.ask.Prompt) - a.Cached
		prefill = map[string]any{
			"num_prompt_tokens": len(r.ask.Prompt), "num_computed_tokens": computed, "num_cached_tokens": a.Cached,
			"num_local_cached_tokens": a.Cached, "num_external_cached_tokens": 0, "num_cache_creation_tokens": computed,
		}
	}
	if r.logprobs != nil {
		logprobs = logprobLists(a, pos, n, *r.logprobs)
	}
	// request_id, new_token_ids, new_logprobs, new_prompt_logprobs_tensors, pooling_output, finish_reason, stop_reason,
	// events, kv_transfer_params, ec_transfer_params, trace_headers, prefill_stats
	return []any{r.id, tokens, logprobs, nil, nil, finish, stop, nil, nil, nil, nil, prefill}
}

// logprobLists returns vLLM's LogprobsLists. Every token has a row with itself and the likeliest tokens, and its own
// rank.
func logprobLists(a *sim.EngineAnswer, pos, n, top int) any {
	var ids, logprobs, ranks []byte
	for at := pos; at < pos+n; at++ {
		all, rank := a.Alternatives(at, top)
		for _, alternative := range all {
			ids = binary.LittleEndian.AppendUint32(ids, alternative.Token)
			logprobs = binary.LittleEndian.AppendUint32(logprobs, math.Float32bits(float32(alternative.Logprob)))
		}
		ranks = binary.LittleEndian.AppendUint32(ranks, uint32(rank))
	}
	array := func(kind string, data []byte, shape ...any) any { return []any{kind, slices.Clone(shape), raw(data)} }
	return []any{array("<i4", ids, n, top+1), array("<f4", logprobs, n, top+1), array("<i4", ranks, n), nil}
}
