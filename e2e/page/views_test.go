//go:build e2e

package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

var views = []string{"/#/fleet", "/#/load", "/#/requests", "/#/requests/0198f3a1-forecast", "/#/requests/0198f3a1-dead",
	"/#/playground"}

// settled waits until a view has its content.
func (b *tab) settled() {
	b.t.Helper()
	b.until(`document.querySelector("#connection").dataset.state === "live" &&
		!document.querySelector("main").innerText.includes("Reading")`)
	b.do(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`)
}

// TestFleet sees a well fleet, and how a server dies and an Envoy refuses its listener, without asking again.
func TestFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	b := open(t, f.serve(t), "/")
	for _, text := range []string{"All well", "5 of 5", "3 of 3", "h200", "gpt-oss-20b", "least_request", "spares burst",
		"vLLM 0.33.0", "reached by 3 of 3 Envoys", "edge-fra-1", "/etc/harmony/config.yaml", "listeners accepted"} {
		b.see(text)
	}
	troubled := fake.Troubled(time.Now())
	f.status.Store(&troubled)
	for _, text := range []string{"4 of 5", "2 of 3", fake.DeadServer + " in pool h200 is unreachable",
		"connection refused", "Envoy edge-fra-1 refuses its listeners", fake.NACKText, "listeners refused",
		"reached by 0 of 3 Envoys"} {
		b.see(text)
	}
	well := fake.Well(time.Now())
	well.Configuration.Error = `models[0]: the server "ftp://x" is no URL`
	f.status.Store(&well)
	b.see("The configuration is not in force")
	b.see(well.Configuration.Error)
	if text := eval[string](b, `document.body.innerText`); strings.Contains(text, "Address already in use") {
		t.Error("a refusal that is over is still shown")
	}
}

// TestFleetRollout sees how a rollout goes, and that one is taken back.
func TestFleetRollout(t *testing.T) {
	t.Parallel()
	s := fake.Well(time.Now())
	s.Envoys[1].Chosen, s.Envoys[1].Group = true, "canary"
	s.Rollout = &server.Rollout{State: rollout.Watching, Filter: rollout.Filter{Version: "0.2.0"}, Step: 1,
		Steps: []rollout.Step{{Group: "canary", Share: 1}, {Share: 0.5}, {Share: 1}}, Reason: "watched for 9m more",
		Envoys: 1, Accepted: 1, Started: time.Now(), Since: time.Now()}
	f := newFleet(t, s)
	b := open(t, f.serve(t), "/#/fleet")
	for _, text := range []string{"All well", "group canary", "with the rollout's filter",
		"0.2.0: step 1 of 3 (100 % of group canary), 1 of 1 Envoys have it: watched for 9m more"} {
		b.see(text)
	}
	back := fake.Well(time.Now())
	back.Rollout = &server.Rollout{State: rollout.TakenBack, Filter: rollout.Filter{Version: "0.2.0"}, Step: 1,
		Steps: s.Rollout.Steps, Reason: "vm_failures: 7 of 69", Ended: time.Now().Add(-2 * time.Minute)}
	f.status.Store(&back)
	b.see("A rollout is taken back")
	b.see("0.2.0: taken back 2 min")
	b.see("ago: vm_failures: 7 of 69")
}

// TestFleetDrained sees how a server is drained: it is no failure, its last requests are counted, and then it may be
// stopped. A drained server that is a pool's last one is a failure.
func TestFleetDrained(t *testing.T) {
	t.Parallel()
	s := fake.Well(time.Now())
	drained := &s.Pools[0].Servers[2]
	drained.State, drained.Reason, drained.Since = server.Draining, "7 requests left", time.Now().Add(-50*time.Second)
	f := newFleet(t, s)
	b := open(t, f.serve(t), "/#/fleet")
	for _, text := range []string{"All well", "4 of 4", ", 1 drained", "7 requests left", fake.DeadServer} {
		b.see(text)
	}
	b.until(`[...document.querySelectorAll(".servers .chip, .servers *")].some((e) => e.innerText === "drained")`)
	stopped := fake.Well(time.Now())
	stopped.Pools[0].Servers[2].State = server.Draining
	stopped.Pools[0].Servers[2].Reason = "no request left: it may be stopped"
	f.status.Store(&stopped)
	b.see("no request left: it may be stopped")
	b.see("All well")
	down := fake.Well(time.Now())
	down.Pools[1].Servers[0].State, down.Pools[1].Down = server.Draining, time.Now().Add(-time.Minute)
	f.status.Store(&down)
	b.see("Pool small has no server that is ready")
	back := fake.Well(time.Now())
	f.status.Store(&back)
	b.see("5 of 5")
	b.until(`!document.body.innerText.includes("drained")`)
}

// TestFleetMissing sees Envoys that should be there, a service that is away and a certificate that ends, and which
// versions differ. As long as all Envoys agree no version is shown.
func TestFleetMissing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := fake.Well(now)
	s.ExpectedEnvoys = 3
	f := newFleet(t, s)
	b := open(t, f.serve(t), "/#/fleet")
	b.see("All well")
	b.see("3 of 3")
	b.see("listeners accepted")
	version := s.Envoys[0].Types["listeners"].Version[:8]
	shown := `document.querySelector("main").innerText.includes("` + version + `")`
	if eval[bool](b, shown) {
		t.Error("versions are shown, although all Envoys agree")
	}
	short := fake.Well(now)
	short.ExpectedEnvoys = 5
	short.Services = []server.ServiceStatus{{Name: server.LimitsService, URL: "http://10.0.0.3:18002",
		Problem: "connection refused", Since: now.Add(-time.Minute)},
		{Name: server.ResponsesService, URL: "http://10.0.0.4:1"}}
	short.Certificates = []server.CertificateStatus{{File: "/etc/ca.pem", Expires: now.Add(24 * time.Hour)},
		{File: "/etc/edge.pem", Expires: now.Add(-time.Hour)}, {File: "/etc/good.pem", Expires: now.Add(1000 * time.Hour)}}
	short.Envoys[2].Types["listeners"] = short.Envoys[0].Types["routes"] // another version
	f.status.Store(&short)
	for _, text := range []string{"3 of 5", "2 Envoys of 5 are missing", "envoy.expect is 5, and 3 are connected.",
		"2 more Envoys should be there", "The limits service at http://10.0.0.3:18002 does not work", "Connection refused.",
		"The certificate /etc/ca.pem expires soon", "The certificate /etc/edge.pem has expired", version} {
		b.see(text)
	}
	if text := eval[string](b, `document.querySelector("main").innerText`); strings.Contains(text, "good.pem") ||
		strings.Contains(text, "10.0.0.4") {
		t.Errorf("what is well needs attention:\n%s", text)
	}
	none := fake.Well(now)
	none.ExpectedEnvoys, none.Envoys = 1, nil
	f.status.Store(&none)
	b.see("1 Envoy of 1 is missing")
	b.see("0 of 1")
}

// TestExplained brings up what a word means, by keyboard, by pointer and by touch, and takes it away.
func TestExplained(t *testing.T) {
	t.Parallel()
	b := open(t, newFleet(t, fake.Well(time.Now())).serve(t), "/#/fleet")
	b.see("policy least_request")
	const meaning = "each request goes to the server with the fewest requests"
	away := `document.querySelector("#tip").hidden`
	b.tabTo(`document.activeElement.textContent === "policy least_request"`)
	b.see(meaning)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(away)
	at := eval[[]float64](b, `(() => { const r = document.activeElement.getBoundingClientRect();
		return [r.left + 9, r.top + r.height / 2]; })()`)
	b.run(chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	b.see(meaning)
	b.run(chromedp.MouseEvent("mouseMoved", 1, 1))
	b.until(away)
	b.do(`document.activeElement.click()`)
	b.see(meaning)
	b.do(`location.hash = "#/load"`)
	b.until(away)
}

// TestFleetDown sees a pool without a ready server.
func TestFleetDown(t *testing.T) {
	t.Parallel()
	s := fake.Troubled(time.Now())
	for i := range s.Pools[0].Servers {
		s.Pools[0].Servers[i].State = pools.NotReady
		s.Pools[0].Servers[i].Reason = "the model is not loaded"
	}
	s.Pools[0].Down = time.Now().Add(-3 * time.Minute)
	b := open(t, newFleet(t, s).serve(t), "/#/fleet")
	b.see("Pool h200 has no server that is ready")
	b.see("Its spares answer: burst")
	b.see("down for 3 min")
}

// TestLoad reads a plot by pointer and by keyboard, and sees a new value come.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	b := open(t, f.serve(t), "/#/load")
	b.settled()
	for _, title := range []string{"Tokens generated", "Tokens read", "Requests", "Time to the first token", "Streams",
		"Recoveries", "Servers", "Refusals of Envoys"} {
		b.see(title)
	}
	readout := func() string {
		return eval[string](b, `document.querySelector(".plot .frame").getAttribute("aria-valuetext")`)
	}
	now := readout()
	for _, kind := range []string{"reasoning", "preambles", "tool calls", "answer"} {
		if !strings.Contains(now, kind) {
			t.Errorf("the readout has no %s: %s", kind, now)
		}
	}
	b.tabTo(`document.activeElement.matches(".plot .frame")`)
	b.run(chromedp.KeyEvent(kb.Home))
	first := readout()
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	second := readout()
	if first == now || second == first {
		t.Errorf("the arrow keys do not move the readout: %q, %q, %q", now, first, second)
	}
	if n := eval[int](b, `document.querySelectorAll(".plot .pin line").length`); n < 6 {
		t.Errorf("%d plots show the time of the readout", n)
	}
	b.run(chromedp.KeyEvent(kb.Escape))
	if got := readout(); got != now {
		t.Errorf("Esc leaves the readout at %s, want %s", got, now)
	}
	box := eval[[]float64](b, `(() => { const r = document.querySelector(".plot .frame").getBoundingClientRect();
		return [r.left + r.width / 2, r.top + r.height / 2]; })()`)
	b.run(chromedp.MouseEvent("mouseMoved", box[0], box[1]))
	if got := readout(); got == now {
		t.Error("the pointer does not move the readout")
	}
}

// TestLoadLive sees values come, and gaps, in a history that has just begun.
func TestLoadLive(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	f.history = history.New(history.Options{})
	b := open(t, f.serve(t), "/#/load")
	b.see("Nothing in the last hour.")
	if heights := eval[[]float64](b, `[...new Set([...document.querySelectorAll(".plot .frame")]
		.filter((frame) => frame.checkVisibility()).map((frame) => frame.clientHeight))]`); len(heights) != 1 {
		t.Errorf("plots without values are %v high", heights)
	}
	f.history.Set(time.Now(), history.Streams, nil, 321)
	b.until(`[...document.querySelectorAll(".plot")].some((plot) => plot.innerText.includes("321 running"))`)
	// A plot has the unit of its values, and shows no more time than there is: five minutes.
	texts := eval[[]string](b, `[...document.querySelectorAll('.plot[aria-label="Streams"] svg text')]
		.map((e) => e.textContent)`)
	var times []time.Time
	for _, text := range texts {
		if at, err := time.Parse("15:04", text); err == nil {
			times = append(times, at)
		}
	}
	const day = 24 * time.Hour
	if n := len(times); n < 3 || (times[n-1].Sub(times[0])+day)%day > 5*time.Minute || texts[0] != "running" {
		t.Errorf("the plot of a fleet that has just begun has %s", texts)
	}
}

// TestRequests sees requests come, filters them, and opens one by keyboard.
func TestRequests(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	b := open(t, f.serve(t), "/#/requests")
	b.see("Nothing is recorded yet.")
	addRequests(t, f.recorder, time.Now())
	b.see("503, failed")
	b.see("running")
	rows := func() int { return eval[int](b, `document.querySelectorAll(".requests tbody tr").length`) }
	if n := rows(); n != 17 {
		t.Errorf("%d requests are listed, want 17", n)
	}
	choose := func(list, value string, want int) {
		t.Helper()
		b.do(fmt.Sprintf(`(() => { const list = document.querySelector('select[aria-label=%q]'); list.value = %q;
			list.dispatchEvent(new Event("change")); })()`, list, value))
		b.until(fmt.Sprintf(`document.querySelectorAll(".requests tbody tr").length === %d`, want))
	}
	choose("every status", "5xx", 1)
	choose("every status", "running", 1)
	choose("every status", "200", 15)
	choose("every client", "batch", 4)
	choose("every status", "503", 0)
	choose("every client", "", 1)
	choose("every status", "", 17)
	choose("every model", "gpt-oss-20b", 1)
	choose("every model", "", 17)
	for _, text := range []string{"10.0.0.9:8000", "team-agents", "503"} {
		b.see(text)
	}
	b.run(chromedp.Click(`//label[contains(., "failed or repaired only")]/input`))
	b.until(`document.querySelectorAll(".requests tbody tr").length === 2`)
	b.run(chromedp.SendKeys("#filter", "503"))
	b.until(`document.querySelectorAll(".requests tbody tr").length === 1`)
	b.run(chromedp.SendKeys("#filter", "zzz"))
	b.see("No request fits the filter.")
	b.run(chromedp.SendKeys("#filter", strings.Repeat(kb.Backspace, 6)))
	b.tabTo(`document.activeElement.matches('a[href="#/requests/0198f3a1-dead"]')`)
	b.run(chromedp.KeyEvent(kb.Enter))
	b.see("No server of this model can be reached.")
	b.run(chromedp.NavigateBack())
	b.see("failed or repaired only")
}

// TestRunning sees the tokens of a running request grow.
func TestRunning(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	b := open(t, f.serve(t), "/#/requests")
	b.see("Nothing is recorded yet.")
	story := fake.Request{ID: "0198f3a1-story", Model: lab.Model, API: "responses", Pool: "h200", Began: time.Now(),
		Prompt: "Write a story.", First: time.Millisecond, Each: time.Millisecond, Running: true,
		Output: "<|channel|>analysis<|message|>A story.<|end|>", TokensPerPiece: 1}
	if err := f.recorder.Add(story); err != nil {
		t.Fatal(err)
	}
	tokens := `Number(document.querySelector('.requests td[data-head="out"]')?.innerText)`
	b.until(tokens + " === 7")
	if err := f.recorder.Continue(story.Each, " And one more."); err != nil {
		t.Fatal(err)
	}
	b.until(tokens + " === 11")
}

// TestReplay replays a recorded request: step by step, to the end, and back.
func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	addRequests(t, f.recorder, time.Now())
	b := open(t, f.serve(t), "/#/requests/0198f3a1-forecast")
	lane := func(name string) string {
		return eval[string](b, fmt.Sprintf(`document.querySelector('.replay [data-lane=%q] .text').textContent`, name))
	}
	b.see(`{"city":"Amsterdam","day":"tomorrow","hours":[8,17]}`)
	for _, text := range []string{"POST /v1/responses", "1,204 tokens (1,024 cached)", "ended with calls",
		"1 × an end marker too few", "I look at tomorrow's forecast for Amsterdam first."} {
		b.see(text)
	}
	b.unfold("Token ids, times and repairs")
	for _, text := range []string{"<|channel|>", "missing_end", "200005"} {
		b.see(text)
	}
	b.unfold("What the client sent")
	b.see("Should I cycle to work")
	b.unfold("What the server got")
	b.see("prompt_ids")

	// From the end, a step begins again.
	b.press("Step")
	b.until(`document.querySelector('.replay [data-lane="analysis"] .text').textContent === ""`)
	b.do(`(() => { for (let i = 0; i < 12; i++) [...document.querySelectorAll("button")]
		.find((e) => e.textContent === "Step").click(); })()`)
	b.until(`document.querySelector('.replay [data-lane="analysis"] .text').textContent.startsWith("The user asks")`)
	if got := lane("calls"); got != "" {
		t.Errorf("after some steps the calls are %q", got)
	}
	b.choose("4×")
	b.press("Play")
	b.until(`document.querySelector('.replay [data-lane="commentary"] .text').textContent.startsWith("I look")`)
	b.see(`{"city":"Amsterdam","day":"tomorrow","hours":[8,17]}`)
	b.until(`/^(\S+ s) \/ \1$/.test(document.querySelector(".replay output").textContent)`)
	b.choose("max")
	b.press("Play")
	b.see(`{"city":"Amsterdam","day":"tomorrow","hours":[8,17]}`)
}

// unfold opens a panel of a request.
func (b *tab) unfold(title string) {
	b.t.Helper()
	b.run(chromedp.Click(fmt.Sprintf(`//div[@class="replay"]//summary[text()=%q]`, title)))
}

// TestReplayRunning follows a request that runs, and one that is not there.
func TestReplayRunning(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	addRequests(t, f.recorder, time.Now())
	origin := f.serve(t)
	b := open(t, origin, "/#/requests/0198f3a1-running")
	b.see("This request is running.")
	b.see("A long story about a lighthouse.")
	b.allow = append(b.allow, "404")
	b.do(`location.hash = "#/requests/nothing"`)
	b.see("answers 404")
}

// TestTheme switches the colour scheme, which stays after the page is loaded again.
func TestTheme(t *testing.T) {
	t.Parallel()
	b := open(t, newFleet(t, fake.Well(time.Now())).serve(t), "/")
	b.look(1280, 900, "light")
	ground := func() string { return eval[string](b, `getComputedStyle(document.body).backgroundColor`) }
	system := ground()
	b.run(chromedp.Click("#theme"))
	b.see("Theme: light")
	if got := ground(); got != system {
		t.Errorf("the light scheme is %s, want %s", got, system)
	}
	b.run(chromedp.Click("#theme"))
	b.see("Theme: dark")
	dark := ground()
	if dark == system {
		t.Errorf("both schemes are %s", dark)
	}
	b.run(chromedp.Reload())
	b.see("Theme: dark")
	if got := ground(); got != dark {
		t.Errorf("after a reload the dark scheme is %s, want %s", got, dark)
	}
	b.run(chromedp.Click("#theme"))
	b.see("Theme: system")
	b.look(1280, 900, "dark")
	if got := ground(); got != dark {
		t.Errorf("the system's dark scheme is %s, want %s", got, dark)
	}
}

// TestWidths holds that nothing is wider than the window, at any width and in both schemes, and that every text can be
// read: its contrast is 4.5 at least.
func TestWidths(t *testing.T) {
	t.Parallel()
	f := newFleet(t, hostile(fake.Troubled(time.Now())))
	addRequests(t, f.recorder, time.Now())
	f.gateway = lab.RunNative(t, lab.OneModel("http://127.0.0.1:1")).URL
	b := open(t, f.serve(t), "/")
	for _, view := range views {
		b.do(`location.hash = "` + view[1:] + `"`)
		b.settled()
		b.do(`document.querySelectorAll("details").forEach((e) => (e.open = true))`)
		for _, width := range []int64{390, 768, 1024, 1440, 1920} {
			for _, scheme := range []string{"light", "dark"} {
				b.look(width, 900, scheme)
				b.settled()
				if wide := eval[[]string](b, tooWide); len(wide) > 0 {
					t.Errorf("%s at %d: %d elements are wider than the window: %s", view, width, len(wide), wide[0])
				}
				if width != 390 && width != 1920 {
					continue
				}
				if pale := eval[[]string](b, tooPale); len(pale) > 0 {
					slices.Sort(pale)
					t.Errorf("%s at %d, %s: texts are hard to read:\n%s", view, width, scheme,
						strings.Join(slices.Compact(pale), "\n"))
				}
			}
		}
	}
}

// hostile makes names as long and as rude as they may come.
func hostile(s server.Status) server.Status {
	s.Pools[1].Name = strings.Repeat("pool-with-a-long-name-", 12)
	s.Pools[1].Models = []string{strings.Repeat("W", 300)}
	s.Pools[1].Servers[0].URL = "http://" + strings.Repeat("very-long-label.", 15) + "example:8000"
	s.Pools[1].Servers[0].Reason = strings.Repeat("x", 600)
	s.Pools[1].Problem = strings.Repeat("y", 400)
	s.Envoys[0].ID = strings.Repeat("edge", 60)
	s.Configuration.File = "/" + strings.Repeat("folder", 60)
	return s
}

const tooWide = `(() => {
	const wide = [];
	if (document.documentElement.scrollWidth <= innerWidth) return wide;
	for (const e of document.querySelectorAll("body *")) {
		if (e.getBoundingClientRect().right > innerWidth + 1) wide.push(e.outerHTML.slice(0, 200));
	}
	return wide;
})()`

// tooPale computes the contrast of every text with what is behind it, as WCAG does.
const tooPale = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const cache = new Map();
	const rgba = (css) => {
		if (!cache.has(css)) {
			canvas.clearRect(0, 0, 1, 1);
			canvas.fillStyle = css;
			canvas.fillRect(0, 0, 1, 1);
			const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
			cache.set(css, [r, g, b, a / 255]);
		}
		return cache.get(css);
	};
	const over = ([r, g, b, a], under) => [r, g, b].map((v, i) => v * a + under[i] * (1 - a));
	const light = (c) => {
		const [r, g, b] = c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		if (!e) return [255, 255, 255];
		const style = getComputedStyle(e);
		const colour = rgba(style.backgroundColor);
		return colour[3] === 1 ? colour.slice(0, 3) : over(colour, behind(e.parentElement));
	};
	const pale = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		const e = node.parentElement;
		if (node.data.trim() === "" || !e.checkVisibility({ visibilityProperty: true })) continue;
		if (e.closest(":disabled, .sr, .skip")) continue;
		if (e.closest("details:not([open])") && !e.closest("summary")) continue;
		let opacity = 1;
		for (let at = e; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
		const style = getComputedStyle(e);
		const under = behind(e);
		const text = rgba(e.closest("svg") ? style.fill : style.color);
		const [a, b] = [light(over([...text.slice(0, 3), text[3] * opacity], under)), light(under)].sort((x, y) => y - x);
		const contrast = (a + 0.05) / (b + 0.05);
		if (contrast >= 4.5) continue;
		pale.push(contrast.toFixed(2) + " " + e.tagName + "." + e.className + " " + node.data.trim().slice(0, 40));
	}
	return pale;
})()`
