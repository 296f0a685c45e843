package turn

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/bodytest"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// taken returns how many bytes a function allocates, and how many of those are still in use while what it returns is.
func taken(do func() any) (allocated, kept int64) {
	var before, after, left runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := do()
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&left)
	runtime.KeepAlive(result)
	return int64(after.TotalAlloc - before.TotalAlloc), int64(left.HeapAlloc) - int64(before.HeapAlloc)
}

// TestWeights: what a request keeps is no more than was reserved before any of it was decoded, for bodies of every
// form, and there is not much garbage beside it. Reserving takes nothing itself.
func TestWeights(t *testing.T) {
	s, memory := newAround(nil), quota.New()
	memory.Set(16<<30, false)
	const slack = 1 << 20
	for name, text := range bodytest.Bodies(`"model":"m",`, "input", 200<<10) {
		body := []byte(text)
		c := &input.Caller{Settings: s.settings, Headers: http.Header{}, Share: &quota.Share{Of: memory}}
		var failure *openai.Error
		if n, _ := taken(func() any { failure = c.PayFor(body); return nil }); n > 256<<10 {
			t.Errorf("%s: weighing takes %d bytes", name, n)
		}
		reserved := memory.InUse() + quota.Copies*int64(len(body))
		c.Share.Release()
		if failure != nil {
			continue
		}
		all, kept := taken(func() any {
			r, failure := input.Parse(body)
			if failure != nil {
				return r
			}
			made, failure := s.env.New(r, c)
			if failure == nil {
				failure = made.ReadInput(t.Context(), c, &store.Past{})
			}
			if failure != nil {
				return made
			}
			return []any{made, made.body()}
		})
		if kept > reserved+slack || all > 2*reserved+slack {
			t.Errorf("%s: %d bytes are allocated, and %d kept; %d were reserved", name, all, kept, reserved)
		}
	}
}
