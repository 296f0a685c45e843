package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// refusal is the endpoint of a request that is refused for its path, whatever the body says.
type refusal struct {
	x       *Exchange
	failure *openai.Error
}

func (g *Gateway) beginRefusal(api string, failure *openai.Error) *Exchange {
	x := g.newExchange(api)
	x.endpoint = &refusal{x: x, failure: failure}
	return x
}

func (r *refusal) head() RequestHead { return RequestHead{Reply: r.x.refuse(r.failure).Reply} }

func (r *refusal) request([]byte, Host) RequestAction { return r.x.refuse(r.failure) }

func (r *refusal) early() response { return r.x.earlyReply() }

// Misconfigured is a gateway whose configuration cannot be read. It answers every request for the API with an error:
// some of them would have been its own, some for servers that it does not know of, and none may go where another would
// have.
func Misconfigured() *Gateway { return &Gateway{misconfigured: true} }

// beginMisconfigured starts the exchange of a request that would be the gateway's, or could be, by any configuration.
func (g *Gateway) beginMisconfigured(path string) *Exchange {
	for i := range routes {
		if r := &routes[i]; r.method == "POST" && r.path == path {
			return g.beginRefusal(r.api, errMisconfigured())
		}
	}
	switch {
	case strings.HasPrefix(path, contract.ResponsesPath+"/"), strings.HasPrefix(path, contract.ConversationsPath):
		return g.beginRefusal(apiResponses, errMisconfigured())
	case strings.HasPrefix(path, contract.APIPrefix):
		return g.beginRefusal(apiOther, errMisconfigured())
	default:
		return nil
	}
}
