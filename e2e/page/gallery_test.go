//go:build e2e

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestGallery takes pictures of every view of a fleet in trouble, in three widths and both schemes, whole, as a reader
// who scrolls sees them. With -update they are written to dist/pictures, where a person looks at them, and two of
// them to docs/page. Without it, one is taken.
func TestGallery(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := fake.Troubled(now)
	s.ExpectedEnvoys = 4
	for i := range s.Pools[0].Servers[:2] {
		s.Pools[0].Servers[i].Load = &server.ServerLoad{Running: new(float64(23 + i)), Waiting: new(float64(4 * i)),
			Cache: new(.42 + .3*float64(i)), FirstToken: new(340.)}
	}
	f := newFleet(t, s)
	addNumbers(f.history, now)
	addRequests(t, f.recorder, now)
	slow, url := lab.RunSim(t, sim.Options{HoldAfter: 180, TokensPerSecond: 400,
		Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(comparison), Fault: &sim.Fault{Kind: sim.FaultReset, After: 181}})})
	defer slow.Release()
	f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
	b := open(t, f.serve(t), "/#/fleet")
	for _, view := range []string{"fleet", "load", "requests", "requests/0198f3a1-forecast", "playground"} {
		b.do(`location.hash = "#/` + view + `"`)
		b.settled()
		if view == "load" || view == "requests" {
			b.shoot(view)
		}
		if view == "playground" {
			b.see(lab.Model)
			b.run(chromedp.SendKeys("#prompt", "When do I take a mutex in Go, and when a channel?"))
			b.press("Send")
			b.until(`document.querySelector('#view-playground [data-lane="answer"] .text').textContent.includes("goroutines")`)
		}
		b.pictures(filepath.Base(view))
		if !*lab.Update {
			return
		}
	}
	b.allow = append(b.allow, "net::ERR")
	slow.Release()
	b.see("What came before is below")
	b.pictures("playground-failed")
}

// pictures takes pictures of the view in each width and scheme, or one without -update.
func (b *tab) pictures(view string) {
	b.t.Helper()
	widths, schemes := []int64{1280}, []string{"light"}
	if *lab.Update {
		widths, schemes = []int64{390, 1280, 1920}, []string{"light", "dark"}
	}
	for _, width := range widths {
		for _, scheme := range schemes {
			b.look(width, 900, scheme)
			b.settled()
			b.look(width, eval[int64](b, `document.documentElement.scrollHeight`), scheme)
			b.settled()
			b.picture(fmt.Sprintf("%s-%d-%s", view, width, scheme))
		}
	}
}

// picture takes a picture of the tab.
func (b *tab) picture(name string) {
	b.t.Helper()
	taken, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(taken.Data) == 0 {
		b.t.Errorf("%s is empty", name)
	}
	if !*lab.Update {
		return
	}
	folder := lab.File("dist/pictures")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), taken.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
