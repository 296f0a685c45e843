package sim

import (
	"context"
	"net/http"
	"strconv"
)

var done = []byte("data: [DONE]\n\n")

func itoa(n int) string { return strconv.Itoa(n) }

// stream sends the answer event by event. It sends the headers first, before it reads the prompt, as vLLM does.
func (j *job) stream(ctx context.Context, w http.ResponseWriter) error {
	if j.fault.Kind == FaultNoFinish {
		w.Header().Set("Transfer-Encoding", "identity") // the close delimits the body
	}
	contentType := "text/event-stream; charset=utf-8"
	if j.s.opt.FrontEnd == RustFrontEnd {
		contentType = "text/event-stream"
	}
	j.s.head(w, j.rec, http.StatusOK, contentType)
	if http.NewResponseController(w).Flush() != nil {
		return errClientGone
	}
	if err := j.enter(ctx); err != nil {
		return err
	}
	out := j.s.output(ctx, w)
	defer func() { j.s.rec.update(func() { j.rec.Pieces = out.pieces }) }()
	if err := out.write(j.leadingChunk()); err != nil {
		return err
	}
	struck := !j.fault.strikesMidStream()
	total := len(j.gen.ids)
	for pos, event := 0, 0; pos < total || event == 0; event++ {
		if !struck && pos >= j.fault.After {
			struck = true
			if err := j.injectFault(ctx, out); err != nil {
				return err
			}
		}
		n := min(j.size(event, total), total-pos)
		if !struck {
			n = min(n, j.fault.After-pos)
		}
		if after := j.s.opt.HoldAfter; after > 0 && pos >= after {
			if err := j.s.hold(ctx, nil); err != nil {
				return err
			}
		}
		if err := j.pace(ctx, n); err != nil {
			return err
		}
		for i := range j.c.choices() {
			if err := out.write(j.eventOf(i, pos, pos+n)); err != nil {
				return err
			}
			j.sent(n)
		}
		pos += n
	}
	if !struck {
		if err := j.injectFault(ctx, out); err != nil {
			return err
		}
	}
	if err := out.write(j.trailingChunks()); err != nil {
		return err
	}
	if err := out.write(done); err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	j.trailers(w)
	return nil
}

// leadingChunk returns what comes before the first token.
func (j *job) leadingChunk() []byte {
	if j.s.opt.FrontEnd == RustFrontEnd {
		return j.rustFirst()
	}
	return nil
}

// eventOf returns the event with the tokens from..to of a choice.
func (j *job) eventOf(index, from, to int) []byte {
	if j.s.opt.FrontEnd == RustFrontEnd {
		return j.rustEvent(from, to)
	}
	return frame(j.event(index, from, to))
}

// trailingChunks returns what comes after the last token, except the final [DONE].
func (j *job) trailingChunks() []byte {
	var out []byte
	rust := j.s.opt.FrontEnd == RustFrontEnd
	if rust {
		out = j.rustFinish()
	}
	switch o := j.c.StreamOptions; {
	case o == nil || !isTrue(o.IncludeUsage):
		return out
	case rust:
		return append(out, j.rustUsageEvent()...)
	}
	u := j.usage(j.c.choices() * len(j.gen.ids))
	u.Details = j.details()
	return frame(chunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []chunkChoice{}, Usage: u})
}

// size returns how many tokens an event holds.
func (j *job) size(event, total int) int {
	if n := len(j.chunks); n > 0 {
		return j.chunks[min(event, n-1)]
	}
	if j.s.opt.TokensPerChunk < 0 {
		return max(total, 1)
	}
	return j.s.opt.TokensPerChunk
}

// event returns the chunk of one choice with the tokens from..to.
func (j *job) event(index, from, to int) chunk {
	choice := chunkChoice{Index: index, Logprobs: j.logprobs(from, to)}
	for _, text := range j.gen.texts[from:to] {
		choice.Text += text
	}
	if isTrue(j.c.ReturnTokenIDs) {
		choice.TokenIDs = list(j.gen.ids[from:to])
		if from == 0 {
			choice.PromptTokenIDs = j.c.ids
		}
	}
	if to == len(j.gen.ids) {
		choice.FinishReason, choice.StopReason = &j.gen.finish, j.gen.stop
	}
	c := chunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []chunkChoice{choice}}
	if o := j.c.StreamOptions; o != nil && isTrue(o.IncludeUsage) && isTrue(o.ContinuousUsage) {
		c.Usage = j.usage(to)
	}
	return c
}

func (j *job) usage(completion int) *usage {
	return &usage{PromptTokens: len(j.c.ids), TotalTokens: len(j.c.ids) + completion, CompletionTokens: completion}
}

// injectFault carries out the fault at its place. If it returns nil, the stream continues.
func (j *job) injectFault(ctx context.Context, out *output) error {
	if j.fault.Kind == FaultGarbage {
		return out.write(invalidEvent)
	}
	if j.fault.Kind == FaultErrorEvent {
		if err := out.write([]byte("data: " + string(failure(500).body()) + "\n\n")); err != nil {
			return err
		}
		if err := out.write(done); err != nil {
			return err
		}
	}
	// Bytes that a cut holds back belong to what was sent before the fault.
	if err := out.end(); err != nil {
		return err
	}
	switch j.fault.Kind {
	case FaultClose:
		return errCut
	case FaultReset:
		return errReset
	case FaultStall:
		return j.s.waitFor(ctx, nil)
	}
	return errEnded
}

func (j *job) trailers(w http.ResponseWriter) {
	if j.fault.Kind == FaultTrailers {
		w.Header().Set(http.TrailerPrefix+"x-sim-trailer", "1")
	}
}
