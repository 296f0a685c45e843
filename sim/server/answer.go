package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
)

// Job is one accepted completion.
type Job struct {
	Server *Server
	// Asked is the request, and Answer the whole answer.
	Asked  *Completion
	Answer Generation
	// ID is the answer's. Created is when the request came, in seconds since 1970.
	ID      string
	Created int64
	// Cached is how many tokens of the prompt were in the cache.
	Cached int

	rec       *Request
	fault     Fault
	chunks    []int
	startedAt time.Time
	running   bool   // it has a slot
	first     bool   // the first token has been sent
	wasRead   bool   // the prompt has been read: no time is needed for it any more
	tokensOut int    // tokens that have been sent
	forced    bool   // the only answer that the tag allows, which neither script nor pace changes
	begun     int    // tokens of a script's answer that the prompt ends with
	place     *place // in an engine that computes batches, or nil
}

// accept chooses the answer to a request that decode has accepted.
func (s *Server) accept(h http.Header, c *Completion, rec *Request) (*Job, *Refusal) {
	p, err := gptoss.ReadPrompt(s.Tokenizer, c.IDs)
	if err != nil && !s.Options.AnyPrompt {
		return nil, BadRequest("prompt", "The prompt is not well-formed Harmony: "+err.Error())
	}
	j := &Job{Server: s, Asked: c, rec: rec, fault: s.Options.Fault, ID: s.kind.AnswerID(h, c), startedAt: time.Now(),
		Created: time.Now().Unix()}
	if p != nil {
		p.Declared = c.Declared
	}
	var generated []uint32
	atEnd := ""
	if only, forced := c.Holds.Only(); forced {
		j.forced = true
		generated = append(s.Tokenizer.AppendEncodeSpecial(nil, only), tokenizer.Return)
		s.rec.forget(rec)
	} else if line, ok := s.Options.Script.pick(s.Tokenizer.DecodeString(c.IDs)); ok {
		j.begun = line.begun(c.IDs)
		generated, atEnd, j.chunks = line.Tokens[j.begun:], line.Finish, line.Chunks
		// A model could not have written it: either the script or the tag is wrong.
		if err := c.Holds.CheckAnswer(s.Tokenizer, generated); err != nil {
			return nil, BadRequest("structured_outputs", "The script does not keep to the structural tag: "+err.Error())
		}
		if line.Fault != nil && j.begun == 0 {
			j.fault = *line.Fault
		}
	} else if err != nil {
		a := &gptoss.Writer{Tokenizer: s.Tokenizer}
		a.Special(tokenizer.Channel)
		a.Text("final")
		a.Special(tokenizer.Message)
		a.Text("This prompt is not Harmony.")
		a.Special(tokenizer.Return)
		generated = a.IDs
	} else if generated, ok = gptoss.AnswerUnder(s.Tokenizer, p, c.Holds); !ok {
		return nil, BadRequest("structured_outputs",
			"The simulated model has nothing to say that keeps to the structural tag.")
	}
	if f := h.Get("x-sim-fault"); f != "" && s.Options.AllowHeaders {
		if j.fault, err = ParseFault(f); err != nil {
			return nil, BadRequest("x-sim-fault", err.Error())
		}
	}
	j.Answer = generate(s.Tokenizer, c, c.applyThinkingBudget(s.Tokenizer, generated), atEnd)
	if j.fault.Kind == FaultAbort {
		j.Answer.abort(j.fault.After)
	}
	if s.batching != nil && !s.batching.fits(j) {
		return nil, BadRequest("prompt", "The cache of this server does not hold the prompt and its answer.")
	}
	if s.batching == nil && !j.forced {
		j.Cached = s.cache.read(j.salt(), c.IDs)
	}
	s.rec.update(func() {
		rec.ID, rec.Stream, rec.PromptIDs, rec.CachedTokens = j.ID, c.Streams(), c.IDs, j.Cached
		rec.SampledIDs = j.Answer.IDs
	})
	return j, nil
}

// salt keeps what the cache holds of the request apart from what it holds with other salts.
func (j *Job) salt() string {
	if j.Asked.CacheSalt == nil {
		return ""
	}
	return *j.Asked.CacheSalt
}

// serve runs the job and accounts for it, whatever its end.
func (j *Job) serve(w http.ResponseWriter, r *http.Request) {
	s := j.Server
	switch j.fault.Kind {
	case FaultStatus:
		refused := failure(j.fault.Status)
		refused.retryAfter = j.fault.RetryAfter
		s.Refuse(w, j.rec, refused)
		return
	case FaultError200:
		s.Respond(w, j.rec, http.StatusOK, s.kind.Refusal(failure(500)))
		return
	}
	if j.forced && j.fault.Kind == NoFault {
		j.tell(w)
		return
	}
	defer j.leave()
	var err error
	switch {
	case j.fault.Kind == FaultDrop:
		err = errCut
	case j.fault.Kind == FaultMute:
		err = s.waitFor(r.Context(), nil)
	case j.Asked.Streams():
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

// tell sends an answer at once, which takes no place in the engine. It is for an answer that the request's tag
// dictates: gateways ask for one to find out what a server does with tags, beside the requests that a test is about.
func (j *Job) tell(w http.ResponseWriter) {
	s, n := j.Server, len(j.Answer.IDs)
	if !j.Asked.Streams() {
		s.Respond(w, j.rec, http.StatusOK, s.kind.Whole(j))
		return
	}
	s.Head(w, j.rec, http.StatusOK, s.kind.StreamType())
	body := s.kind.Leading(j)
	for i := range j.Asked.Choices() {
		body = append(body, s.kind.Event(j, i, 0, n)...)
	}
	_, _ = w.Write(append(append(body, s.kind.Trailing(j)...), s.kind.Terminator()...)) // the client may have left
}

// enter waits for a free slot and counts the prompt as read.
func (j *Job) enter(ctx context.Context) error {
	n := len(j.Asked.IDs)
	if j.Server.batching != nil {
		j.place = j.Server.batching.enter(j)
		j.Server.Metrics.with(func(m *Metrics) { m.prompt += n })
		return nil
	}
	if err := j.Server.admit(ctx); err != nil {
		return err
	}
	j.running = true
	j.Server.Metrics.with(func(m *Metrics) {
		m.prompt += n
		m.queries += n
		m.hits += j.Cached
		m.kvTokens += n
	})
	return nil
}

func (j *Job) leave() {
	if j.place != nil {
		j.Server.batching.leave(j.place)
	}
	if j.running {
		j.Server.release()
		j.Server.Metrics.with(func(m *Metrics) { m.kvTokens -= len(j.Asked.IDs) + j.tokensOut })
	}
}

// The errors of streams that a fault ends.
var (
	errCut   = errors.New("cut by a fault")
	errReset = errors.New("reset by a fault")
	errEnded = errors.New("ended by a fault")
)

func (j *Job) end(err error) {
	finish := j.Answer.Finish
	switch {
	case errors.Is(err, errClientGone):
		finish = "abort"
	case err != nil:
		finish = "error"
	}
	j.Server.rec.update(func() {
		j.rec.Aborted = errors.Is(err, errClientGone)
		j.rec.Finish = finish
	})
	j.Server.Metrics.with(func(m *Metrics) {
		m.finished[finish]++
		if err == nil {
			m.e2e.observe(time.Since(j.startedAt))
		}
	})
}

// sent counts n tokens that have been written.
func (j *Job) sent(n int) {
	j.Server.rec.update(func() { j.rec.TokensSent += n })
	j.Server.Metrics.with(func(m *Metrics) {
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
func (j *Job) pace(ctx context.Context, n int) error {
	if j.place != nil {
		cached, err := j.Server.batching.await(ctx, j.place, n)
		if !j.first && err == nil {
			j.Cached = cached
			j.Server.rec.update(func() { j.rec.CachedTokens = cached })
		}
		return err
	}
	var d time.Duration
	if rate := j.Server.Options.TokensPerSecond; rate > 0 {
		d = time.Duration(float64(n) / rate * float64(time.Second))
	}
	if !j.first && !j.wasRead {
		d += j.Server.Options.TimeToFirstToken
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return j.Server.hold(ctx, timer.C)
}

// Text returns the text of the tokens from..to.
func (j *Job) Text(from, to int) string {
	text := ""
	for _, part := range j.Answer.Texts[from:to] {
		text += part
	}
	return text
}

// whole answers without streaming. A fault with a place in a stream replaces the answer.
func (j *Job) whole(ctx context.Context, w http.ResponseWriter) error {
	n := j.Asked.Choices() * len(j.Answer.IDs)
	if err := j.enter(ctx); err != nil {
		return err
	}
	if refused, err := j.divide(ctx); err != nil {
		return err
	} else if refused != nil {
		j.Server.Refuse(w, j.rec, refused)
		return errEnded
	}
	if err := j.pace(ctx, n); err != nil {
		return err
	}
	body := j.Server.kind.Whole(j)
	switch j.fault.Kind {
	case FaultErrorEvent, FaultEngineDead:
		j.Server.Refuse(w, j.rec, j.fault.refusal())
		return errEnded
	case FaultClose:
		return errCut
	case FaultReset:
		return errReset
	case FaultStall:
		return j.Server.waitFor(ctx, nil)
	case FaultGarbage:
		body = invalidEvent
	case FaultNoFinish:
		w.Header().Set("Transfer-Encoding", "identity")
		body = body[:len(body)/2]
	}
	if j.fault.Kind != FaultNoFinish {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	j.Server.Head(w, j.rec, http.StatusOK, "application/json")
	out := j.Server.output(ctx, w)
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

// List returns ids in the form for JSON: an empty list rather than null.
func List(ids []uint32) []uint32 {
	if ids == nil {
		return []uint32{}
	}
	return ids
}

var invalidEvent = []byte("data: {\"id\": \xff\xfe, not json\n\n")
