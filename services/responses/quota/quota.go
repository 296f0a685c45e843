package quota

import (
	"sync"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Pool is how much of something all requests may have at once, and how much the requests of one tenant may have.
type Pool struct {
	mu              sync.Mutex
	limit, ofTenant int64
	taken           int64
	tenants         map[store.Tenant]int64
}

// New returns a pool that has nothing until [Pool.Set].
func New() *Pool { return &Pool{tenants: map[store.Tenant]int64{}} }

// Set sets the limit. Where tenants are told apart, no tenant can have more than half.
func (q *Pool) Set(limit int64, apart bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit, q.ofTenant = limit, limit
	if apart {
		q.ofTenant = max(1, limit/2)
	}
}

// Verdict is whether something is granted.
type Verdict int

// The results of [Pool.Take].
const (
	Granted Verdict = iota
	// Exhausted means that all requests together have what there is, and TenantExhausted that the tenant's requests do.
	Exhausted
	TenantExhausted
)

// Take takes n for a tenant.
func (q *Pool) Take(t store.Tenant, n int64) Verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.taken+n > q.limit:
		return Exhausted
	case q.tenants[t]+n > q.ofTenant:
		return TenantExhausted
	}
	q.add(t, n)
	return Granted
}

// Give gives n back.
func (q *Pool) Give(t store.Tenant, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(t, -n)
}

// add changes what is taken. The caller holds the lock.
func (q *Pool) add(t store.Tenant, n int64) {
	q.taken += n
	if q.tenants[t] += n; q.tenants[t] == 0 {
		delete(q.tenants, t)
	}
}

// InUse returns how much is taken.
func (q *Pool) InUse() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}
