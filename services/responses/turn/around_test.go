package turn

import (
	"log/slog"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// around is what readers and turns have around them.
type around struct {
	env      *Env
	keys     *seal.Keys
	settings *settings.Snapshot
}

// newAround returns what is around turns of a service with keys, or nil, and the first settings of some.
func newAround(keys *seal.Keys, first ...settings.Settings) *around {
	log := slog.New(slog.DiscardHandler)
	var o settings.Settings
	if len(first) > 0 {
		o = first[0]
	}
	return &around{keys: keys,
		env: &Env{Log: log, Now: time.Now, Metrics: uncounted{},
			Stored: func() (*store.Store, *openai.Error) { return nil, refusal.StoreAway() }},
		settings: settings.New(o, items.Sealer{Keys: keys, Now: time.Now, Log: log}, nil)}
}

// uncounted counts nothing.
type uncounted struct{}

func (uncounted) Continued(*store.Past)                    {}
func (uncounted) CalledTool(string, string, time.Duration) {}
func (uncounted) ListedTools(string, string)               {}
func (uncounted) Rounded(int)                              {}
func (uncounted) KeptAlive()                               {}
func (uncounted) Resumed(string)                           {}
func (uncounted) Finished(string)                          {}

func testKeys(t *testing.T) *seal.Keys {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
