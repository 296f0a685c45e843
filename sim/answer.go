package sim

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// job is one accepted completion.
type job struct {
	s         *Server
	c         *completion
	rec       *Request
	gen       generation
	fault     Fault
	chunks    []int
	id        string
	created   int64
	cached    int
	startedAt time.Time
	running   bool   // it has a slot
	first     bool   // the first token has been sent
	wasRead   bool   // the prompt has been read: no time is needed for it any more
	tokensOut int    // tokens that have been sent
	place     *place // in an engine that computes batches, or nil
}

// accept chooses the answer to a request that decode has accepted.
func (s *Server) accept(h http.Header, c *completion, rec *Request) (*job, *refusal) {
	p, err := readPrompt(s.tok, c.ids)
	if err != nil && !s.opt.AnyPrompt {
		return nil, badRequest("prompt", "The prompt is not well-formed Harmony: "+err.Error())
	}
	j := &job{s: s, c: c, rec: rec, fault: s.opt.Fault, id: s.kind.answerID(h, c), startedAt: time.Now(),
		created: time.Now().Unix()}
	if p != nil {
		p.declared = c.declared
	}
	var generated []uint32
	atEnd := ""
	if line, ok := s.opt.Script.pick(s.tok.DecodeString(c.ids)); ok {
		generated, atEnd, j.chunks = line.Tokens, line.Finish, line.Chunks
		// A model could not have written it: either the script or the tag is wrong.
		if err := c.holds.checkAnswer(s.tok, generated); err != nil {
			return nil, badRequest("structured_outputs", "The script does not keep to the structural tag: "+err.Error())
		}
		if line.Fault != nil {
			j.fault = *line.Fault
		}
	} else if err != nil {
		a := &writer{t: s.tok}
		a.special(tokenizer.Channel)
		a.text("final")
		a.special(tokenizer.Message)
		a.text("This prompt is not Harmony.")
		a.special(tokenizer.Return)
		generated = a.ids
	} else if generated, ok = answerUnder(s.tok, p, c.holds); !ok {
		return nil, badRequest("structured_outputs",
			"The simulated model has nothing to say that keeps to the structural tag.")
	}
	if f := h.Get("x-sim-fault"); f != "" && s.opt.AllowHeaders {
		if j.fault, err = ParseFault(f); err != nil {
			return nil, badRequest("x-sim-fault", err.Error())
		}
	}
	j.gen = generate(s.tok, c, c.applyThinkingBudget(s.tok, generated), atEnd)
	if s.batching != nil && !s.batching.fits(j) {
		return nil, badRequest("prompt", "The cache of this server does not hold the prompt and its answer.")
	}
	if s.batching == nil {
		j.cached = s.cache.read(j.salt(), c.ids)
	}
	s.rec.update(func() {
		rec.ID, rec.Stream, rec.PromptIDs, rec.CachedTokens = j.id, c.streams(), c.ids, j.cached
		rec.SampledIDs = j.gen.ids
	})
	return j, nil
}

// salt keeps what the cache holds of the request apart from what it holds with other salts.
func (j *job) salt() string {
	if j.c.CacheSalt == nil {
		return ""
	}
	return *j.c.CacheSalt
}

// serve runs the job and accounts for it, whatever its end.
func (j *job) serve(w http.ResponseWriter, r *http.Request) {
	s := j.s
	switch j.fault.Kind {
	case FaultStatus:
		refused := failure(j.fault.Status)
		refused.retryAfter = j.fault.RetryAfter
		s.refuse(w, j.rec, refused)
		return
	case FaultError200:
		s.respond(w, j.rec, http.StatusOK, s.kind.refusal(failure(500)))
		return
	}
	defer j.leave()
	var err error
	switch {
	case j.fault.Kind == FaultDrop:
		err = errCut
	case j.fault.Kind == FaultMute:
		err = s.waitFor(r.Context(), nil)
	case j.c.streams():
		err = j.stream(r.Context(), w)
	default:
		err = j.whole(r.Context(), w)
	}
	j.end(err)
	switch {
	case errors.Is(err, errCut), errors.Is(err, errClosed):
		cut(w, false)
	case errors.Is(err, errReset):
		cut(w, true)
	}
}

// enter waits for a free slot and counts the prompt as read.
func (j *job) enter(ctx context.Context) error {
	n := len(j.c.ids)
	if j.s.batching != nil {
		j.place = j.s.batching.enter(j)
		j.s.metrics.with(func(m *metrics) { m.prompt += n })
		return nil
	}
	if err := j.s.admit(ctx); err != nil {
		return err
	}
	j.running = true
	j.s.metrics.with(func(m *metrics) {
		m.prompt += n
		m.queries += n
		m.hits += j.cached
		m.kvTokens += n
	})
	return nil
}

func (j *job) leave() {
	if j.place != nil {
		j.s.batching.leave(j.place)
	}
	if j.running {
		j.s.release()
		j.s.metrics.with(func(m *metrics) { m.kvTokens -= len(j.c.ids) + j.tokensOut })
	}
}

// The errors of streams that a fault ends.
var (
	errCut   = errors.New("cut by a fault")
	errReset = errors.New("reset by a fault")
	errEnded = errors.New("ended by a fault")
)

func (j *job) end(err error) {
	finish := j.gen.finish
	switch {
	case errors.Is(err, errClientGone):
		finish = "abort"
	case err != nil:
		finish = "error"
	}
	j.s.rec.update(func() {
		j.rec.Aborted = errors.Is(err, errClientGone)
		j.rec.Finish = finish
	})
	j.s.metrics.with(func(m *metrics) {
		m.finished[finish]++
		if err == nil {
			m.e2e.observe(time.Since(j.startedAt))
		}
	})
}

// sent counts n tokens that have been written.
func (j *job) sent(n int) {
	j.s.rec.update(func() { j.rec.TokensSent += n })
	j.s.metrics.with(func(m *metrics) {
		m.output += n
		m.kvTokens += n
		j.tokensOut += n
		if !j.first {
			j.first = true
			m.ttft.observe(time.Since(j.startedAt))
		}
	})
}

// pace waits for as long as the next n tokens take to generate. Before the first token it also waits for the prompt.
func (j *job) pace(ctx context.Context, n int) error {
	if j.place != nil {
		cached, err := j.s.batching.await(ctx, j.place, n)
		if !j.first && err == nil {
			j.cached = cached
			j.s.rec.update(func() { j.rec.CachedTokens = cached })
		}
		return err
	}
	var d time.Duration
	if rate := j.s.opt.TokensPerSecond; rate > 0 {
		d = time.Duration(float64(n) / rate * float64(time.Second))
	}
	if !j.first && !j.wasRead {
		d += j.s.opt.TimeToFirstToken
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return j.s.hold(ctx, timer.C)
}

// text returns the text of the tokens from..to.
func (j *job) text(from, to int) string {
	text := ""
	for _, part := range j.gen.texts[from:to] {
		text += part
	}
	return text
}

// whole answers without streaming. A fault with a place in a stream replaces the answer.
func (j *job) whole(ctx context.Context, w http.ResponseWriter) error {
	n := j.c.choices() * len(j.gen.ids)
	if err := j.enter(ctx); err != nil {
		return err
	}
	if refused, err := j.divide(ctx); err != nil {
		return err
	} else if refused != nil {
		j.s.refuse(w, j.rec, refused)
		return errEnded
	}
	if err := j.pace(ctx, n); err != nil {
		return err
	}
	body := j.s.kind.whole(j)
	switch j.fault.Kind {
	case FaultErrorEvent:
		j.s.refuse(w, j.rec, failure(500))
		return errEnded
	case FaultClose:
		return errCut
	case FaultReset:
		return errReset
	case FaultStall:
		return j.s.waitFor(ctx, nil)
	case FaultGarbage:
		body = invalidEvent
	case FaultNoFinish:
		w.Header().Set("Transfer-Encoding", "identity")
		body = body[:len(body)/2]
	}
	if j.fault.Kind != FaultNoFinish {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	j.s.head(w, j.rec, http.StatusOK, "application/json")
	out := j.s.output(ctx, w)
	if err := out.write(body); err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	j.sent(n)
	j.trailers(w)
	return nil
}

// list returns ids in the form for JSON: an empty list rather than null.
func list(ids []uint32) []uint32 {
	if ids == nil {
		return []uint32{}
	}
	return ids
}

var invalidEvent = []byte("data: {\"id\": \xff\xfe, not json\n\n")
