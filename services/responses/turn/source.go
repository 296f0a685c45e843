package turn

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// source reads the events of one answer of the gateway's. Where the model's relay is resume, it gives them when it is
// known which tokens they are made of, and has another server go on when the answer is cut.
type source struct {
	t      *Turn
	body   []byte
	answer *http.Response
	reader *upstream.Reader
	// resumes reports whether the model's relay is resume. handover is nil if the answer is not handed over.
	resumes  bool
	handover *upstream.Handover
	// ready are events that come next, and waiting those for which there is no mark yet. size is theirs, in bytes.
	ready, waiting []upstream.Event
	size           int
	// err is why nothing comes after those that are ready.
	err error
}

// openSource asks the gateway for an answer. The source is the caller's to close.
func (t *Turn) openSource(ctx context.Context) (*source, *openai.Error) {
	s := &source{t: t, body: t.body(), resumes: t.settings.Model(t.Request.Model).Relay == contract.RelayResume}
	if s.resumes {
		s.handover = t.env.Gateway.NewHandover(t.share.Hold)
	}
	t.handed = s.handover != nil
	failure := s.ask(ctx)
	if failure != nil && t.isOlder(failure) {
		s.body = t.body()
		failure = s.ask(ctx)
	}
	for failure != nil && upstream.Lost(failure) && s.handover.Again(ctx) {
		failure = s.ask(ctx)
	}
	if failure != nil {
		return nil, failure
	}
	return s, nil
}

// ask asks the gateway, also for the rest of an answer.
func (s *source) ask(ctx context.Context) *openai.Error {
	q := s.t.question(contract.ResponsesPath, s.body)
	q.Handover = s.handover
	answer, failure := s.t.send(ctx, q) //nolint:bodyclose // close closes it, or the next call
	if failure != nil {
		return failure
	}
	if s.answer != nil {
		s.answer.Body.Close()
	}
	s.answer, s.reader = answer, upstream.NewReader(answer.Body)
	if s.handover != nil {
		s.handover.Begin()
		s.reader.WithMarks()
	}
	return nil
}

// close ends the answer.
func (s *source) close() {
	s.answer.Body.Close()
	s.t.share.Drop(s.handover.Size())
	s.t.handed = s.handover != nil && s.handover.Refused() == ""
}

// next returns the next event.
func (s *source) next(ctx context.Context) (upstream.Event, error) {
	for {
		if len(s.ready) > 0 {
			e := s.ready[0]
			s.ready = s.ready[1:]
			return e, nil
		}
		if s.err != nil {
			return upstream.Event{}, s.err
		}
		e, err := s.reader.Next()
		switch {
		case err != nil:
			s.lose(ctx, err)
		case e.Kind == upstream.KindMark:
			if s.handover.Take(e.Data) {
				s.release()
			}
			if why := s.handover.Moves(time.Now()); why != "" {
				s.move(ctx, why)
			}
		case !s.handover.Marked():
			if isLost(&e) {
				s.noteRefused()
			}
			return e, nil
		case isLost(&e):
			s.waiting = append(s.waiting, e)
			s.lose(ctx, io.EOF)
		case isLast(e.Kind):
			s.waiting = append(s.waiting, e)
			s.release()
		default:
			s.wait(e)
		}
	}
}

// wait keeps an event until the next mark.
func (s *source) wait(e upstream.Event) {
	if s.handover.Take(nil); s.size+len(e.Data) > upstream.MaxWaiting {
		s.handover.TooLarge()
	}
	s.waiting = append(s.waiting, e)
	if s.size += len(e.Data); !s.handover.Marked() {
		s.release()
	}
}

// release gives the events that have waited.
func (s *source) release() { s.ready, s.waiting, s.size = s.waiting, nil, 0 }

// lose has another server go on with an answer that was cut. If none can, what has come of it is given, and the cut.
func (s *source) lose(ctx context.Context, cut error) {
	if s.handover.Marked() && s.goOn(ctx, cut) {
		s.waiting, s.size = nil, 0
		return
	}
	s.noteRefused()
	s.release()
	s.err = cut
}

// noteRefused notes an answer that is lost because it cannot be handed over, if it is that.
func (s *source) noteRefused() {
	if reason := s.handover.Refused(); s.resumes && reason != "" {
		s.t.env.Metrics.Resumed(upstream.Refused)
		s.t.env.Log.Warn("an answer was cut that no other server can finish", "api", "responses", "response", s.t.ID,
			"model", s.t.Request.Model, "reason", reason)
	}
}

// goOn asks for the rest of an answer, and reports whether it comes.
func (s *source) goOn(ctx context.Context, cut error) bool {
	t := s.t
	if ctx.Err() != nil {
		return false
	}
	for s.handover.Again(ctx) {
		t.env.Log.Warn("an answer was cut; asking another server for the rest", "api", "responses", "response", t.ID,
			"model", t.Request.Model, "tokens", s.handover.Tokens(), "try", s.handover.Resumes(), "error", cut)
		failure := s.ask(ctx)
		if failure == nil {
			t.env.Metrics.Resumed(upstream.Resumed)
			return true
		}
		if !upstream.Recovers(failure.Status) {
			t.env.Log.Warn("the rest of an answer was refused", "api", "responses", "response", t.ID, "reason", failure.Message)
			break
		}
	}
	if ctx.Err() == nil {
		t.env.Metrics.Resumed(upstream.GivenUp)
	}
	return false
}

// move has another server go on with an answer whose server is drained, or whose model is asked for it. The answer stays
// where it is if none does.
func (s *source) move(ctx context.Context, why string) {
	t := s.t
	failure := s.ask(ctx)
	if failure != nil {
		t.env.Log.Warn(upstream.StaysText(why), "api", "responses", "response", t.ID, "model", t.Request.Model,
			"reason", failure.Message)
		return
	}
	t.env.Metrics.Resumed(why)
	t.env.Log.Info(upstream.MovedText(why), "api", "responses", "response", t.ID, "model", t.Request.Model,
		"tokens", s.handover.Tokens())
}

// isLast reports whether an event is a stream's last.
func isLast(kind string) bool {
	return kind == "response.completed" || kind == "response.incomplete" || kind == "response.failed"
}

// isLost reports whether an event ends an answer that the model's server has lost.
func isLost(e *upstream.Event) bool {
	if e.Kind != "response.failed" {
		return false
	}
	response, _ := rawjson.Find(e.Data, "response")
	failure, _ := rawjson.Find(response, "error")
	code, _ := rawjson.Find(failure, "code")
	return rawjson.View(code) == contract.CodeServerError
}
