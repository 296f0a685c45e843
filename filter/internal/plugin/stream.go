package plugin

import (
	"encoding/binary"
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/filter/internal/metrics"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// stream is one HTTP stream. exchange is nil if the gateway does not handle the stream, and after the stream is done.
// From then on nothing may act on the stream, because that would crash the host.
type stream struct {
	types.DefaultHttpContext
	plugin   *plugin
	id       uint32
	exchange *exchange.Exchange
	// at is the stream's place among the plugin's streams. heldAt is its place among those held, counted from 1, or 0.
	at, heldAt int
	// body is the size of the request's body so far, in bytes.
	body int
	// status is the status of the response's headers. sized reports whether they have the size of the body.
	status int
	sized  bool
	// awaited reports whether the headers are held and nothing of the body has been shown. arrived is how much of the
	// request the host had received at arrivedAt.
	awaited   bool
	arrived   uint64
	arrivedAt int64
	// pending reports whether the request is still held.
	pending bool
	// released reports whether the heap does not count the stream any more.
	released bool
	// optionHeaders are the names of the client's headers that are only for the gateway.
	optionHeaders []string
	// tapped is nil if the stream is not tapped.
	tapped *tapped
	// call is the call under way of the server that reads the prompt, or nil. sentSize is the size of the request's body
	// when the call was made.
	call     *exchange.Prefill
	sentSize int
	// rendering is the call under way of a server that renders the conversation, or nil.
	rendering *exchange.Render
}

// The properties that the filter reads from the host, with zeros between the parts of their paths.
const (
	codeDetails    = "response\x00code_details"
	upstream       = "upstream\x00address"
	serverMetadata = "xds\x00upstream_host_metadata\x00filter_metadata\x00" + contract.MetadataNamespace + "\x00"
	sparePool      = serverMetadata + contract.SpareKey
	drained        = serverMetadata + contract.DrainingKey
	responseCode   = "response\x00code"
	ownMetadata    = "metadata\x00filter_metadata\x00" + contract.PickerNamespace + "\x00"
	queueClass     = ownMetadata + contract.ClassKey
	queuedTime     = ownMetadata + contract.QueuedKey
)

// send answers the client without a server.
func (s *stream) send(r *exchange.Reply) {
	if s.tapped != nil {
		s.showReply(r)
	}
	headers := [][2]string{{"content-type", r.MediaType()}}
	if id := s.requestID(); id != "" {
		headers = append(headers, [2]string{answerID, id})
	}
	if s.exchange != nil && s.exchange.RouteTaken() != "" {
		headers = append(headers, [2]string{contract.RouteHeader, s.exchange.RouteTaken()})
	}
	if r.RetryAfter != "" {
		headers = append(headers, [2]string{"retry-after", r.RetryAfter})
	}
	for _, h := range r.Headers {
		headers = append(headers, [2]string{h.Name, h.Value})
	}
	if r.Upgrade != "" {
		headers = append(headers, [2]string{"upgrade", r.Upgrade}, [2]string{"connection", "upgrade, close"})
	}
	check("send reply", proxywasm.SendHttpResponse(uint32(r.Status), headers, r.Body, -1))
}

// answerID is the header with the name of the request, in the answers of Anthropic's API.
const answerID = "request-id"

// requestID returns the name of the request for its answer, or empty.
func (s *stream) requestID() string {
	if s.exchange == nil {
		return ""
	}
	return s.exchange.RequestID()
}

// OnHttpStreamDone implements [types.HttpContext].
func (s *stream) OnHttpStreamDone() {
	if !s.released {
		s.plugin.vm.heap.end()
	}
	if s.exchange == nil {
		return
	}
	s.plugin.vm.held.release(s)
	if s.exchange.Reserves() {
		if _, err := readProperty(upstream); err != nil {
			s.exchange.NeverSent()
		}
	}
	s.noteServer()
	report := s.exchange.Report()
	s.leavePrefill(report.Prefill.Result)
	s.exchange = nil
	if report.Cut == exchange.CutOther {
		details, _ := readProperty(codeDetails)
		report.Cut = cutBy(string(details))
	}
	s.plugin.vm.metrics.FlushChunks()
	status := responseStatus()
	s.plugin.vm.metrics.Count(&report, status)
	if metrics.FailedEarly(&report, status) {
		server, _ := readProperty(upstream)
		s.plugin.vm.logFailure(report.Pool, string(server), "the client got "+strconv.Itoa(status), now())
	}
	s.plugin.vm.describe(&report)
	if s.tapped != nil {
		s.endTap(&report, status)
	}
	s.plugin.end(s)
}

// noteServer tells the exchange which server has answered, if it is to know.
func (s *stream) noteServer() {
	if s.exchange.AwaitsServer() {
		server, _ := readProperty(upstream)
		s.exchange.Answered(string(server))
	}
}

// responseStatus returns the status that the client got, or 0.
func responseStatus() int {
	code, err := readProperty(responseCode)
	if err != nil || len(code) != 8 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(code))
}

// check logs a host call that failed, which is an error in the filter or in the host's configuration. It reports
// whether the call succeeded.
func check(call string, err error) bool {
	if err != nil {
		proxywasm.LogError("harmony: " + call + ": " + err.Error())
	}
	return err == nil
}
