package responses

import (
	"sync"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// quota is how much of something all requests may have at once, and how much those of one tenant.
type quota struct {
	mu              sync.Mutex
	limit, ofTenant int64
	taken           int64
	tenants         map[store.Tenant]int64
}

func newQuota() *quota { return &quota{tenants: map[store.Tenant]int64{}} }

// set sets the limit. Where tenants are told apart, none of them can have more than half.
func (q *quota) set(limit int64, apart bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit, q.ofTenant = limit, limit
	if apart {
		q.ofTenant = max(1, limit/2)
	}
}

// The results of [quota.take].
type verdict int

const (
	granted verdict = iota
	// exhausted means that all requests together have what there is, and tenantExhausted that those of the tenant do.
	exhausted
	tenantExhausted
)

// take takes n for a tenant.
func (q *quota) take(t store.Tenant, n int64) verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.taken+n > q.limit:
		return exhausted
	case q.tenants[t]+n > q.ofTenant:
		return tenantExhausted
	}
	q.add(t, n)
	return granted
}

// give gives n back.
func (q *quota) give(t store.Tenant, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(t, -n)
}

// add changes what is taken. The caller holds the lock.
func (q *quota) add(t store.Tenant, n int64) {
	q.taken += n
	if q.tenants[t] += n; q.tenants[t] == 0 {
		delete(q.tenants, t)
	}
}

// inUse returns how much is taken.
func (q *quota) inUse() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}
