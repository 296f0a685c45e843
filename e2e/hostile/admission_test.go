//go:build e2e

package hostile

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestAdmission shows that no request takes more memory than it has reserved, garbage included, in a heap like the
// filter's. There each object has a header of 16 bytes, and its size is rounded up to a multiple of 16.
func TestAdmission(t *testing.T) {
	for _, kind := range []string{contract.VLLM, contract.Chat} {
		t.Run(kind, func(t *testing.T) { testAdmission(t, kind, contract.TranslateAll) })
	}
	// An observed request is translated on the side, and its body is copied for the server's name of the model.
	t.Run("observed", func(t *testing.T) { testAdmission(t, contract.VLLM, contract.TranslateObserve) })
}

func testAdmission(t *testing.T, kind, translate string) {
	const perObject = 16 + 15
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:1" // a URL; no request leaves this process
	c.Models = []config.Model{config.DefaultModel(Model, kind+"=http://127.0.0.1:1")}
	c.Models[0].Translate, c.Models[0].ServerModel = translate, "other"
	keys, err := seal.ParseKeys(SealKeys)
	if err != nil {
		t.Fatal(err)
	}
	// When Go collects, it drops what the core keeps for the next request, and it keeps one such set per processor. TinyGo
	// does neither.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := exchange.New(exchange.Options{Config: *c.Filter(), Tokenizer: o200k.Tokenizer(), SealKeys: keys})
	scratch := &exchange.Scratch{}
	ask := func(f *Family, body []byte) (took, asked uint64) {
		x := g.Begin("POST", f.Path)
		if x == nil {
			return 0, 0
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x.Request(body, exchange.Host{Now: 1, ID: "0123456789abcdef0123456789abcdef", Scratch: scratch,
			Admit: func(bytes int) bool {
				asked = uint64(bytes)
				return true
			}})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc + perObject*(after.Mallocs-before.Mallocs), asked
	}
	all, only := All(), os.Getenv("HARMONY_FAMILY")
	worst, worstName := 0.0, ""
	for i := range all {
		f := &all[i]
		if !strings.Contains(f.Name, only) {
			continue
		}
		// Of many families only a body of the second size has almost as many entries as are read to the end.
		for _, size := range []int{4 << 10, 300 << 10, 1 << 20} {
			runtime.GC()
			ask(f, f.Body(size, 1)) // makes what is allocated once and then kept
			took, asked := ask(f, f.Body(size, 2))
			if asked == 0 {
				continue // refused earlier, or not the gateway's
			}
			if took > asked {
				t.Errorf("%s, %d bytes: it has taken %d, and asked for %d", f.Name, size, took, asked)
			}
			if part := float64(took) / float64(asked); part > worst {
				worst, worstName = part, f.Name
			}
		}
	}
	if worst == 0 {
		t.Error("nothing has been admitted")
	}
	t.Logf("the most that was taken of what was asked for is %.2f: %s", worst, worstName)
}
