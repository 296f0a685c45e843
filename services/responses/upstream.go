package responses

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// event is one event of a response's stream.
type event struct {
	kind string
	data []byte
}

// frame returns the event as a stream has it.
func (e *event) frame() []byte {
	b := make([]byte, 0, len(e.kind)+len(e.data)+16)
	b = append(append(append(b, "event: "...), e.kind...), "\ndata: "...)
	return append(append(b, e.data...), "\n\n"...)
}

// The limits of what is read of the gateway.
const (
	maxEventSize = 64 << 20
	maxErrorSize = 1 << 20
)

// errTooLargeEvent means that the gateway has sent an event larger than maxEventSize.
var errTooLargeEvent = errors.New("the gateway sent an event that is too large")

// passedOn reports whether a header of the client's goes to the gateway. Those of the connection and of the body's
// form do not, and neither do the gateway's own: it sets them anew.
func passedOn(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Content-Type", "Accept-Encoding", "Expect", "Host", "X-Envoy-Expected-Rq-Timeout-Ms",
		"X-Forwarded-Proto", "X-Envoy-Attempt-Count", "X-Request-Id", "Proxy-Authorization", "Proxy-Authenticate",
		"Idempotency-Key", "X-Idempotency-Key": // with the last two, Go sends a request again by itself
		return false
	}
	return !strings.HasPrefix(name, "Sec-Websocket-") && !contract.IsInternalHeader(strings.ToLower(name))
}

// post sends a plain request to the gateway. The answer has the status 200, or is an error.
func (t *turn) post(ctx context.Context, path string, body []byte) (*http.Response, *openai.Error) {
	s := t.service
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.settings.Gateway+path, bytes.NewReader(body))
	if err != nil {
		return nil, s.unreachable(err)
	}
	for name, values := range t.headers {
		if passedOn(name) {
			r.Header[name] = values
		}
	}
	if s.options.Key != "" && r.Header.Get(contract.BehalfHeader) != "" {
		r.Header.Set("authorization", "Bearer "+s.options.Key)
	}
	traceHeaders.Inject(ctx, propagation.HeaderCarrier(r.Header))
	r.Header.Set("content-type", "application/json")
	r.Header.Set(contract.ServiceHeader, contract.ServiceDeclined)
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.unreachable(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	failure := refused(response)
	if failure.Status == http.StatusRequestEntityTooLarge { // the client's own request was not
		failure = refusal.TooLong(len(body))
	}
	return nil, failure
}

func (s *Service) unreachable(err error) *openai.Error {
	if !errors.Is(err, context.Canceled) {
		s.log.Warn("the gateway cannot be asked", "error", err)
	}
	return &openai.Error{Status: http.StatusBadGateway, Type: contract.ServerErrorType,
		Code: contract.CodeServerUnavailable, Message: "The model cannot be asked now. Try again."}
}

// refused returns the error that the gateway answered.
func refused(response *http.Response) *openai.Error {
	e := &openai.Error{Status: response.StatusCode, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message:    fmt.Sprintf("The gateway answered %d.", response.StatusCode),
		RetryAfter: response.Header.Get("retry-after")}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorSize))
	var known struct {
		Error struct{ Message, Type, Param, Code *string } `json:"error"`
	}
	if err != nil || json.Unmarshal(body, &known) != nil {
		return e
	}
	for _, member := range []struct {
		from *string
		to   *string
	}{{known.Error.Message, &e.Message}, {known.Error.Type, &e.Type}} {
		if member.from != nil {
			*member.to = *member.from
		}
	}
	if known.Error.Message != nil {
		e.Code, e.Param = deref(known.Error.Code), deref(known.Error.Param)
	}
	return e
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// eventReader reads the events of a stream.
type eventReader struct{ lines *bufio.Reader }

func newEventReader(body io.Reader) *eventReader {
	return &eventReader{bufio.NewReaderSize(body, 32<<10)}
}

// next returns the next event. Its data is the caller's. The error is [io.EOF] at the end of the stream.
func (r *eventReader) next() (event, error) {
	var e event
	for {
		line, err := r.line()
		if err != nil {
			return e, err
		}
		switch {
		case len(line) == 0 && len(e.data) > 0:
			return e, nil
		case bytes.HasPrefix(line, []byte("event: ")):
			e.kind = string(line[len("event: "):])
		case bytes.HasPrefix(line, []byte("data: ")):
			e.data = line[len("data: "):]
		}
	}
}

// line returns the next line without its end, in memory of its own.
func (r *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > maxEventSize {
			return nil, errTooLargeEvent
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err // what is left of a line has been cut off
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}
