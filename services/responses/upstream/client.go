package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// PassedOn reports whether a header of the client's goes to the gateway. Headers of the connection and of the body's
// form do not, and neither do the gateway's own: it sets them anew.
func PassedOn(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Content-Type", "Accept-Encoding", "Expect", "Host", "X-Envoy-Expected-Rq-Timeout-Ms",
		"X-Forwarded-Proto", "X-Envoy-Attempt-Count", "X-Request-Id", "Proxy-Authorization", "Proxy-Authenticate",
		"X-Harmony-Relay",                      // only the service itself has an answer handed over
		"Idempotency-Key", "X-Idempotency-Key": // with the last two, Go sends a request again by itself
		return false
	}
	return !strings.HasPrefix(name, "Sec-Websocket-") && !contract.IsInternalHeader(strings.ToLower(name))
}

// Client asks the gateway.
type Client struct {
	http *http.Client
	// key is the service's own there, if the gateway tells clients apart.
	key string
	// keys are those of the gateway's. They are nil if it has none.
	keys *seal.Keys
	log  *slog.Logger
	// older is until when the gateway is taken for one that is older than this service, in milliseconds.
	older atomic.Int64
}

// olderFor is how long the gateway is taken for an older one, once it has turned out to be: it may be exchanged.
const olderFor = time.Minute

// NoteOlder notes that the gateway does not know what a newer one knows.
func (c *Client) NoteOlder(now time.Time) { c.older.Store(now.Add(olderFor).UnixMilli()) }

// IsOlder reports whether the gateway is known to be older than this service.
func (c *Client) IsOlder(now time.Time) bool { return now.UnixMilli() < c.older.Load() }

// New returns a client. The gateway limits how long an answer may take.
func New(key string, keys *seal.Keys, log *slog.Logger) *Client {
	return &Client{key: key, keys: keys, log: log, http: &http.Client{
		// A redirect would be somebody else's answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		// The limits of requests limit the connections.
		Transport: &http.Transport{MaxIdleConnsPerHost: math.MaxInt, IdleConnTimeout: time.Minute,
			DisableCompression: true},
	}}
}

// Question is a plain request for the gateway.
type Question struct {
	// URL is where it is sent, and headers are the client's.
	URL     string
	Headers http.Header
	Body    []byte
	// Reader has a body of Size bytes instead of Body. Nil: there is none.
	Reader io.Reader
	Size   int64
	// Handover is what is known of an answer that another server may have to finish, or nil. Body has the request then.
	Handover *Handover
}

// Post sends a plain request to the gateway. The answer has the status 200, or is an error.
func (c *Client) Post(ctx context.Context, q *Question) (*http.Response, *openai.Error) {
	response, err := c.Open(ctx, q)
	if err != nil {
		return nil, c.Unreachable(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	failure := refused(response)
	if failure.Status == http.StatusRequestEntityTooLarge { // the client's own request was not
		failure = refusal.TooLong(len(q.Body))
	}
	return nil, failure
}

// Open sends a request to the gateway and returns its answer, whatever the status is.
func (c *Client) Open(ctx context.Context, q *Question) (*http.Response, error) {
	body, relay := q.Reader, ""
	if body == nil {
		text, err := q.Body, error(nil)
		if q.Handover != nil {
			if text, relay, err = c.handOver(q); err != nil {
				return nil, err
			}
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, body)
	if err != nil {
		return nil, err
	}
	if q.Reader != nil {
		r.ContentLength = q.Size
	}
	for name, values := range q.Headers {
		if PassedOn(name) {
			r.Header[name] = values
		}
	}
	if c.key != "" && r.Header.Get(contract.BehalfHeader) != "" {
		r.Header.Set("authorization", "Bearer "+c.key)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	r.Header.Set("content-type", "application/json")
	r.Header.Set(contract.ServiceHeader, contract.ServiceDeclined)
	if relay != "" {
		r.Header.Set(contract.RelayHeader, relay)
	}
	return c.http.Do(r)
}

// PostFor sends a plain request to the gateway and reads its answer.
func (c *Client) PostFor(ctx context.Context, q *Question, into any) *openai.Error {
	answer, failure := c.Post(ctx, q)
	if failure != nil {
		return failure
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(io.LimitReader(answer.Body, maxEventSize))
	if err == nil {
		err = json.Unmarshal(read, into)
	}
	if err != nil {
		return c.Unreachable(err)
	}
	return nil
}

// Unreachable returns the error of a gateway that cannot be asked.
func (c *Client) Unreachable(err error) *openai.Error {
	if !errors.Is(err, context.Canceled) {
		c.log.Warn("the gateway cannot be asked", "error", err)
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
