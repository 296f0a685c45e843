//go:build e2e

package page

import (
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestUp uses the page of harmony up on each host, with a server that is dead: the fleet, the playground with its
// tokens while they come, the request in the list, its replay, and what is said when the last server dies too.
func TestUp(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"wazero", "envoy"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, url := lab.RunSim(t, sim.Options{
				HoldAfter: 12, Script: sim.NewScript(sim.Line{Match: "weather", Tokens: lab.Tokens(called)})})
			dead := "http://" + lab.FreeAddress(t)
			up, _ := lab.StartUp(t, "--host", host, "--model", lab.Model, "--backend", "vllm="+url, "--backend", "vllm="+dead)
			b := open(t, up.Announced(t, `(?m)^page.*: (http://\S+)$`), "/")

			b.see(dead + " in pool " + lab.Model + " is unreachable")
			b.see("connection refused")
			b.see("1 of 2")
			if host == "envoy" {
				b.see("listeners accepted")
			}

			b.do(`location.hash = "#/playground"`)
			b.see(lab.Model)
			b.run(chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#tools", tools),
				chromedp.SendKeys("#prompt", "What is the weather in Paris?"))
			b.allow = append(b.allow, "/live") // a record may come a moment after its request's first token
			b.press("Send")
			b.lane("analysis", "The user wants the")
			b.run(chromedp.Click(`//div[@class="answer"]//summary[text()="Token ids, times and repairs"]`))
			b.see("35644") // the id of "analysis"
			b.see("<|message|>")
			server.Release()
			b.lane("calls", `get_weather{"city":"Paris"}`)
			b.lane("commentary", said)
			b.see("<|call|>")
			b.see("ended with calls")

			b.run(chromedp.Click(`//a[text()="Replay this request"]`))
			b.see("POST /v1/responses")
			b.unfold("What the client sent")
			b.see("What is the weather in Paris?")
			b.until(`document.querySelector('.replay .lane[data-lane="calls"] .text').textContent.includes("get_weather")`)
			b.do(`location.hash = "#/requests"`)
			b.see("ended with calls")
			if host == "envoy" { // wazero's metrics are another matter
				b.do(`location.hash = "#/load"`)
				b.until(`[...document.querySelectorAll(".plot")].some((plot) => plot.innerText.includes("reasoning"))`)
			}

			server.Close()
			b.allow = append(b.allow, "the server responded with a status of 503")
			b.do(`location.hash = "#/fleet"`)
			b.see("has no server that is ready")
			b.do(`location.hash = "#/playground"`)
			b.press("Send")
			b.see("No server of this model can be reached.")
			b.see("server_unavailable")

			stop(t, host, up)
			b.allow = append(b.allow, "net::ERR")
			b.see("no connection")
			b.press("Send")
			b.see("Is harmony still running?")
		})
	}
}

// TestConnection loses the page's server, and finds it again.
func TestConnection(t *testing.T) {
	t.Parallel()
	_, url := lab.RunSim(t, sim.Options{})
	address := lab.FreeAddress(t)
	args := []string{"--host", "wazero", "--admin", address, "--model", lab.Model, "--backend", "vllm=" + url}
	up, _ := lab.StartUp(t, args...)
	b := open(t, "http://"+address, "/")
	b.see("All well")
	b.allow = append(b.allow, "net::ERR")
	stop(t, "wazero", up)
	b.see("no connection")
	before := time.Now()
	lab.StartUp(t, args...)
	b.until(`document.querySelector("#connection").dataset.state === "live"`)
	t.Logf("the page is live again %s after the program", time.Since(before).Round(time.Millisecond))
}

func stop(t *testing.T, host string, up *lab.Program) {
	t.Helper()
	if host == "wazero" {
		lab.StopWazero(t, up)
	} else {
		up.Stop(t, syscall.SIGTERM)
	}
}
