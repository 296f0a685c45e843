//go:build e2e

package books

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/limits/ledger"
	"github.com/harmonyedge/harmonyedge/controlplane/limits/ledger/ledgertest"
	"github.com/harmonyedge/harmonyedge/controlplane/limits/redisledger"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// The ledger in Redis passes the tests of every ledger. Each test has a database of its own.
func TestRedisLedger(t *testing.T) {
	server := lab.StartRedis(t)
	database := 0
	ledgertest.Run(t, func(t *testing.T, o ledger.Options) ledger.Ledger {
		database++
		l, err := redisledger.Open(fmt.Sprintf("%s%d", strings.TrimSuffix(server.URL, "0"), database), "", o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	})
}
