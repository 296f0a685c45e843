//go:build e2e

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sim"
)

// maxScreenshot is the size of a picture in the repository, in bytes.
const maxScreenshot = 150 << 10

const weather = "<|channel|>analysis<|message|>" +
	"The user asks whether to cycle to work in Amsterdam tomorrow. Whether that is pleasant " +
	"depends on wind and rain, and I do not know tomorrow's. There is a function for the forecast, so I " +
	"should call it for Amsterdam before I answer. Then I can compare wind and rain with what most people find " +
	"comfortable: below 5 on the Beaufort scale, and less than half a millimetre of rain in the hour." +
	"<|start|>assistant<|channel|>commentary<|message|>I look at tomorrow's forecast for Amsterdam first.<|end|>" +
	"<|start|>assistant<|channel|>commentary to=functions.get_forecast <|constrain|>json<|message|>" +
	`{"city":"Amsterdam","day":"tomorrow","hours":[8,17]}<|call|>`

const comparison = "<|channel|>analysis<|message|>" +
	"They want the difference between a mutex and a channel in Go, short, with an example. " +
	"A mutex guards data that stays in one place. A channel hands data over. The usual advice is to share " +
	"memory by communicating, but a counter or a cache is simpler with a mutex. I will give both in a few lines, say " +
	"when I would take which, and stop there.<|end|><|start|>assistant<|channel|>final<|message|>" +
	"A **mutex** guards data that stays where it is. A **channel** hands data over to whoever needs it next.\n\n" +
	"Take a mutex for a counter, a cache or a map that several goroutines read and write:\n\n" +
	"    mu.Lock()\n    hits[path]++\n    mu.Unlock()\n\n" +
	"Take a channel where one goroutine makes something and another goes on with it: a queue of jobs, a result, " +
	"a signal that work is done. If you find yourself sending over a channel only to guard a variable, a mutex is " +
	"the simpler choice.<|return|>"

// pictures are where and how the pictures of docs/page are taken: with -update they are written there, else one of each
// view into a folder that goes away. A person looks at them; tests hold that they can be taken, and are small.
type pictures struct {
	folder  string
	sizes   []size
	schemes []string
}

type size struct{ width, height int64 }

func newPictures(t *testing.T) pictures {
	t.Helper()
	if !*lab.Update {
		return pictures{t.TempDir(), []size{{1024, 1000}}, []string{"light"}}
	}
	folder := lab.File("docs/page")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return pictures{folder, []size{{390, 844}, {1024, 1000}, {1920, 1080}}, []string{"light", "dark"}}
}

// take takes the pictures of a view that a tab shows.
func (p pictures) take(b *tab, view string) {
	b.t.Helper()
	for _, size := range p.sizes {
		for _, scheme := range p.schemes {
			b.look(size.width, size.height, scheme)
			b.shoot(filepath.Join(p.folder, fmt.Sprintf("%s-%d-%s.png", view, size.width, scheme)))
		}
	}
}

// TestScreenshots takes the pictures that need an hour, or texts that a person would read. Those of the fleet are of a
// real one: see [TestControlPlane].
func TestScreenshots(t *testing.T) {
	t.Parallel()
	p := newPictures(t)
	f := newFleet(t, fake.Troubled(time.Now()))
	addRequests(t, f.recorder, time.Now())
	server, url := lab.RunSim(t, sim.Options{
		HoldAfter: 180, TokensPerSecond: 160, TimeToFirstToken: 200 * time.Millisecond,
		Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(comparison)})})
	f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
	defer server.Release()
	origin := f.serve(t)
	views := []struct {
		name, path string
		ready      func(b *tab)
	}{
		{"load", "/#/load", func(b *tab) { b.until(`document.querySelectorAll(".plot svg path").length > 10`) }},
		{"requests", "/#/requests", func(b *tab) { b.see("failed") }},
		{"replay", "/#/requests/0198f3a1-forecast", replayHalf},
		{"playground", "/#/playground", midStream},
	}
	for _, v := range views {
		b := open(t, origin, v.path)
		b.look(1280, 900, "light")
		v.ready(b)
		p.take(b, v.name)
	}
}

// replayHalf plays a record to the middle of its call.
func replayHalf(b *tab) {
	b.until(`document.querySelector(".controls input[type=range]").max > 0`)
	b.do(`(() => {
		const bar = document.querySelector(".controls input[type=range]");
		bar.value = bar.max * 0.93;
		bar.dispatchEvent(new Event("input"));
		document.querySelector(".replay details").open = true;
	})()`)
	b.see("get_forecast")
}

// midStream asks for an answer that is held in its middle.
func midStream(b *tab) {
	b.see(lab.Model)
	b.run(chromedp.SendKeys("#prompt", "When do I take a mutex in Go, and when a channel?"))
	b.run(chromedp.Click(`//button[text()="Send"]`))
	b.until(`document.querySelector('[data-lane="answer"] .text').textContent.includes("goroutines")`)
}

// shoot takes a picture of what the window shows.
func (b *tab) shoot(name string) {
	b.t.Helper()
	// Two frames later the page has been drawn at its new size.
	b.do(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if picture, err = smaller(picture); err != nil {
		b.t.Fatal(err)
	}
	if len(picture) > maxScreenshot {
		b.t.Errorf("%s has %d bytes, which is more than %d", filepath.Base(name), len(picture), maxScreenshot)
	}
	if err := os.WriteFile(name, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// addRequests records what a busy quarter of an hour leaves.
func addRequests(t *testing.T, r *fake.Recorder, now time.Time) {
	t.Helper()
	add := func(q fake.Request) {
		if err := r.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 14 {
		add(fake.Request{
			ID: fmt.Sprintf("0198f3a0-%04d", i), Model: lab.Model, API: []string{"chat", "responses"}[i%2], Pool: "h200",
			Prompt: "Explain mutexes and channels.", Began: now.Add(-time.Duration(15*60-i*53) * time.Second),
			First: time.Duration(210+37*i%90) * time.Millisecond, Each: time.Duration(9+i%5) * time.Millisecond,
			Output: comparison, TokensPerPiece: 1,
			End: tap.EndReport{Policy: "least_request", PromptTokens: 812 + 2371*(i%6), CachedTokens: 640, ReasoningTokens: 68,
				FinalTokens: 160},
		})
	}
	add(fake.Request{
		ID: "0198f3a1-forecast", Model: lab.Model, API: "responses", Pool: "h200", Began: now.Add(-48 * time.Second),
		Prompt: "Should I cycle to work in Amsterdam tomorrow?", First: 318 * time.Millisecond, Each: 17 * time.Millisecond,
		Output: weather, TokensPerPiece: 1,
		End: tap.EndReport{Policy: "least_request", Finish: "tool_calls", PromptTokens: 1204, CachedTokens: 1024,
			ReasoningTokens: 79, PreambleTokens: 9, ToolCallTokens: 14,
			Recoveries: map[string]uint64{"missing_end": 1}},
	})
	add(fake.Request{
		ID: "0198f3a1-dead", Model: lab.Model, API: "chat", Pool: "h200", Began: now.Add(-33 * time.Second), Prompt: "Hello",
		First: 2 * time.Second, Status: 503, Error: `{"error":{"message":"no server of the model can be reached",` +
			`"type":"server_error","param":null,"code":"server_unavailable"}}`,
	})
	add(fake.Request{
		ID: "0198f3a1-running", Model: "gpt-oss-20b", API: "responses", Pool: "small", Began: now.Add(-4 * time.Second),
		Prompt: "Write a long story.", First: 190 * time.Millisecond, Each: 8 * time.Millisecond, Running: true,
		Output: "<|channel|>analysis<|message|>A long story about a lighthouse.<|end|>", TokensPerPiece: 1,
	})
}
