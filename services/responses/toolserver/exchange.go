package toolserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// exchange is one request to a server and what has become of it. The SDK's errors do not say enough, so those who see
// the answer on its way write down here what they see: [wire] sees HTTP, [conn] sees messages.
type exchange struct {
	session *session
	// limit is how many bytes the answer may have, and what is the text of the error for more.
	limit int64
	what  string

	mu sync.Mutex
	// sent reports whether the server may have seen the request. status is the answer's in HTTP, or 0.
	sent   bool
	status int
	// answer is the result as the server wrote it.
	answer json.RawMessage
	// failure is the first thing that went wrong.
	failure error
	// read is how many bytes of the answer have been received. held of them are taken from the budget.
	read, held int64
	closed     bool
}

type exchangeKey struct{}

// withExchange returns a context whose requests are written down in an exchange.
func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// begin forgets the last request. The handshake has several.
func (x *exchange) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.status, x.answer, x.failure, x.read = false, 0, nil, nil, 0
}

func (x *exchange) setSent() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = true
}

func (x *exchange) setStatus(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = status
}

func (x *exchange) setAnswer(result json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answer = result
}

// fail writes down what went wrong, unless something else did before, and returns it.
func (x *exchange) fail(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failure == nil {
		x.failure = err
	}
	return err
}

// outcome returns the result, or what went wrong; neither, if nothing is known.
func (x *exchange) outcome() (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answer != nil {
		return x.answer, nil
	}
	return nil, x.failure
}

// refused reports whether the server has said that it did not run the request because it does not know the session.
func (x *exchange) refused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status == http.StatusNotFound || x.status == http.StatusBadRequest && !isProtocolError(x.failure)
}

// unseen reports whether the server cannot have seen the request, for a reason that a new session may not have.
func (x *exchange) unseen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.sent && (x.failure == nil || isConnectionError(x.failure))
}

// receive counts bytes of the answer. The error is a [*LimitError].
func (x *exchange) receive(n int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read += n
	if x.read > x.limit {
		return x.failLocked(&LimitError{What: x.what, Limit: x.limit})
	}
	if x.closed {
		return nil // the rest of a stream; nobody keeps it
	}
	if err := x.session.pool.memory.take(x.session.tenant, n); err != nil {
		return x.failLocked(err)
	}
	x.held += n
	return nil
}

func (x *exchange) failLocked(err error) error {
	if x.failure == nil {
		x.failure = err
	}
	return err
}

// close gives back what the answer has taken.
func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.held > 0 {
		x.session.pool.memory.give(x.session.tenant, x.held)
	}
	x.held, x.answer = 0, nil
}

// body is an answer's body that counts.
type body struct {
	io.ReadCloser
	x *exchange
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if over := b.x.receive(int64(n)); over != nil {
			return 0, over
		}
	}
	return n, err
}
