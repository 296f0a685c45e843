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

// mostOfTenant returns how many requests of one tenant are handled at once.
func (s *Service) mostOfTenant() int { return s.mostOf(s.InFlight) }

// mostOf returns how many of all one tenant may have: half of them, where tenants are told apart.
func (s *Service) mostOf(all int) int {
	if s.TenantHeader == "" {
		return all
	}
	return max(1, all/2)
}
