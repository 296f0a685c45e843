package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Gateway is where models are asked. Unreachable returns the error of one that cannot be.
type Gateway interface {
	Open(ctx context.Context, q *upstream.Question) (*http.Response, error)
	Unreachable(err error) *openai.Error
	NewHandover(hold func(int64) error) *upstream.Handover
}

// Metrics count what relays do.
type Metrics interface {
	// Relayed counts a request that has ended, by how, and KeptAlive a sign of life.
	Relayed(api, outcome string)
	KeptAlive(api string)
	// Resumed counts a stream that was cut, by what became of it.
	Resumed(api, outcome string)
}

// The outcomes of requests that are passed on.
const (
	// Completed is an answer that came to its end. An error that the gateway has answered is one too.
	Completed = "completed"
	// Failed is a stream that its gateway has ended with an error, and Cut is one that was cut.
	Failed = "failed"
	Cut    = "cut"
	// Left is an answer whose client has left.
	Left = "left"
)

// Env is what relays need of the service around them.
type Env struct {
	Log     *slog.Logger
	Gateway Gateway
	Metrics Metrics
}

// Request is a request that is passed on.
type Request struct {
	API *API
	// URL is where the gateway takes it. Headers and Body are the client's.
	URL     string
	Headers http.Header
	Body    []byte
	Model   string
	// Stream reports whether the client wants a stream, and Retry whether an answer that is lost before its client has
	// seen any of it is asked for once more. Resume reports whether another server is to finish a stream that is cut.
	Stream, Retry, Resume bool
	// Hold takes memory for what is kept of such a stream.
	Hold func(int64) error
	// KeepAlive is how long a stream may be quiet before its client gets a sign of life, or 0.
	KeepAlive time.Duration
	// Sent is called when the body is needed no more.
	Sent func()
}

// exchange is a request that is being answered.
type exchange struct {
	*Env
	*Request
	client  *client
	outcome string
	// attempts is how often the gateway was asked.
	attempts int
	// passing is the stream, and handover what is kept of it so that another server can finish it, or nil.
	passing  *passing
	handover *upstream.Handover
}

// Answer answers a request. An error means that nothing has been written. It panics with [http.ErrAbortHandler] to cut
// an answer.
func (e *Env) Answer(ctx context.Context, w http.ResponseWriter, r *Request) *openai.Error {
	x := &exchange{Env: e, Request: r, outcome: Completed,
		client: &client{w: w, sign: r.API.sign, signed: func() { e.Metrics.KeptAlive(r.API.Name) }}}
	if r.Stream {
		x.client.every = r.KeepAlive
	}
	if r.Stream && r.Resume {
		x.handover = e.Gateway.NewHandover(r.Hold)
	}
	x.passing = &passing{api: r.API, client: x.client, handover: x.handover,
		move: func(why string) *http.Response { return x.move(ctx, why) }}
	defer func() { e.Metrics.Relayed(r.API.Name, x.outcome) }()
	defer x.client.rest()
	x.client.live()
	for {
		again, failure := x.attempt(ctx)
		if !again {
			return failure
		}
		if !x.passing.handed {
			e.Log.Warn("an answer was lost before its client saw any of it; asking once more", "api", r.API.Name, "model",
				openai.Clip(r.Model, refusal.MaxLogged))
		}
	}
}

// question returns the question for the gateway.
func (x *exchange) question() *upstream.Question {
	q := &upstream.Question{URL: x.URL, Headers: x.Headers, Body: x.Body, Handover: x.handover}
	if !x.Retry && len(x.Body) >= minSpent {
		q.Reader, q.Size = &once{left: x.Body, spent: x.Sent}, int64(len(x.Body))
		q.Body, x.Body = nil, nil
	}
	return q
}

// attempt asks the gateway once. It reports whether it is to be asked again.
func (x *exchange) attempt(ctx context.Context) (again bool, failure *openai.Error) {
	x.attempts++
	answer, err := x.Gateway.Open(ctx, x.question())
	if err != nil {
		if x.passing.handed {
			return x.goOn(ctx, err)
		}
		return false, x.refuse(ctx, x.Gateway.Unreachable(err), nil)
	}
	defer answer.Body.Close()
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("content-type"))
	if x.passing.handed && (answer.StatusCode != http.StatusOK || kind != "text/event-stream") {
		return x.goOnRefused(ctx, answer)
	}
	if answer.StatusCode != http.StatusOK {
		return x.refused(ctx, answer)
	}
	if kind != "text/event-stream" {
		return x.passWhole(answer)
	}
	return x.passStream(ctx, answer)
}

// mayAsk reports whether the gateway may be asked again for an answer that was lost.
func (x *exchange) mayAsk(ctx context.Context) bool {
	return x.Retry && x.attempts == 1 && ctx.Err() == nil
}

// passStream passes a stream on.
func (x *exchange) passStream(ctx context.Context, answer *http.Response) (again bool, failure *openai.Error) {
	x.client.answered(answer.Header)
	p := x.passing
	if p.handed {
		x.Metrics.Resumed(x.API.Name, upstream.Resumed)
	}
	p.begin(x.Retry && x.attempts == 1)
	err := p.pass(ctx, answer.Body)
	first := answer // its caller closes it
	defer func() {
		if answer != first {
			answer.Body.Close()
		}
	}()
	for errors.Is(err, errMoved) {
		answer.Body.Close()
		answer = p.moved
		p.begin(false)
		err = p.pass(ctx, answer.Body)
	}
	switch {
	case errors.Is(err, errLeft):
		x.outcome = Left
		return false, nil
	case p.end == whole: // what comes after the end, a reset too, means nothing
	case p.handover.Marked():
		return x.goOn(ctx, err)
	case !p.shown && x.mayAsk(ctx) && (err != nil || p.end == failed):
		return true, nil
	case p.end == failed && err == nil:
		x.outcome = Failed
	default:
		return false, x.cut(p, err)
	}
	if p.shown {
		return false, nil
	}
	return false, x.leave(p.show(nil))
}

// leave notes that the client has left, if it has.
func (x *exchange) leave(err error) *openai.Error {
	if err != nil {
		x.outcome = Left
	}
	return nil
}

// cut ends a stream that was cut, or failed before that.
func (x *exchange) cut(p *passing, err error) *openai.Error {
	if reason := p.handover.Refused(); x.Stream && x.Resume && reason != "" {
		x.Metrics.Resumed(x.API.Name, upstream.Refused)
		x.Log.Warn("a stream was cut that no other server can finish", "api", x.API.Name, "model",
			openai.Clip(x.Model, refusal.MaxLogged), "reason", reason)
	}
	x.outcome = Cut
	if p.end == failed {
		x.outcome = Failed // the cut follows the event of the failure
	} else {
		x.Log.Warn("a stream was cut", "api", x.API.Name, "model", openai.Clip(x.Model, refusal.MaxLogged), "error", err)
	}
	if !p.shown && !x.client.rest() { // nothing has been sent, so it can still be a status
		return refusal.AnswerCut()
	}
	if p.partial { // an event would become a part of the one that was cut
		panic(http.ErrAbortHandler)
	}
	last := []byte(nil)
	if p.end != failed {
		last = x.API.appendFailure(nil, refusal.AnswerCut())
	}
	if p.show(last) != nil {
		return x.leave(errLeft)
	}
	if x.API.cuts {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// maxErrorSize is how much is read of an error.
const maxErrorSize = 1 << 20

// refused passes an error on.
func (x *exchange) refused(ctx context.Context, answer *http.Response) (again bool, failure *openai.Error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxErrorSize))
	if err != nil {
		return false, x.refuse(ctx, x.Gateway.Unreachable(err), nil)
	}
	if x.mayAsk(ctx) && x.API.lost(answer.StatusCode, body) {
		return true, nil
	}
	if begun := x.client.rest(); !begun {
		passHeaders(x.client.w.Header(), answer.Header)
		x.client.w.Header().Del("content-length")
		x.client.w.WriteHeader(answer.StatusCode)
		x.client.w.Write(body)
		return false, nil
	}
	failure = openaiError(answer.StatusCode, body)
	failure.RetryAfter = answer.Header.Get("retry-after")
	return false, x.refuse(ctx, failure, x.API.told(body))
}

// refuse ends the stream with an error, if it has begun. event is how the gateway has spelled it, or nil.
func (x *exchange) refuse(ctx context.Context, failure *openai.Error, event []byte) *openai.Error {
	begun := x.client.rest()
	if x.outcome = Failed; ctx.Err() != nil {
		x.outcome = Left
	}
	if !begun {
		return failure
	}
	if event == nil {
		event = x.API.appendFailure(nil, failure.InStream())
	}
	if x.client.write(event) == nil && x.API.cuts {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// passWhole passes an answer on that is no stream.
func (x *exchange) passWhole(answer *http.Response) (again bool, failure *openai.Error) {
	if begun := x.client.rest(); begun { // a stream was asked for, and the client has its headers
		return false, x.refuse(context.Background(), refusal.AnswerCut(), nil)
	}
	passHeaders(x.client.w.Header(), answer.Header)
	x.client.w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(x.client.w, answer.Body); err != nil {
		x.outcome = Cut
		panic(http.ErrAbortHandler) // the client sees that it was cut
	}
	return false, nil
}

// openaiError returns the error that the gateway has answered with a status and a body.
func openaiError(status int, body []byte) *openai.Error {
	e := &openai.Error{Status: status, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: fmt.Sprintf("The gateway answered %d.", status)}
	var known struct {
		Error struct{ Message, Type, Param, Code *string } `json:"error"`
	}
	if json.Unmarshal(body, &known) != nil || known.Error.Message == nil {
		return e
	}
	e.Message = *known.Error.Message
	for _, member := range []struct {
		from *string
		to   *string
	}{{known.Error.Type, &e.Type}, {known.Error.Param, &e.Param}, {known.Error.Code, &e.Code}} {
		if *member.to = ""; member.from != nil {
			*member.to = *member.from
		}
	}
	return e
}
