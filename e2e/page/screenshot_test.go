//go:build e2e

package page

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sim"
)

// maxScreenshot is the size of a picture in the repository, in bytes.
const maxScreenshot = 100 << 10

// weather and comparison are what a model writes.
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

// TestScreenshot takes the picture of the playground in docs/sight.md, while an answer comes. The picture of the fleet
// is of a real one: see [TestControlPlane].
func TestScreenshot(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Troubled(time.Now()))
	server, url := lab.RunSim(t, sim.Options{
		HoldAfter: 180, TokensPerSecond: 160, TimeToFirstToken: 200 * time.Millisecond,
		Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(comparison)})})
	f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
	defer server.Release()
	b := open(t, f.serve(t), "/#/playground")
	b.see(lab.Model)
	b.run(chromedp.SendKeys("#prompt", "When do I take a mutex in Go, and when a channel?"))
	b.run(chromedp.Click(`//button[text()="Send"]`))
	b.until(`document.querySelector('[data-lane="answer"] .text').textContent.includes("goroutines")`)
	b.shoot("playground")
}

// shoot takes a picture of what the tab shows, in the size that docs/sight.md has. With -update it writes the picture
// to docs/page. A person looks at it; the tests hold that it can be taken, and is small.
func (b *tab) shoot(name string) {
	b.t.Helper()
	b.look(1024, 1000, "light")
	// Two frames later the page has been drawn at its new size.
	b.do(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
	picture, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(90))})
	if err != nil {
		b.t.Fatal(err)
	}
	if n := len(picture.Data); n == 0 || n > maxScreenshot {
		b.t.Errorf("%s has %d bytes, not 1 to %d", name, n, maxScreenshot)
	}
	if !*lab.Update {
		return
	}
	if err := os.WriteFile(lab.File("docs/page/"+name+".webp"), picture.Data, 0o644); err != nil {
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
			ID: fmt.Sprintf("0198f3a0-%04d", i), Model: lab.Model, API: []string{"chat", "responses", "messages"}[i%3],
			Pool:   "h200",
			Prompt: "Explain mutexes and channels.", Began: now.Add(-time.Duration(15*60-i*53) * time.Second),
			First: time.Duration(210+37*i%90) * time.Millisecond, Each: time.Duration(9+i%5) * time.Millisecond,
			Output: comparison, TokensPerPiece: 1,
			End: tap.EndReport{Policy: "least_request", PromptTokens: 812 + 2371*(i%6), CachedTokens: 640, ReasoningTokens: 68,
				FinalTokens: 160, Client: []string{"team-search", "team-agents", "batch"}[i%3],
				Around: tap.Around{Upstream: []string{"10.0.0.7:8000", "10.0.0.8:8000"}[i%2]}},
		})
	}
	add(fake.Request{
		ID: "0198f3a1-forecast", Model: lab.Model, API: "responses", Pool: "h200", Began: now.Add(-48 * time.Second),
		Prompt: "Should I cycle to work in Amsterdam tomorrow?", First: 318 * time.Millisecond, Each: 17 * time.Millisecond,
		Output: weather, TokensPerPiece: 1,
		End: tap.EndReport{Policy: "least_request", Finish: "tool_calls", PromptTokens: 1204, CachedTokens: 1024,
			ReasoningTokens: 79, PreambleTokens: 9, ToolCallTokens: 14, Client: "team-agents",
			Around:     tap.Around{Upstream: "10.0.0.8:8000"},
			Recoveries: map[string]uint64{"missing_end": 1}},
	})
	add(fake.Request{
		ID: "0198f3a1-dead", Model: lab.Model, API: "chat", Pool: "h200", Began: now.Add(-33 * time.Second), Prompt: "Hello",
		First: 2 * time.Second, Status: 503, Error: `{"error":{"message":"no server of the model can be reached",` +
			`"type":"server_error","param":null,"code":"server_unavailable"}}`,
		End: tap.EndReport{Client: "team-search", Around: tap.Around{Upstream: "10.0.0.9:8000"}},
	})
	add(fake.Request{
		ID: "0198f3a1-running", Model: "gpt-oss-20b", API: "responses", Pool: "small", Began: now.Add(-4 * time.Second),
		Prompt: "Write a long story.", First: 190 * time.Millisecond, Each: 8 * time.Millisecond, Running: true,
		Output: "<|channel|>analysis<|message|>A long story about a lighthouse.<|end|>", TokensPerPiece: 1,
	})
}
