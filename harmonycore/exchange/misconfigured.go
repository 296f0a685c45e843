package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Misconfigured is a gateway whose configuration cannot be read. It answers every request for the API with an error: some
// of them would have been its own, some for servers that it does not know of, and none may go where another would have.
func Misconfigured() *Gateway { return &Gateway{misconfigured: true} }

// beginMisconfigured starts the exchange of a request that would be ours, or could be, by any configuration.
func (g *Gateway) beginMisconfigured(path string) *Exchange {
	k, ok := kindAt(path)
	switch {
	case ok:
	case strings.HasPrefix(path, contract.ResponsesPath+"/"), strings.HasPrefix(path, contract.ConversationsPath):
		k = stored
	case strings.HasPrefix(path, contract.APIPrefix):
		k = undecided
	default:
		return nil
	}
	return &Exchange{gateway: g, kind: k, state: reading}
}
