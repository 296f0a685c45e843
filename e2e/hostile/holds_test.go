//go:build e2e

package hostile

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// tolerated is the factor by which a request may exceed its limit: a busy machine does not slow everything down
// equally.
const tolerated = 1.5

// TestHolds sends one request of each family, as large as a body may be, to the shipped filter. It prints the requests
// that held the worker longest. `make soak` also sends smaller ones, because some limits are far below the limit of the
// body.
func TestHolds(t *testing.T) {
	t.Run("envoy", func(t *testing.T) { envoyWorker(t).holds("") })
	t.Run("wazero", func(t *testing.T) { wazeroWorker(t, settings(contract.VLLM)).holds("") })
	t.Run("wazero, a chat server", func(t *testing.T) { wazeroWorker(t, settings(contract.Chat)).holds("") })
	t.Run("wazero, observed", func(t *testing.T) {
		c := settings(contract.VLLM)
		c.Models[0].Translate = contract.TranslateObserve
		wazeroWorker(t, c).holds("broken runs")
	})
}

// holds sends the families whose names have a text in them.
func (w *worker) holds(named string) {
	sizes, families := []int{w.limit}, All()
	if lab.AtLength() {
		sizes = append(sizes, w.limit-1, w.limit/2, w.limit/4, 256<<10, 64<<10)
		families = append(families, AllBroken()...)
	}
	limit := w.limitFor(w.yardstick())
	var all []hold
	only := cmp.Or(os.Getenv("HARMONY_FAMILY"), named)
	for _, f := range families {
		if only != "" && !strings.Contains(f.Name, only) {
			continue
		}
		for _, size := range sizes {
			body := f.Body(size, 1)
			h := w.try(f.Name, f.Path, body)
			// Other load on the machine delays a request once but not again, or it delays the yardstick too.
			for tries := 0; h.took > limit && tries < 3; tries++ {
				h.took = min(h.took, w.try(f.Name, f.Path, body).took)
				limit = max(limit, w.limitFor(w.yardstick()))
			}
			all = append(all, h)
		}
	}
	yardstick := w.yardstick()
	slices.SortFunc(all, func(a, b hold) int { return cmp.Compare(b.took, a.took) })
	w.Logf("%d requests; 100,000 tokens that fit hold a worker for %.1f ms, and none should for more than %.0f ms",
		len(all), ms(yardstick), ms(limit))
	for i, h := range all {
		if i < 20 || h.took > limit {
			w.Logf("%7.1f ms  %8d bytes  %-32s %s", ms(h.took), h.size, h.said, h.name)
		}
		if float64(h.took) > tolerated*float64(limit) {
			w.Errorf("%s: %d bytes held the worker for %.0f ms", h.name, h.size, ms(h.took))
		}
	}
}

// limitFor returns how long a request may hold the worker on a machine on which the yardstick takes the given time.
func (w *worker) limitFor(yardstick time.Duration) time.Duration {
	if yardstick <= w.quietYardstick {
		return w.longest
	}
	return time.Duration(float64(w.longest) * float64(yardstick) / float64(w.quietYardstick))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
