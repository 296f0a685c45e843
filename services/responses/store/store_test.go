package store_test

import (
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Options {
		return store.Options{URL: filepath.Join(t.TempDir(), "responses.db")}
	})
}
