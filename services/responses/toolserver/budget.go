package toolserver

import "sync"

// budget is how much of something there is for all tenants, of which no named tenant gets more than half.
type budget struct {
	what  string
	limit int64

	mu      sync.Mutex
	taken   int64
	tenants map[string]int64
}

func newBudget(what string, limit int64) *budget {
	return &budget{what: what, limit: limit, tenants: map[string]int64{}}
}

// take takes n for a tenant. The error is a [*LimitError].
func (b *budget) take(tenant string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken+n > b.limit {
		return &LimitError{What: b.what, Limit: b.limit}
	}
	if tenant != "" && b.tenants[tenant]+n > b.share() {
		return &LimitError{What: b.what + " of one tenant", Limit: b.share()}
	}
	b.taken += n
	b.tenants[tenant] += n
	return nil
}

// share is what a named tenant may have.
func (b *budget) share() int64 { return max(1, b.limit/2) }

// isFull reports whether a tenant has all that it may have.
func (b *budget) isFull(tenant string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return tenant != "" && b.tenants[tenant] >= b.share()
}

// give gives n back.
func (b *budget) give(tenant string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken -= n
	if b.tenants[tenant] -= n; b.tenants[tenant] == 0 {
		delete(b.tenants, tenant)
	}
}
