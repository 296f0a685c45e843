package responses

import (
	"net/http"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/relay"
)

// bodyCopies is how many copies there are of a body that is passed on: as it grows, and as it is sent.
const bodyCopies = 2

// relayed returns the handler of requests for an API that are passed on to the gateway. They come here because the
// model's configuration asks for it.
func (s *Service) relayed(api *relay.API) handler {
	return func(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
		body, failure := s.readBody(w, r, c, bodyCopies)
		if failure != nil {
			return failure
		}
		return s.passOn(api, w, r, c, body)
	}
}

// passOn passes a request on.
func (s *Service) passOn(api *relay.API, w http.ResponseWriter, r *http.Request, c *input.Caller,
	body []byte) *openai.Error {
	if _, err := rawjson.Count(body, rawjson.MaxDepth, len(body)); err != nil {
		// The gateway has let it pass, or has not seen it.
		return refusal.Bad(contract.CodeInvalidJSON, "", "The body cannot be read: "+err.Error()+".")
	}
	name, _ := rawjson.Find(body, "model")
	stream, _ := rawjson.Find(body, "stream")
	c.Model = rawjson.Unescape(name)
	sent, returned := spender(c, bodyCopies*int64(len(body)))
	defer returned()
	how := c.Settings.Model(c.Model).Relay
	return s.relays.Answer(r.Context(), w, &relay.Request{
		API: api, URL: c.Settings.Gateway + r.URL.RequestURI(), Headers: c.Headers, Body: body, Model: c.Model,
		Stream: rawjson.View(stream) == "true", Retry: how == contract.RelayRetry || how == contract.RelayResume,
		Resume: how == contract.RelayResume, Hold: c.Share.Hold,
		KeepAlive: c.Settings.KeepAliveOf(c.Model), Sent: sent,
	})
}

// spender returns what gives the memory of a body back, unless the request has ended by then, and what ends the
// request. The connection to the gateway may send a body until then, and beyond.
func spender(c *input.Caller, size int64) (sent, returned func()) {
	var mu sync.Mutex
	ended := false
	return func() {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				c.Share.Drop(size)
			}
		}, func() {
			mu.Lock()
			defer mu.Unlock()
			ended = true
		}
}
