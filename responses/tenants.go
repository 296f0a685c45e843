package responses

import (
	"sync"

	"github.com/harmonyedge/harmonyedge/responses/store"
)

// tenants counts the requests that each tenant has, so that none can have them all.
type tenants struct {
	mu      sync.Mutex
	running map[store.Tenant]int
}

// enter counts a request of a tenant, unless it has most already.
func (t *tenants) enter(tenant store.Tenant, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[tenant] >= most {
		return false
	}
	if t.running == nil {
		t.running = map[store.Tenant]int{}
	}
	t.running[tenant]++
	return true
}

func (t *tenants) leave(tenant store.Tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[tenant]--; t.running[tenant] == 0 {
		delete(t.running, tenant)
	}
}

// mostOfTenant returns how many requests of one tenant are handled at once: half of all, where tenants are told apart.
func (s *Service) mostOfTenant() int {
	if s.TenantHeader == "" {
		return s.InFlight
	}
	return max(1, s.InFlight/2)
}
