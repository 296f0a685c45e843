package responses

import (
	"errors"
	"net/http"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/responses/store"
)

// copies is how many copies of a text there may be at once: as it was read, as items, as they are stored, and as they
// are sent.
const copies = 6

// memory is what the texts of all requests may take together, and those of one tenant. What a request takes beside them
// is small, and [Options.InFlight] limits it.
type memory struct {
	limit, ofTenant int64

	mu      sync.Mutex
	taken   int64
	tenants map[store.Tenant]int64
}

// newMemory returns the memory of a service. Where tenants are told apart, none can have more than half.
func newMemory(o *Options) *memory {
	m := &memory{limit: o.Memory, ofTenant: o.Memory, tenants: map[store.Tenant]int64{}}
	if o.TenantHeader != "" {
		m.ofTenant /= 2
	}
	return m
}

// change takes memory, or gives it back if n is negative, and reports whether there was enough.
func (m *memory) change(t store.Tenant, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && (m.taken+n > m.limit || m.tenants[t]+n > m.ofTenant) {
		return false
	}
	m.taken += n
	if m.tenants[t] += n; m.tenants[t] == 0 {
		delete(m.tenants, t)
	}
	return true
}

// inUse returns how much is taken, in bytes.
func (m *memory) inUse() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}

// share is what one request has of a [memory].
type share struct {
	of     *memory
	tenant store.Tenant
	taken  int64
}

// errNoMemory means that other requests have taken what there is.
var errNoMemory = errors.New("no memory is left for another request")

// take takes memory for a text of a size, before it is read. A response in the background has no share: their number is
// limited.
func (s *share) take(size int64) error {
	if s == nil {
		return nil
	}
	if !s.of.change(s.tenant, copies*size) {
		return errNoMemory
	}
	s.taken += copies * size
	return nil
}

// give gives back the memory of a text that has turned out to be smaller.
func (s *share) give(size int64) {
	s.of.change(s.tenant, -copies*size)
	s.taken -= copies * size
}

// release gives back everything.
func (s *share) release() {
	s.of.change(s.tenant, -s.taken)
	s.taken = 0
}

// within returns a limit of what is read from the store for a request: it may not be larger than a request's body, and
// there must be memory for it.
func (s *Service) within(c *caller) store.Limit {
	atMost := store.AtMost(s.BodyLimit)
	return func(bytes int64) error {
		if err := atMost(bytes); err != nil {
			return err
		}
		return c.share.take(bytes)
	}
}

func errOverloaded(what string) *openai.Error {
	return &openai.Error{Status: http.StatusServiceUnavailable, Type: contract.ServerErrorType, Code: codeServiceOverloaded,
		Message: "The responses service has " + what + ". Try again."}
}
