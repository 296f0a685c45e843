package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// refusal is the endpoint of a request that is refused for its path or headers, whatever the body says.
type refusal struct {
	x       *Exchange
	failure *openai.Error
	// upgrade is [Reply.Upgrade].
	upgrade string
}

func (g *Gateway) beginRefusal(api string, failure *openai.Error) *Exchange {
	x := g.newExchange(api)
	x.endpoint = &refusal{x: x, failure: failure}
	return x
}

func (r *refusal) head() RequestHead { return RequestHead{Reply: r.request(nil, Host{}).Reply} }

func (r *refusal) request([]byte, Host) RequestAction {
	action := r.x.refuse(r.failure)
	action.Reply.Upgrade = r.upgrade
	return action
}

func (r *refusal) early() response { return r.x.earlyReply() }

// BeginUpgrade is [Gateway.Begin] for a request that asks for another protocol on its connection, such as WebSocket, in
// a proxy that lets it through. What the gateway would take is refused, and so is GET at the paths that take a body:
// agents dial there, and such a request has no end.
func (g *Gateway) BeginUpgrade(method, path string) *Exchange {
	x := g.Begin(method, path)
	if x == nil && (method != "GET" || !takesBody(path)) {
		return nil
	}
	if x != nil {
		if _, refused := x.endpoint.(*refusal); refused {
			return x
		}
	}
	x = g.newExchange(apiOther)
	x.endpoint = &refusal{x: x, failure: errUpgrade(), upgrade: "HTTP/1.1"} // RFC 9110 wants the protocol to use named
	return x
}

// takesBody reports whether a path is one of those to which requests are sent by POST alone. path may have a query.
func takesBody(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for i := range routes {
		if r := &routes[i]; r.path == path {
			return r.method == "POST"
		}
	}
	return false
}

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
