//go:build e2e

package responses

import (
	"os"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// gateway is a run of the program that ships, with a store, before a simulated server.
type gateway struct{ *service.Gateway }

// The tests read these of answers.
type (
	response = service.Response
	item     = service.Item
	list     = service.List
)

// start runs harmony up. database is a URL, or empty for a file of its own. settings are YAML for the file, and
// modelSettings for the model.
func start(t *testing.T, host, database, settings string, o sim.Options, modelSettings ...string) *gateway {
	t.Helper()
	return &gateway{service.Start(t, service.Options{Host: host, Database: database, Settings: settings, Sim: o,
		ModelSettings: modelSettings})}
}

// onAll runs a test on each host and with each database. Without HARMONY_RESPONSES_ALL, which make responses-all sets,
// it leaves out half of the pairs.
func onAll(t *testing.T, test func(t *testing.T, host, database string)) {
	server := lab.StartPostgres(t)
	all := os.Getenv("HARMONY_RESPONSES_ALL") != ""
	for _, pair := range []struct {
		host, database string
		always         bool
	}{{"envoy", "postgres", true}, {"wazero", "sqlite", true}, {"envoy", "sqlite", false}, {"wazero", "postgres", false}} {
		if !pair.always && !all {
			continue
		}
		t.Run(pair.host+" "+pair.database, func(t *testing.T) {
			database := "" // a file of its own
			if pair.database == "postgres" {
				database = server.Database(pair.host)
			}
			test(t, pair.host, database)
		})
	}
}
