package responses

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/bodytest"
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
	s := New(Options{Settings: Settings{Memory: 16 << 30}})
	const slack = 1 << 20
	for name, text := range bodytest.Bodies(`"model":"m",`, "input", 200<<10) {
		body := []byte(text)
		c := &caller{settings: s.settings(), headers: http.Header{}, share: &quota.Share{Of: s.memory}}
		var failure *openai.Error
		if n, _ := taken(func() any { failure = payFor(c.share, body); return nil }); n > 256<<10 {
			t.Errorf("%s: weighing takes %d bytes", name, n)
		}
		reserved := s.memory.InUse() + quota.Copies*int64(len(body))
		c.share.Release()
		if failure != nil {
			continue
		}
		all, kept := taken(func() any {
			r, failure := parseRequest(body)
			if failure != nil {
				return r
			}
			made, failure := s.newTurn(r, c)
			if failure == nil {
				failure = made.readInput(t.Context(), c, &store.Past{})
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

// TestManyValues: a body or a frame is refused for its values, though its text is small.
func TestManyValues(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true, Memory: 4 << 20}})
	objects := `"input":[` + strings.Repeat("{},", 30_000) + `{}]`
	f.wants(503, "service_overloaded", "POST", "/v1/responses", `{"model":"m",`+objects+`}`)
	f.wants(503, "service_overloaded", "POST", "/v1/responses/compact", `{"model":"m",`+objects+`}`)
	f.wants(503, "service_overloaded", "POST", "/v1/conversations", `{`+strings.Replace(objects, "input", "items", 1)+`}`)
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,` + objects)
	w.refused("service_overloaded")
	await(t, func() bool { return f.s.memory.InUse() == 0 })

	f = start(t, Options{})
	numbers := strings.Repeat("1,", openai.MaxValues) + "1"
	f.wants(400, "max_values_exceeded", "POST", "/v1/responses", `{"model":"m","input":[`+numbers+`]}`)
	f.wants(400, "max_values_exceeded", "POST", "/v1/conversations", `{"items":[`+numbers+`]}`)
	keys := strings.Repeat(`"a":1,`, 256)
	f.wants(400, "max_values_exceeded", "POST", "/v1/responses", `{"model":"m","input":[{`+keys+`"type":"message"}]}`)
	f.wants(400, "max_depth_exceeded", "POST", "/v1/responses", `{"model":"m","input":`+strings.Repeat("[", 200)+
		strings.Repeat("]", 200)+`}`)
	f.wants(400, "invalid_value", "POST", "/v1/conversations", `{"items":[`+strings.Repeat("1,", 20)+`1]}`)
}
