//go:build e2e

package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	// script runs if anything reads it as HTML.
	script = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>` +
		`<a href="javascript:window.hacked=1">x</a>`
	// override shows what follows from right to left: the extension of "exe.txt" would seem to be "txt.exe".
	override = "\u202Etxt.exe\u2066\u200B"
	// maxNodes is how many elements the page may have, whatever it shows.
	maxNodes = 12_000
)

// TestHostileText holds that no text becomes markup, wherever it comes from, and that marks of direction are spelled in
// names and arguments.
func TestHostileText(t *testing.T) {
	t.Parallel()
	s := fake.Troubled(time.Now())
	s.Pools[0].Name += script + override
	s.Pools[0].Models = append(s.Pools[0].Models, script)
	s.Pools[0].Servers[0].URL += "/" + script
	s.Pools[0].Servers[2].Reason = script + override
	s.Envoys[0].ID = script + override
	refused := s.Envoys[2].Types["listeners"]
	refused.Error += script + override
	s.Envoys[2].Types["listeners"] = refused
	s.Configuration.Error = script
	text := "<|channel|>analysis<|message|>" + script + "<|end|><|start|>assistant<|channel|>commentary to=functions.f" +
		"<|message|>" + script + override + "<|call|>"
	_, url := lab.RunSim(t, sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(text)})})
	f := newFleet(t, s)
	f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
	err := f.recorder.Add(fake.Request{ID: "hostile", Model: script, API: "responses", Pool: script, Prompt: script,
		Output: text, Began: time.Now(), End: tap.EndReport{Finish: script}})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, f.serve(t), "/")
	b.see("The configuration is not in force")
	b.until(`[...document.querySelectorAll(".envoy h3")].some((e) => e.textContent.includes("<img src=x"))`)
	b.do(`location.hash = "#/requests"`)
	b.see(`<img src=x onerror`)
	b.do(`location.hash = "#/requests/hostile"`)
	b.see("What the client got")
	b.do(`document.querySelectorAll("details").forEach((e) => (e.open = true))`)
	b.until(`document.querySelector('.replay .lane[data-lane="analysis"] .text').textContent === ` + lab.Quote(script))
	b.until(`document.querySelector('.replay .lane[data-lane="calls"] .text').textContent.includes("\\u{202e}txt.exe")`)
	b.do(`location.hash = "#/playground"`)
	b.run(chromedp.SendKeys("#prompt", script))
	b.run(chromedp.SendKeys("#tools", strings.Replace(tools, "get_weather", "f", 1)))
	b.press("Send")
	b.lane("analysis", script)
	b.lane("calls", `\u{202e}txt.exe`)
	if eval[bool](b, `"hacked" in window`) {
		t.Error("a text has become a script")
	}
	if n := eval[int](b, `document.querySelectorAll("main img, main script, main a[href^=javascript]").length`); n != 0 {
		t.Errorf("texts have become %d elements", n)
	}
	if raw := eval[bool](b, `[...document.querySelectorAll("h3, bdi, .name, .arguments, pre, strong")].some((e) =>
		e.textContent.includes("\u202e"))`); raw {
		t.Error("a mark of direction is not spelled")
	}
}

// words is a text of so many tokens.
func words(n int) string { return strings.Repeat(" word", n) }

// TestHugeAnswer streams 100,000 tokens into the playground, with lines and without, and opens a record of as many. The
// page has all of it, shows the end, and goes on answering the keyboard.
func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	const tokens = 100_000
	for name, text := range map[string]string{"one line": words(tokens), "lines": strings.Repeat(" a line\n", tokens/3)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := "<|channel|>final<|message|>" + text + " the end<|return|>"
			_, url := lab.RunSim(t, sim.Options{TokensPerChunk: 4, Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(output)})})
			f := newFleet(t, fake.Well(time.Now()))
			f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
			err := f.recorder.Add(fake.Request{ID: "huge", Model: lab.Model, API: "responses", Prompt: "x", Output: output,
				TokensPerPiece: 1, Each: time.Millisecond, Began: time.Now().Add(-time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, f.serve(t), "/#/playground")
			b.see(lab.Model)
			b.run(chromedp.SendKeys("#prompt", "Write much."))
			// The longest time that the page did not draw.
			b.do(`window.longest = 0; {
				let before = performance.now();
				const tick = (now) => {
					longest = Math.max(longest, now - before);
					before = now;
					requestAnimationFrame(tick);
				};
				requestAnimationFrame(tick);
			}`)
			began := time.Now()
			b.press("Send")
			b.see(": answered.")
			b.lane("answer", "the end")
			stream := time.Since(began)
			b.huge("#view-playground", text)
			paused := eval[float64](b, "longest")
			b.do(`longest = 0; location.hash = "#/requests/huge"`)
			began = time.Now()
			b.until(`document.querySelector('.replay .lane[data-lane="answer"] .text')?.textContent.includes("the end")`)
			b.huge(".replay", text)
			t.Logf("%d tokens: the stream took %s with a longest pause of %.0f ms, the record %s and %.0f ms", tokens,
				stream.Round(time.Millisecond), paused, time.Since(began).Round(time.Millisecond), eval[float64](b, "longest"))
		})
	}
}

// huge holds that a view has all of a text, and few elements.
func (b *tab) huge(view, text string) {
	b.t.Helper()
	facts := eval[string](b, fmt.Sprintf(
		`document.querySelector('%s .lane[data-lane="answer"] .facts').textContent.replaceAll(",", "")`, view))
	if want := fmt.Sprintf("%d characters", len(text)+len(" the end")); !strings.HasPrefix(facts, want) {
		b.t.Errorf("%s says %s, want %s", view, facts, want)
	}
	if n := eval[int](b, `document.querySelectorAll("*").length`); n > maxNodes {
		b.t.Errorf("the page has %d elements, more than %d", n, maxNodes)
	}
}

// TestHugeFleet shows 500 pools with 5,000 servers and 2,000 Envoys, of which every state changes, and 10,000 requests.
func TestHugeFleet(t *testing.T) {
	t.Parallel()
	at := func(round int) server.Status {
		s := fake.Troubled(time.Now())
		for i := range 500 {
			p := s.Pools[0]
			p.Name, p.Servers = fmt.Sprintf("pool-%03d", i), nil
			for j := range 10 {
				one := s.Pools[0].Servers[(i+j+round)%3]
				one.URL = fmt.Sprintf("http://10.%d.%d.7:8000", i, j)
				p.Servers = append(p.Servers, one)
			}
			s.Pools = append(s.Pools, p)
		}
		for i := range 2000 {
			e := s.Envoys[(i+round)%3]
			e.ID = fmt.Sprintf("edge-%04d", i)
			s.Envoys = append(s.Envoys, e)
		}
		return s
	}
	f := newFleet(t, at(0))
	for i := range 10_000 {
		err := f.recorder.Add(fake.Request{ID: fmt.Sprintf("r%05d", i), Model: lab.Model, API: "chat", Prompt: "x",
			Began: time.Now(), Output: "<|channel|>final<|message|>x<|return|>"})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, f.serve(t), "/")
	b.see("pool-000")
	began := time.Now()
	for round := range 3 {
		s := at(round)
		s.Version = fmt.Sprintf("round-%d", round)
		f.status.Store(&s)
		b.see(s.Version)
	}
	t.Logf("three changes of all states were shown after %s", time.Since(began).Round(time.Millisecond))
	if n := eval[int](b, `document.querySelectorAll("*").length`); n > maxNodes {
		t.Errorf("the page has %d elements, more than %d", n, maxNodes)
	}
	b.do(`location.hash = "#/requests"`)
	b.until(`document.querySelectorAll(".requests tbody tr").length >= 100`)
}
