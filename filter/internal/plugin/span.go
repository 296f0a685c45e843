package plugin

import (
	"strconv"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// The host ends the span of a request before it says that the stream is done. So the span gets its fields earlier: what
// it is when the request has been read, and the rest at the end of the answer. The span of the call of the server ends
// before the filter sees the end of its answer. So counts of tokens are in one span only, the span of the client's
// request.

// beginSpan describes a request that has been read.
func (s *stream) beginSpan() {
	if !s.plugin.traced || s.exchange == nil {
		return
	}
	report := s.exchange.Report()
	s.plugin.vm.describeRequest(&report)
	setState(contract.LogStatePrefix+contract.SpanConversation, report.Conversation)
	if route := s.exchange.Route(); route != "" {
		setState(contract.LogStatePrefix+contract.SpanRoute, route)
	} else {
		s.plugin.otherSpan()
	}
	switch {
	case !report.Translated && !report.Untranslated: // it asks no model
	case report.API == exchange.APICompletions:
		setState(contract.LogStatePrefix+contract.SpanOperation, contract.OperationCompletion)
	default:
		setState(contract.LogStatePrefix+contract.SpanOperation, contract.OperationChat)
	}
}

// otherSpan describes a request that the filter does not handle.
func (p *plugin) otherSpan() {
	if p.traced {
		setState(contract.LogStatePrefix+contract.SpanRoute, contract.SpanOtherRoute)
	}
}

// endSpan describes a request whose answer ends now.
func (s *stream) endSpan() {
	if !s.plugin.traced || s.exchange == nil {
		return
	}
	s.noteServer()
	report := s.exchange.Report()
	s.plugin.vm.describe(&report)
	if report.CachedTokens > 0 {
		s.plugin.vm.setCount(contract.LogStatePrefix+contract.SpanCachedTokens, uint64(report.CachedTokens))
	}
	if report.Translated && report.FirstToken >= 0 {
		text := appendSeconds(s.plugin.vm.digits[:0], report.FirstToken)
		setState(contract.LogStatePrefix+contract.SpanFirstSeconds, unsafe.String(&text[0], len(text)))
	}
}

// appendSeconds appends milliseconds as seconds.
func appendSeconds(dst []byte, ms int64) []byte {
	dst = append(strconv.AppendInt(dst, ms/1000, 10), '.')
	return append(dst, byte('0'+ms/100%10), byte('0'+ms/10%10), byte('0'+ms%10))
}
