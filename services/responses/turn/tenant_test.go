package turn

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/settings"
)

// TestToolTenant has one tenant, who need not leave half of the sessions to others.
func TestToolTenant(t *testing.T) {
	one, many := Turn{settings: &settings.Snapshot{}},
		Turn{settings: &settings.Snapshot{Settings: settings.Settings{TenantHeader: "x-tenant"}}}
	if one.tenant() != "" || many.tenant() == "" {
		t.Errorf("%q %q", one.tenant(), many.tenant())
	}
}
