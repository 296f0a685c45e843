package responses

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/messages"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/relay"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
)

// This file answers requests of Anthropic's Messages API whose tools the service runs. Nothing of them is stored.

// createMessage answers with a message. A request without such tools came here for its model's relay.
func (s *Service) createMessage(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
	body, failure := s.readBody(w, r, c, bodyCopies)
	if failure != nil {
		return failure
	}
	showRequestID(w, r) // a relayed stream that begins with pings has no other
	if !hasServedTools(body) {
		return s.passOn(relay.Messages, w, r, c, body)
	}
	if c.Share.Hold((quota.Copies-bodyCopies)*int64(len(body))) != nil {
		return refusal.Overloaded("no memory for another request now")
	}
	if failure := c.PayFor(body); failure != nil {
		return failure
	}
	t, request, explain, failure := s.beginMessage(r.Context(), c, body, false)
	if failure != nil {
		return failure
	}
	if request.Stream {
		return explain(s.streamMessage(r.Context(), w, t, request))
	}
	return explain(s.wholeMessage(r.Context(), w, t, request))
}

// hasServedTools reports whether a request has tools that a server runs. What is wrong with it is reported later.
func hasServedTools(body []byte) bool {
	opened, failure := openai.OpenUnnamed(body, openai.MaxValues)
	return failure == nil && anthropic.NeedsService(opened)
}

// countMessage answers with the number of tokens that the prompt of a message would have.
func (s *Service) countMessage(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
	body, failure := s.body(w, r, c)
	if failure != nil {
		return failure
	}
	showRequestID(w, r)
	t, _, explain, failure := s.beginMessage(r.Context(), c, body, true)
	if failure != nil {
		return failure
	}
	answer, failure := t.Count(r.Context())
	if failure != nil {
		return explain(failure)
	}
	defer answer.Body.Close()
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxCount)).Decode(&count); err != nil {
		return s.env.Gateway.Unreachable(err)
	}
	return writeJSON(w, anthropic.AppendInputTokens(nil, count.Tokens))
}

// maxCount is the longest answer with a count of tokens, in bytes.
const maxCount = 64 << 10

// beginMessage reads a request. explain says an error of a later time in the words of the client's API.
func (s *Service) beginMessage(ctx context.Context, c *input.Caller, body []byte, counting bool) (t *turn.Turn,
	request *messages.Request, explain func(*openai.Error) *openai.Error, failure *openai.Error) {
	size := len(body)
	if request, failure = messages.Read(body, c, counting); failure != nil {
		return nil, nil, nil, failure
	}
	explain = func(e *openai.Error) *openai.Error {
		if e == nil {
			return nil
		}
		return request.Explain(e, c.Settings, size)
	}
	if t, failure = s.env.New(request.Response, c); failure != nil {
		return nil, nil, nil, explain(failure)
	}
	if failure = request.Narrow(t.Hosted()); failure == nil {
		failure = t.ReadInput(ctx, c, &store.Past{Items: request.Past})
	}
	t.Unveil()
	return t, request, explain, explain(failure)
}

// streamMessage answers with events.
func (s *Service) streamMessage(ctx context.Context, w http.ResponseWriter, t *turn.Turn,
	request *messages.Request) *openai.Error {
	flush, begun := http.NewResponseController(w), false
	writer := request.NewWriter(t.ID, func(events []byte) error {
		if !begun {
			w.Header().Set("content-type", "text/event-stream")
			w.Header().Set("cache-control", "no-cache")
			begun = true
		}
		if _, err := w.Write(events); err != nil {
			return err
		}
		return flush.Flush()
	})
	return t.Deliver(ctx, writer.Take, func(*turn.Outcome) *openai.Error { return nil })
}

// wholeMessage answers with the whole message. Clients repeat a request that has failed for a while, so one whose tools
// have run asks them not to: the tools would run twice.
func (s *Service) wholeMessage(ctx context.Context, w http.ResponseWriter, t *turn.Turn,
	request *messages.Request) *openai.Error {
	writer := request.NewWriter(t.ID, nil)
	end, failure := t.Run(ctx, writer.Take)
	if failure != nil {
		return failure
	}
	s.metrics.Finished(end.Status)
	if failure = t.Failure(end); failure != nil {
		if t.RanTools() {
			w.Header().Set(anthropic.RetryHeader, "false")
		}
		return failure
	}
	for _, e := range t.LastEvents(end) {
		if err := writer.Take(e); err != nil {
			return s.env.Gateway.Unreachable(err)
		}
	}
	return writeJSON(w, writer.Message())
}

// requestIDHeader has the proxy's name of a request.
const requestIDHeader = "x-request-id"

// showRequestID puts the name of the request into the answer's head, and returns it. It is empty if there is none that
// answers repeat.
func showRequestID(w http.ResponseWriter, r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if id == "" || len(id) > refusal.MaxLogged {
		return ""
	}
	w.Header().Set(anthropic.RequestIDHeader, id)
	return id
}
