package store_test

import (
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/responses/store"
	"github.com/harmonyedge/harmonyedge/responses/store/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Options {
		return store.Options{URL: filepath.Join(t.TempDir(), "responses.db")}
	})
}
