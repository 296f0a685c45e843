package exchange

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// refusal is the endpoint of a request that is refused for its path or its headers, whatever its body.
type refusal struct {
	x       *Exchange
	failure *openai.Error
	// upgrade is the value of [Reply.Upgrade].
	upgrade string
	// allow is the method that the path takes, if the request has another one.
	allow string
}

func (g *Gateway) beginRefusal(api string, form errorForm, failure *openai.Error) *Exchange {
	x := g.newExchange(api)
	x.form = form
	x.endpoint = &refusal{x: x, failure: failure}
	return x
}

func (r *refusal) head() RequestHead { return RequestHead{Reply: r.request(nil, Host{}).Reply} }

func (r *refusal) request([]byte, Host) RequestAction {
	action := r.x.refuse(r.failure)
	action.Reply.Upgrade = r.upgrade
	if r.allow != "" {
		action.Reply.Headers = append(action.Reply.Headers, Header{"allow", r.allow})
	}
	return action
}

func (r *refusal) early() response { return r.x.earlyReply() }

// BeginUpgrade begins the exchange of a request for another protocol on its connection, such as WebSocket, in a proxy
// that allows such upgrades. protocol is the protocol's name. It refuses whatever the gateway would take, but for the
// WebSocket mode of the responses service. It also refuses GET on the paths that take a body: agents connect there, and
// such a request never ends.
func (g *Gateway) BeginUpgrade(method, path, protocol string) *Exchange {
	x := g.Begin(method, path)
	if x == nil && (method != "GET" || !takesBody(path)) {
		return nil
	}
	if x != nil {
		switch e := x.endpoint.(type) {
		case *refusal:
			if e.allow == "" {
				return x
			}
		case *guarded:
			if method != "GET" || !takesBody(path) {
				return x
			}
		}
	}
	x = g.newExchange(apiOther)
	if method == "GET" && pathOf(path) == contract.ResponsesPath && protocol == "websocket" &&
		g.options.ResponsesService.WebSocket {
		x.endpoint = &connection{x: x}
		return x
	}
	x.endpoint = refusedUpgrade(x)
	return x
}

func refusedUpgrade(x *Exchange) *refusal {
	return &refusal{x: x, failure: errUpgrade(), upgrade: "HTTP/1.1"} // RFC 9110 requires the protocol's name
}

// pathOf returns a path without its query.
func pathOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}

// takesBody reports whether requests to a path are sent by POST only. path may have a query.
func takesBody(path string) bool {
	path = pathOf(path)
	for i := range routes {
		if r := &routes[i]; r.path == path {
			return r.method == "POST"
		}
	}
	return false
}

// Misconfigured returns a gateway whose configuration cannot be read. It answers every request for the API with an
// error. Some of the requests would have been its own, some for servers that it does not know, and none may be sent
// where another would have been.
func Misconfigured() *Gateway { return &Gateway{misconfigured: true} }

// beginMisconfigured begins the exchange of a request that would be, or could be, the gateway's by some configuration.
func (g *Gateway) beginMisconfigured(path string) *Exchange {
	for i := range routes {
		if r := &routes[i]; r.method == "POST" && r.path == path {
			return g.beginRefusal(r.api, errorFormOf(path), errMisconfigured())
		}
	}
	switch {
	case strings.HasPrefix(path, contract.ResponsesPath+"/"), strings.HasPrefix(path, contract.ConversationsPath):
		return g.beginRefusal(apiResponses, openaiForm, errMisconfigured())
	case strings.HasPrefix(path, contract.APIPrefix):
		return g.beginRefusal(apiOther, errorFormOf(path), errMisconfigured())
	case slices.Contains(rawRoots, path):
		return g.beginRefusal(APICompletions, openaiForm, errMisconfigured())
	default:
		return nil
	}
}
