package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// APICompletions is the value of [Report.API] for the API of completions.
const APICompletions = "completions"

// The other values of [Report.API].
const (
	apiChat      = "chat"
	apiResponses = "responses"
	apiMessages  = "messages"
	apiTokens    = "tokens"
	apiModels    = "models"
	apiOther     = "other"
)

// route is one kind of request that the gateway handles.
type route struct {
	method string
	// path is a pattern as in [net/http.ServeMux]: {id} is one segment, {rest...} is everything that follows.
	path string
	// api is the value of [Report.API].
	api string
	// begin returns the endpoint, or nil for a request that the gateway does not handle. open is the result of match.
	begin func(x *Exchange, open string) endpoint
}

// routes are the gateway's routes. The first that matches counts.
var routes = [...]route{
	{"POST", contract.ChatPath, apiChat, beginChat},
	{"POST", contract.ResponsesPath, apiResponses, beginResponses},
	{"POST", contract.MessagesPath, apiMessages, beginMessages},

	{"POST", contract.CompactPath, apiResponses, beginCompact},

	{"POST", contract.InputTokensPath, apiTokens, beginInputTokens},
	{"POST", contract.CountTokensPath, apiTokens, beginCountTokens},
	{"POST", contract.TokenizePath, apiTokens, beginTokenize},
	{"POST", contract.DetokenizePath, apiTokens, beginDetokenize},

	{"GET", contract.TokenizerInfoPath, apiTokens, beginTokenizerInfo},

	{"GET", contract.ModelsPath, apiModels, beginModelList},
	{"GET", contract.ModelsPath + "/{name...}", apiModels, beginOneModel},

	{"GET", contract.ResponsesPath + "/{id}", apiResponses, beginStoredResponse},
	{"DELETE", contract.ResponsesPath + "/{id}", apiResponses, beginStoredResponse},
	{"POST", contract.ResponsesPath + "/{id}/cancel", apiResponses, beginStoredResponse},
	{"GET", contract.ResponsesPath + "/{id}/input_items", apiResponses, beginStoredResponse},
	{"GET", contract.ConversationsPath, apiResponses, beginConversations},
	{"POST", contract.ConversationsPath, apiResponses, beginConversations},
	{"DELETE", contract.ConversationsPath, apiResponses, beginConversations},
	{"GET", contract.ConversationsPath + "/{rest...}", apiResponses, beginConversations},
	{"POST", contract.ConversationsPath + "/{rest...}", apiResponses, beginConversations},
	{"DELETE", contract.ConversationsPath + "/{rest...}", apiResponses, beginConversations},

	{"POST", contract.CompletionsPath, APICompletions, beginCompletions},
	{"POST", "{path...}", APICompletions, beginServersOwn},

	// SGLang takes its own API's requests by PUT too (sglang/srt/entrypoints/http_server.py of 0.5.23).
	{"PUT", contract.CompletionsPath, APICompletions, beginCompletions},
	{"PUT", "{path...}", APICompletions, beginServersOwnPut},
}

// match reports whether a path fits the route. open is the part that the pattern leaves open, or the route's path if
// the pattern leaves nothing open.
func (r *route) match(path string) (open string, ok bool) {
	fixed, pattern, found := strings.Cut(r.path, "{")
	if !found {
		return fixed, path == fixed
	}
	open, ok = strings.CutPrefix(path, fixed)
	name, after, _ := strings.Cut(pattern, "}")
	if !ok || strings.HasSuffix(name, "...") {
		return open, ok
	}
	end := strings.IndexByte(open, '/')
	if end < 0 {
		end = len(open)
	}
	return open[:end], end > 0 && open[end:] == after
}

func (g *Gateway) newExchange(api string) *Exchange {
	return &Exchange{gateway: g, client: outlet{unheld: g.reduced}, report: Report{API: api}}
}

// Begin begins the exchange of a request. It returns nil for a request that the gateway does not handle. path may have
// a query.
func (g *Gateway) Begin(method, path string) *Exchange {
	path = pathOf(path)
	if g.misconfigured {
		return g.beginMisconfigured(path)
	}
	if ambiguous(path) || hasLowercase(method) && isUnder(resolved(path), apiRoots) {
		return g.beginRefusal(apiOther, errorFormOf(path), errBadPath())
	}
	for i := range routes {
		r := &routes[i]
		if r.method != method {
			continue
		}
		open, ok := r.match(path)
		if !ok {
			continue
		}
		x := g.newExchange(r.api)
		x.route = r.path
		if x.endpoint = r.begin(x, open); x.endpoint == nil {
			break
		}
		return x
	}
	if x := g.beginOtherMethod(method, path); x != nil {
		return x
	}
	if x := g.beginOtherMessages(method, path); x != nil {
		return x
	}
	return g.beginGuarded(path)
}

// beginOtherMethod begins the exchange of a request whose path the gateway has, but not with this method. It leaves the
// request to another server, if there is one, and returns nil for other paths.
func (g *Gateway) beginOtherMethod(method, path string) *Exchange {
	allow := methodOf(path)
	if allow == "" || allow == method || g.options.Passthrough || method == "OPTIONS" {
		return nil
	}
	x := g.newExchange(apiOther)
	x.form = errorFormOf(path)
	x.endpoint = &refusal{x: x, failure: errMethod(allow), allow: allow}
	return x
}

// methodOf returns the method of a path that takes only one, or "". What only a responses service has is left out: its
// paths may not be served at all. So is PUT, which few servers know.
func methodOf(path string) string {
	for i := range routes {
		r := &routes[i]
		if r.path == path && path != contract.CompactPath && path != contract.ConversationsPath {
			return r.method
		}
	}
	return ""
}
