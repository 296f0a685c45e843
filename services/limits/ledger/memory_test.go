package ledger_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(_ *testing.T, o ledger.Options) ledger.Ledger { return ledger.NewMemory(o) })
}
