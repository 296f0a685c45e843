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

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
)

// TestGallery takes pictures of every view of a fleet in trouble, in three widths and both schemes, whole, as a reader
// who scrolls sees them. With -update they are written to dist/pictures, where a person looks at them. Without it, one
// is taken.
func TestGallery(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFleet(t, fake.Troubled(now))
	addNumbers(f.history, now)
	addRequests(t, f.recorder, now)
	f.gateway = lab.RunNative(t, lab.OneModel("http://127.0.0.1:1")).URL
	b := open(t, f.serve(t), "/#/fleet")
	widths, schemes := []int64{1280}, []string{"light"}
	if *lab.Update {
		widths, schemes = []int64{390, 1280, 1920}, []string{"light", "dark"}
	}
	for _, view := range []string{"fleet", "load", "requests", "requests/0198f3a1-forecast", "playground"} {
		b.do(`location.hash = "#/` + view + `"`)
		b.settled()
		for _, width := range widths {
			for _, scheme := range schemes {
				b.look(width, 900, scheme)
				b.settled()
				b.picture(fmt.Sprintf("%s-%d-%s", filepath.Base(view), width, scheme))
			}
		}
		if !*lab.Update {
			return
		}
	}
}

// picture takes a picture of all that the tab has, from the top to the bottom.
func (b *tab) picture(name string) {
	b.t.Helper()
	taken, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: new(true)})
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
