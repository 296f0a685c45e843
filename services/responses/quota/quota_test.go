package quota

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestTenants: where tenants are told apart, one has half at most, and the rest is left to others.
func TestTenants(t *testing.T) {
	one, other := store.TenantOf("one"), store.TenantOf("other")
	type step struct {
		tenant store.Tenant
		n      int64
		want   Verdict
	}
	for name, tt := range map[string]struct {
		limit int64
		apart bool
		steps []step
	}{
		"apart": {100, true, []step{{one, 50, Granted}, {one, 1, TenantExhausted}, {other, 50, Granted}, {other, 1,
			Exhausted},
			{one, -50, Granted}, {one, 50, Granted}}},
		"the least": {1, true, []step{{one, 1, Granted}, {other, 1, Exhausted}}},
		"together":  {4, false, []step{{one, 4, Granted}, {one, 1, Exhausted}}},
	} {
		p, taken := New(), int64(0)
		p.Set(tt.limit, tt.apart)
		for _, s := range tt.steps {
			if s.n < 0 {
				p.Give(s.tenant, -s.n)
				taken += s.n
				continue
			}
			got := p.Take(s.tenant, s.n)
			if got == Granted {
				taken += s.n
			}
			if got != s.want || p.InUse() != taken {
				t.Errorf("%s: %+v: %v, and %d are in use", name, s, got, p.InUse())
			}
		}
	}
	p := New()
	if p.Set(1, false); p.Take(one, 1) != Granted {
		t.Error("none is granted")
	}
	if p.Give(one, 1); len(p.tenants) != 0 {
		t.Errorf("%v are kept", p.tenants)
	}
	p.Take(one, 1)
	if p.Set(3, true); p.Take(one, 1) != TenantExhausted || p.Take(other, 1) != Granted {
		t.Error("another limit is not in force")
	}
}
