//go:build e2e

package responses

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
)

// TestPostgres runs the tests of the store on a real PostgreSQL.
func TestPostgres(t *testing.T) {
	server := lab.StartPostgres(t)
	n := atomic.Int64{}
	storetest.Run(t, func(t *testing.T) store.Options {
		return store.Options{URL: server.Database(fmt.Sprintf("store%d", n.Add(1)))}
	})
}
