//go:build e2e

package books

import "testing"

// counted is what one side has counted of a request.
type counted struct {
	prompt, completion int64
	// whole reports whether the answer was sent to its end.
	whole bool
}

// served returns what the servers have counted of each request, by its id.
func (f *fleet) served() map[string]counted {
	all := map[string]counted{}
	for _, s := range f.servers {
		for _, r := range s.Requests() {
			id := r.Header.Get("x-request-id")
			if r.PromptIDs == nil || int64(r.TokensSent) < all[id].completion { // of one that died, another server took over
				continue
			}
			all[id] = counted{prompt: int64(len(r.PromptIDs)), completion: int64(r.TokensSent),
				whole: r.Done && !r.Aborted && r.Finish != "error"}
		}
	}
	return all
}

// checkServers holds what the access log tells of each request against what the servers have counted themselves: of
// whole answers the same to the token, and of answers that were cut not more.
func (f *fleet) checkServers(t *testing.T, w *told) {
	t.Helper()
	var whole, cut, wholeTokens, cutTokens, lost, unread int64
	servers := f.served()
	for id, log := range w.answers {
		server, ok := servers[id]
		switch {
		case !ok && !log.whole && log.completion == 0:
			unread++ // the client left, or the server died, while Envoy sent it
		case !ok:
			t.Errorf("no server knows the request %s", id)
		case log.prompt != server.prompt:
			t.Errorf("the server has read %d tokens of %s, and the log says %d", server.prompt, id, log.prompt)
		case log.whole && server.whole && log.completion != server.completion:
			t.Errorf("the server has sent %d tokens for %s, and the log says %d", server.completion, id, log.completion)
		case log.completion > server.completion:
			t.Errorf("the server has sent %d tokens for %s, which was cut, and the log says %d", server.completion, id,
				log.completion)
		case log.whole:
			whole, wholeTokens = whole+1, wholeTokens+log.prompt+log.completion
		default:
			cut, cutTokens, lost = cut+1, cutTokens+log.prompt+log.completion, lost+server.completion-log.completion
		}
	}
	t.Logf("the servers themselves have counted the same: %d tokens of %d whole answers; of %d cut ones they have counted "+
		"%d, and sent %d more that no client waited for; %d were cut before a server had read them", wholeTokens, whole, cut,
		cutTokens, lost, unread)
	if whole == 0 || cut == 0 {
		t.Error("there are not both whole and cut answers")
	}
}
