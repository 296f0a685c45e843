package xds

import (
	"time"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// queuedFor returns the longest time for which a request may wait in the pool's queue, or 0 if it has none.
func (b *builder) queuedFor(p *config.ResolvedPool) time.Duration {
	return p.Longest(b.config.Clients.Classes)
}

// allowQueues lets pickers ask for more time for a request that waits. A picker that is silent still has the time of
// [builder.pickerTimeout] only.
func (b *builder) allowQueues(to *procv3.ExternalProcessor) {
	longest := time.Duration(0)
	for _, p := range b.usedPools() {
		longest = max(longest, b.queuedFor(p))
	}
	if longest > 0 {
		to.MaxMessageTimeout = durationpb.New(longest)
		// The rules hold for the headers of refusals too.
		to.MutationRules.AllowExpression.Regex = contract.DestinationHeader + "|retry-after"
	}
}

// queueBreaker is how many times the capacity of its servers a pool with a queue may have of requests. What the queue
// admits is never refused: a server that goes still has its requests while others get theirs. It bounds what comes at
// once when a picker dies, and Envoy sends on what it has held.
const queueBreaker = 2

// queueReplies returns the rules for requests that a queue has refused. The picker has said when to try again.
func queueReplies() []LocalReply {
	return []LocalReply{
		{
			Details: []string{contract.QueueFull},
			message: "The inference servers are at their limit, and too many requests wait for them. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerOverloaded,
		},
		{
			Details: []string{contract.QueueShare},
			message: "Too many of this client's requests wait for the inference servers. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerOverloaded,
		},
		{
			Details: []string{contract.QueueLate},
			message: "The inference servers had no room for the request in the time that it could wait. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerOverloaded,
		},
		{
			Details: []string{contract.QueueUnserved},
			message: "No inference server was ready in the time that the request could wait. Try again later.",
			kind:    contract.ServerErrorType, code: contract.CodeServerUnavailable,
		},
	}
}
