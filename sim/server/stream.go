package server

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
)

// Done ends the streams of OpenAI's API, and of servers that follow it.
var Done = []byte("data: [DONE]\n\n")

// stream sends the answer event by event. It sends the headers first, before it reads the prompt, as vLLM does.
func (j *Job) stream(ctx context.Context, w http.ResponseWriter) error {
	if j.fault.Kind == FaultNoFinish {
		w.Header().Set("Transfer-Encoding", "identity") // the close delimits the body
	}
	kind := j.Server.kind
	j.Server.Head(w, j.rec, http.StatusOK, kind.StreamType())
	if streamed, ok := ctx.Value(streamedKey{}).(*atomic.Bool); ok {
		streamed.Store(true)
	}
	if http.NewResponseController(w).Flush() != nil {
		return errClientGone
	}
	if err := j.enter(ctx); err != nil {
		return err
	}
	out := j.Server.output(ctx, w)
	defer func() { j.Server.rec.update(func() { j.rec.Pieces = out.pieces }) }()
	if refused, err := j.divide(ctx); err != nil {
		return err
	} else if refused != nil {
		if err := out.write(append(kind.ErrorEvent(refused), kind.Terminator()...)); err != nil {
			return err
		}
		return cmp.Or(out.end(), errEnded)
	}
	if err := out.write(kind.Leading(j)); err != nil {
		return err
	}
	struck := !j.fault.strikesMidStream()
	total := len(j.Answer.IDs)
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
		if after := j.Server.Options.HoldAfter; after > 0 && pos >= after {
			if err := j.Server.hold(ctx, nil); err != nil {
				return err
			}
		}
		if err := j.pace(ctx, n); err != nil {
			return err
		}
		for i := range j.Asked.Choices() {
			if err := out.write(kind.Event(j, i, pos, pos+n)); err != nil {
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
	if err := out.write(kind.Trailing(j)); err != nil {
		return err
	}
	if err := out.write(j.Server.kind.Terminator()); err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	j.trailers(w)
	return nil
}

// size returns how many tokens an event holds.
func (j *Job) size(event, total int) int {
	if n := len(j.chunks); n > 0 {
		return j.chunks[min(event, n-1)]
	}
	if j.Server.Options.TokensPerChunk < 0 {
		return max(total, 1)
	}
	return j.Server.Options.TokensPerChunk
}

// injectFault carries out the fault at its place. If it returns nil, the stream continues.
func (j *Job) injectFault(ctx context.Context, out *output) error {
	if j.fault.Kind == FaultGarbage {
		return out.write(invalidEvent)
	}
	if j.fault.Kind == FaultErrorEvent || j.fault.Kind == FaultEngineDead {
		if err := out.write(j.Server.kind.ErrorEvent(j.fault.refusal())); err != nil {
			return err
		}
		if err := out.write(j.Server.kind.Terminator()); err != nil {
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
		return j.Server.waitFor(ctx, nil)
	}
	return errEnded
}

func (j *Job) trailers(w http.ResponseWriter) {
	if j.fault.Kind == FaultTrailers {
		w.Header().Set(http.TrailerPrefix+"x-sim-trailer", "1")
	}
}

// Frame frames a value as a server-sent event.
func Frame(v any) []byte { return FrameJSON(MustJSON(v)) }

// FrameJSON frames JSON text as a server-sent event.
func FrameJSON(text []byte) []byte { return append(append([]byte("data: "), text...), "\n\n"...) }
