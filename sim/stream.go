package sim

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
)

// done ends the streams of OpenAI's API, and of servers that follow it.
var done = []byte("data: [DONE]\n\n")

// stream sends the answer event by event. It sends the headers first, before it reads the prompt, as vLLM does.
func (j *job) stream(ctx context.Context, w http.ResponseWriter) error {
	if j.fault.Kind == FaultNoFinish {
		w.Header().Set("Transfer-Encoding", "identity") // the close delimits the body
	}
	kind := j.s.kind
	j.s.head(w, j.rec, http.StatusOK, kind.streamType())
	if streamed, ok := ctx.Value(streamedKey{}).(*atomic.Bool); ok {
		streamed.Store(true)
	}
	if http.NewResponseController(w).Flush() != nil {
		return errClientGone
	}
	if err := j.enter(ctx); err != nil {
		return err
	}
	out := j.s.output(ctx, w)
	defer func() { j.s.rec.update(func() { j.rec.Pieces = out.pieces }) }()
	if refused, err := j.divide(ctx); err != nil {
		return err
	} else if refused != nil {
		if err := out.write(append(kind.errorEvent(refused), kind.terminator()...)); err != nil {
			return err
		}
		return cmp.Or(out.end(), errEnded)
	}
	if err := out.write(kind.leading(j)); err != nil {
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
			if err := out.write(kind.event(j, i, pos, pos+n)); err != nil {
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
	if err := out.write(kind.trailing(j)); err != nil {
		return err
	}
	if err := out.write(j.s.kind.terminator()); err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	j.trailers(w)
	return nil
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

// injectFault carries out the fault at its place. If it returns nil, the stream continues.
func (j *job) injectFault(ctx context.Context, out *output) error {
	if j.fault.Kind == FaultGarbage {
		return out.write(invalidEvent)
	}
	if j.fault.Kind == FaultErrorEvent {
		if err := out.write(j.s.kind.errorEvent(failure(500))); err != nil {
			return err
		}
		if err := out.write(j.s.kind.terminator()); err != nil {
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

// frame frames a value as a server-sent event.
func frame(v any) []byte { return frameJSON(mustJSON(v)) }

// frameJSON frames JSON text as a server-sent event.
func frameJSON(text []byte) []byte { return append(append([]byte("data: "), text...), "\n\n"...) }
