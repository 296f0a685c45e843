//go:build e2e

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	second = "gpt-oss-20b"   // the fleet's second model
	story  = "Write a story" // what is answered for minutes
)

// realFleet is a control plane with two Envoys, and two models on three servers and one. Nobody listens at the gateway
// yet.
type realFleet struct {
	*testing.T
	servers [4]*sim.Server
	urls    [4]string
	folder  string
	records string                    // the recorder's folder
	config  string                    // what follows the line "listen"
	page    string                    // its origin
	gateway string                    // the gateway's address, which only edge-1 can listen at
	edges   [2]atomic.Pointer[string] // where the Envoys listen now
}

// startRealFleet starts a fleet, and returns when each Envoy has a listener.
func startRealFleet(t *testing.T) *realFleet {
	t.Helper()
	f := &realFleet{T: t, folder: t.TempDir(), records: t.TempDir(), gateway: lab.FreeAddress(t)}
	for i := range f.servers {
		o := sim.Options{TokensPerSecond: 150, TimeToFirstToken: 40 * time.Millisecond, Script: sim.NewScript(
			sim.Line{Last: story, Tokens: lab.Tokens("<|channel|>final<|message|>" + words(10_000) + "<|return|>")},
			sim.Line{Last: "weather", Tokens: lab.Tokens(called)})}
		if i == len(f.servers)-1 {
			o.Kind, o.Models = sim.SGLang, []string{second}
		}
		f.servers[i], f.urls[i] = lab.RunSim(t, o)
	}
	key := contract.TapKeyVariable + "=" + "0123456789abcdef0123456789abcdef"
	recorder := lab.RunHarmony(t, []string{key}, "record", "--listen", "127.0.0.1:0", f.records)
	f.config = fmt.Sprintf(`
tap: { url: %q }
models:
  - { name: %s, pool: h200 }
  - { name: %s, pool: small }
pools:
  - { name: h200, policy: least_request, health: { interval: 1s }, load: { interval: 1s }, servers: [%q, %q, %q] }
  - { name: small, kind: sglang, health: { interval: 1s }, load: { interval: 1s }, servers: [%q] }
`, recorder.Announced(t, `to (http://\S+)\n`), lab.Model, second, f.urls[0], f.urls[1], f.urls[2], f.urls[3])
	f.listen("127.0.0.1:0")

	// Plain names, since the page shows them.
	if err := os.Symlink(lab.Tool(t, "HARMONY_WASM"), filepath.Join(f.folder, "harmony-filter.wasm")); err != nil {
		t.Fatal(err)
	}
	plane := exec.Command(lab.Tool(t, "HARMONY_BIN"), "controlplane", "--config", "config.yaml", "--state", "none",
		"--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--wasm", "harmony-filter.wasm",
		"--gateway", "http://"+f.gateway)
	plane.Dir, plane.Env = f.folder, append(os.Environ(), key)
	program := lab.Run(t, plane)
	xds := program.Announced(t, `serving Envoys on (\S+)\n`)
	f.page = program.Announced(t, `status: (http://\S+)/status\n`)
	for i, boot := range [][]byte{lab.EdgeBootstrap(t, xds, "edge-1"), f.taken(lab.EdgeBootstrap(t, xds, "edge-2"))} {
		_, address := lab.StartEdge(t, boot, key)
		f.edges[i].Store(&address)
	}
	return f
}

// listen writes the configuration, with the address at which Envoys are to listen.
func (f *realFleet) listen(address string) {
	f.Helper()
	path := filepath.Join(f.folder, "config.yaml")
	if err := os.WriteFile(path+".new", []byte("listen: "+address+f.config), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.Fatal(err)
	}
}

// taken gives a bootstrap a listener of its own that has the gateway's address, so that this Envoy refuses to listen
// there. It takes no connection, which edge-1 is to get.
func (f *realFleet) taken(bootstrap []byte) []byte {
	f.Helper()
	host, port, err := net.SplitHostPort(f.gateway)
	if err != nil {
		f.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		f.Fatal(err)
	}
	var b map[string]any
	if err := json.Unmarshal(bootstrap, &b); err != nil {
		f.Fatal(err)
	}
	echo := map[string]any{"name": "echo", "typed_config": map[string]any{
		"@type": "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"}}
	b["static_resources"].(map[string]any)["listeners"] = []any{map[string]any{
		"name": "old", "bind_to_port": false,
		"address":       map[string]any{"socket_address": map[string]any{"address": host, "port_value": number}},
		"filter_chains": []any{map[string]any{"filters": []any{echo}}},
	}}
	if bootstrap, err = json.Marshal(b); err != nil {
		f.Fatal(err)
	}
	return bootstrap
}

// load sends requests to each Envoy, and for each model, until the test ends.
func (f *realFleet) load() {
	ctx, cancel := context.WithCancel(f.Context())
	var sending sync.WaitGroup
	for i := range 8 {
		client := lab.HTTP1(f.T)
		body := fmt.Sprintf(`{"model":%q,"input":"How is the weather?","stream":true,"tools":%s}`,
			[]string{lab.Model, lab.Model, lab.Model, second}[i/2], tools)
		sending.Go(func() {
			for ctx.Err() == nil {
				lab.Ask(client, "http://"+*f.edges[i%2].Load()+lab.ResponsesPath, body)
				time.Sleep(lab.Pause)
			}
		})
	}
	f.Cleanup(func() {
		cancel()
		sending.Wait()
	})
}

// trouble kills a server, and moves the Envoys to the gateway's address, which edge-2 refuses.
func (f *realFleet) trouble() {
	f.servers[2].Close()
	f.listen(f.gateway)
}

// seeTrouble sees what is wrong in the view of the fleet, and sends edge-1's load to where it listens now.
func (f *realFleet) seeTrouble(b *tab) {
	f.Helper()
	for _, text := range []string{
		"3 of 4", f.urls[2] + " in pool h200 is unreachable", "no Envoy reaches it", "connection refused",
		"1 of 2", "Envoy edge-2 refuses its listeners", "Refused: harmony", "listeners refused", "listeners accepted",
		"duplicate address '" + f.gateway + "'",
	} {
		b.see(text)
	}
	f.edges[0].Store(&f.gateway)
}

// TestControlPlane uses the page of a real control plane with two real Envoys: a gateway that is down, a server that
// dies under load, a listener that an Envoy refuses, the load, and the playground through the gateway, whose tokens are
// in the recorder's folder.
func TestControlPlane(t *testing.T) {
	t.Parallel()
	f := startRealFleet(t)
	b := open(t, f.page, "/")
	for _, text := range []string{"All well", "4 of 4", "2 of 2", "edge-1", "edge-2", "reached by 2 of 2 Envoys"} {
		b.see(text)
	}
	b.do(`location.hash = "#/playground"`)
	b.see("This page has no records")
	b.allow = append(b.allow, "the server responded with a status of 502")
	b.run(chromedp.SendKeys("#prompt", "What is the weather in Paris?"),
		chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#tools", tools))
	b.press("Send")
	b.see("HTTP 502")
	b.see("the gateway http://" + f.gateway + " does not answer")

	f.load()
	f.trouble()
	b.do(`location.hash = "#/fleet"`)
	f.seeTrouble(b)

	b.do(`location.hash = "#/playground"`)
	b.press("Send")
	b.lane("analysis", thought)
	b.lane("commentary", said)
	b.lane("calls", "get_weather")
	b.see("ended with calls")
	f.recorded(b, `"ids":[`)
	if !eval[bool](b, `document.querySelector("#view-playground .panel").hidden`) {
		t.Error("a panel for token ids is shown, which never come")
	}
	b.do(`document.querySelector("#prompt").value = ` + lab.Quote(story))
	b.press("Send")
	b.lane("answer", "word word word")
	b.press("Cancel")
	b.see("Cancelled after")
	f.recorded(b, `"cut":"client"`)
	b.do(`location.hash = "#/requests"`)
	b.see("This page has no records. harmony up keeps them, and harmony record does for a fleet.")
	b.until(`document.querySelector('nav a[href="#/requests"]').hidden`)

	b.do(`location.hash = "#/load"`)
	for plot, names := range map[string][]string{
		"Tokens generated": {"reasoning", "preambles", "tool calls"}, "Tokens read": {"prompt"}, "Requests": {"2xx"},
		"Time to the first token": {"median", "95th percentile"}, "Streams": {"streams"},
		"Servers": {"ready", "unreachable"}, "Refusals of Envoys": {"NACKs"},
	} {
		for _, name := range names {
			b.number(plot, name)
		}
	}

	first := strings.TrimPrefix(f.urls[0], "http://")
	b.until(fmt.Sprintf(`[...document.querySelectorAll(".numbers tbody tr")].some((row) =>
		row.innerText.includes(%q) && row.innerText.includes("h200") && / m?s$/.test(row.innerText.trim()) &&
		/[1-9]/.test(row.children[2].textContent) && /^[0-9]/.test(row.children[3].textContent))`, first))
	for kind, name := range map[string]string{"pool": "small", "model": lab.Model} {
		b.do(fmt.Sprintf(`document.querySelector('input[name="numbers-of"][value=%q]').click()`, kind))
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".numbers tbody tr")].some((row) =>
			row.children[0].textContent === %q && /[1-9]/.test(row.children[1].textContent))`, name))
	}

	b.do(`location.hash = "#/fleet"`)
	for _, tile := range []string{"Streams", "Tokens generated/s", "Requests/s"} {
		b.until(fmt.Sprintf(`[...document.querySelectorAll(".tile")].some((tile) =>
			tile.firstChild.textContent === %q && /[1-9]/.test(tile.lastChild.textContent))`, tile))
	}
	b.shoot("fleet")
}

// number waits until a line of a plot has a value other than 0 in the last minutes, and reads it by keyboard: a refusal
// is a moment in the plot.
func (b *tab) number(plot, line string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(() => {
		const plot = document.querySelector('.plot[aria-label=%q]');
		const press = (key) => plot.querySelector(".frame").dispatchEvent(new KeyboardEvent("keydown", { key }));
		const read = () => [...plot.querySelectorAll(".legend li")].some((line) =>
			line.children[1].textContent === %q && /[1-9]/.test(line.children[2].textContent));
		let found = read();
		for (let i = 0; i < 60 && !found; i++) {
			press("ArrowLeft");
			found = read();
		}
		press("Escape");
		return found;
	})()`, plot, line))
}

// recorded waits until the recorder's file of the playground's last request has a text.
func (f *realFleet) recorded(b *tab, text string) {
	f.Helper()
	id := eval[string](b, `document.querySelector("#view-playground .record").textContent.replace("Request ", "")`)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		files, err := filepath.Glob(filepath.Join(f.records, "*-"+id+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		lines, err := os.ReadFile(files[0])
		if err != nil {
			f.Fatal(err)
		}
		if strings.Contains(string(lines), text) {
			return
		}
	}
	f.Fatalf("the recorder has no record of %q with %s", id, text)
}
