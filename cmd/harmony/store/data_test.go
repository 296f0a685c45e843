package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestStoredOfAClient finds, exports and deletes what a client by key has stored, and says when there is nothing.
func TestStoredOfAClient(t *testing.T) {
	t.Setenv(store.KeysVariable, "")
	database := filepath.Join(t.TempDir(), "r.db")
	file := clitest.WriteFile(t, "c.yaml", oneModel+"responses_service: {store: '"+database+"'}\n")
	s, err := store.Open(t.Context(), store.Options{URL: database})
	if err != nil {
		t.Fatal(err)
	}
	// The client stores a response without the tenant's header, and one with it.
	for id, value := range map[string]string{"resp_1": "", "resp_2": "blue"} {
		err := s.Insert(t.Context(), store.TenantOf(contract.Tenant("acme", value)), &store.Record{Retention: time.Hour,
			Past: &store.Past{}, Response: store.Response{ID: id, Status: "completed",
				Object: []byte(`{"id":"` + id + `","model":"m","status":"completed"}`)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	const nothing = "nothing is stored of "
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"show resp_1 --json --client acme", 0, `"id":"resp_1"`, ""},
		{"show resp_2 --json --client acme --tenant blue", 0, `"id":"resp_2"`, ""},
		{"show resp_2 --json --client acme", cli.ExitFailed, "", `"resp_2" is not stored for this tenant`},
		{"show resp_1 --json --tenant acme", cli.ExitFailed, "", "needs --client NAME"},
		{"export --client acme", 0, `"id":"resp_1"`, ""},
		{"export --client acme --no-tenant", 0, `"id":"resp_1"`, ""},
		{"export --tenant acme", 0, "", nothing + `the tenant "acme"; clients with keys need --client NAME`},
		{"export --no-tenant", 0, "", nothing + "requests without the header; clients with keys need --client NAME"},
		{"export", cli.ExitUsage, "", "write --client NAME"},
		{"export --tenant a --no-tenant", cli.ExitUsage, "", "write --client NAME"},
		{"delete --tenant acme", cli.ExitFailed, "", nothing + `the tenant "acme"`},
		{"delete --no-tenant", cli.ExitFailed, "", nothing},
		{"delete --client acmee", cli.ExitFailed, "", nothing + `the client "acmee"; its name is the one in the keys file`},
		{"delete --client acme --tenant red", cli.ExitFailed, "", nothing + `the client "acme" with the tenant "red"`},
		{"delete --client acme", 0, "removed 1 response, 0 conversations and 0 items", ""},
		{"delete --client acme", cli.ExitFailed, "", nothing},
		{"delete --client acme --tenant blue", 0, "removed 1 response", ""},
	} {
		args := append(append([]string{"responses"}, strings.Fields(tt.args)...), "--config", file)
		code, stdout, stderr := command(t, t.Context(), args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || tt.stdout == "" && stdout != "" ||
			!strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
			t.Errorf("%s: exit %d, %s\n%s", tt.args, code, stdout, stderr)
		}
	}
}
