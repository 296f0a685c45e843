package relay

import (
	"context"
	"fmt"
	"mime"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// goOn reports whether the gateway is to be asked for the rest of a stream that was cut. If not, the stream ends with
// what has come of it.
func (x *exchange) goOn(ctx context.Context, cut error) (again bool, failure *openai.Error) {
	p := x.passing
	if ctx.Err() != nil {
		x.outcome = Left
		return false, nil
	}
	if x.handover.Again(ctx) {
		x.Log.Warn("a stream was cut; asking another server for the rest", "api", x.API.Name, "model",
			openai.Clip(x.Model, refusal.MaxLogged), "tokens", x.handover.Tokens(), "try", x.handover.Resumes(), "error", cut)
		p.handed = true
		return true, nil
	}
	return false, x.giveUp(cut)
}

// goOnRefused is goOn after the gateway has refused to go on.
func (x *exchange) goOnRefused(ctx context.Context, answer *http.Response) (again bool, failure *openai.Error) {
	cut := fmt.Errorf("the gateway answered %d", answer.StatusCode)
	if upstream.Recovers(answer.StatusCode) {
		return x.goOn(ctx, cut)
	}
	return false, x.giveUp(cut)
}

// giveUp ends a stream that no other server finishes.
func (x *exchange) giveUp(cut error) *openai.Error {
	p := x.passing
	x.Metrics.Resumed(x.API.Name, upstream.GivenUp)
	if p.showWaiting() != nil {
		return x.leave(errLeft)
	}
	if p.end == failed && cut == nil {
		x.outcome = Failed
		return nil
	}
	return x.cut(p, cut)
}

// move asks another server to go on with a stream whose server is drained, or whose model is asked for its answer. It
// returns its answer, or nil: then the stream goes on where it is.
func (x *exchange) move(ctx context.Context, why string) *http.Response {
	answer, err := x.Gateway.Open(ctx, x.question())
	switch {
	case err != nil:
	case !isStream(answer):
		answer.Body.Close()
		err = fmt.Errorf("the gateway answered %d", answer.StatusCode)
	default:
		x.Metrics.Resumed(x.API.Name, why)
		x.Log.Info(upstream.MovedText(why), "api", x.API.Name, "model", openai.Clip(x.Model, refusal.MaxLogged),
			"tokens", x.handover.Tokens())
		return answer
	}
	x.Log.Warn(upstream.StaysText(why), "api", x.API.Name, "model", openai.Clip(x.Model, refusal.MaxLogged), "error", err)
	return nil
}

// isStream reports whether an answer of the gateway is a stream.
func isStream(answer *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("content-type"))
	return answer.StatusCode == http.StatusOK && kind == "text/event-stream"
}
