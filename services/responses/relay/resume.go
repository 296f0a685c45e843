package relay

import (
	"context"
	"fmt"
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
