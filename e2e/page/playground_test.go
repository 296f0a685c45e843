//go:build e2e

package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	thought = "The user wants the weather in Paris, so I look it up."
	said    = "I look that up for you."
	tools   = `[{"type":"function","name":"get_weather",` +
		`"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]`
	called = "<|channel|>analysis<|message|>" + thought + "<|end|><|start|>assistant" +
		"<|channel|>commentary<|message|>" + said + "<|end|><|start|>assistant" +
		`<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>`
	answered = "<|channel|>analysis<|message|>" + thought + "<|end|><|start|>assistant<|channel|>final<|message|>" +
		"It is sunny in Paris today, and will be tomorrow.<|return|>"
)

// openPlayground opens the playground of a gateway before a simulated server.
func openPlayground(t *testing.T, o sim.Options) (*tab, *sim.Server) {
	t.Helper()
	server, url := lab.RunSim(t, o)
	f := newFleet(t, fake.Well(time.Now()))
	f.gateway = lab.RunNative(t, lab.OneModel(url)).URL
	b := open(t, f.serve(t), "/#/playground")
	b.see(lab.Model)
	return b, server
}

// choose chooses an API.
func (b *tab) choose(api string) {
	b.t.Helper()
	b.run(chromedp.Click(fmt.Sprintf(`//label[span[text()=%q]]`, api)))
}

func (b *tab) press(button string) {
	b.t.Helper()
	b.run(chromedp.Click(fmt.Sprintf(`//button[text()=%q and not(@disabled)]`, button)))
}

// lane waits until a lane of the playground has a text.
func (b *tab) lane(name, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelector('#view-playground [data-lane=%q] .text').textContent.includes(%s)`, name,
		lab.Quote(text)))
}

// TestPlayground asks by each API, sees the lanes fill in order while the stream runs, and its end.
func TestPlayground(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"Chat", "Channels", "Responses", "Messages"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			b, server := openPlayground(t, sim.Options{
				HoldAfter: 8, Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(called)})})
			b.choose(api)
			b.run(chromedp.SendKeys("#prompt", "What is the weather in Paris?"))
			b.run(chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#tools", tools))
			b.press("Send")
			b.lane("analysis", "The user wants")
			b.see("Answering for")
			if text := eval[string](b, `document.querySelector('[data-lane="calls"] .text').textContent`); text != "" {
				t.Errorf("calls are %q while the model thinks", text)
			}
			server.Release()
			b.lane("analysis", thought)
			b.lane("calls", `get_weather{"city":"Paris"}`)
			b.see("ended with calls")
			want := []string{"analysis", "commentary", "calls"}
			if api == "Chat" || api == "Messages" { // the content is the answer's and a preamble's
				want[1] = "answer"
				b.lane("answer", said)
			} else {
				b.lane("commentary", said)
			}
			got := eval[[]string](b, `[...document.querySelectorAll("#view-playground .lane[data-order]")]
				.sort((a, b) => a.dataset.order - b.dataset.order).map((lane) => lane.dataset.lane)`)
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("the lanes are filled in the order %v, want %v", got, want)
			}
		})
	}
}

// TestPlaygroundAnswer sees an answer without calls, and sends the next one.
func TestPlaygroundAnswer(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"Responses", "Messages"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			playgroundAnswer(t, api)
		})
	}
}

func playgroundAnswer(t *testing.T, api string) {
	t.Helper()
	b, server := openPlayground(t, sim.Options{
		Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(answered)}, sim.Line{Tokens: lab.Tokens(lab.SixWords)})})
	b.run(chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#instructions", "Be brief."))
	b.choose(api)
	b.choose("high")
	b.run(chromedp.SendKeys("#prompt", "What is the weather in Paris?"))
	b.press("Send")
	b.lane("answer", "It is sunny in Paris today, and will be tomorrow.")
	b.see(": answered.")
	b.see("tokens/s")
	prompted, generated := len(lab.Completions(server)[0].PromptIDs), len(lab.Tokens(answered))
	for name, want := range map[string]string{"Prompt": fmt.Sprintf("%d tokens", prompted),
		"Generated": fmt.Sprintf("%d tokens", generated)} {
		got := eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("#view-playground dt")]
			.find((name) => name.textContent === %q)?.nextSibling.textContent ?? ""`, name))
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !eval[bool](b, `document.querySelector("#view-playground dl").textContent.includes("Reasoning")`) {
		t.Error("the facts have no tokens of reasoning")
	}
	prompt := lab.Vocabulary.DecodeString(lab.Completions(server)[0].PromptIDs)
	for _, part := range []string{"Be brief.", "Reasoning: high", "What is the weather in Paris?"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt has no %q: %s", part, prompt)
		}
	}
	b.press("Send")
	b.lane("answer", "one two three four five six")
	b.until(`document.querySelector('#view-playground .lane[data-lane="analysis"]').dataset.state === "empty"`)
	got := eval[string](b, `document.querySelector('#view-playground [data-lane="answer"] .text').textContent`)
	if strings.Contains(got, "sunny") {
		t.Errorf("the next answer begins with the last one: %s", got)
	}
}

// TestPlaygroundCancel cancels an answer by the button and by the keyboard. The server is disconnected.
func TestPlaygroundCancel(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"button", "keyboard"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			b, server := openPlayground(t, sim.Options{
				HoldAfter: 8, Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(answered)})})
			b.run(chromedp.SendKeys("#prompt", "What is the weather in Paris?"))
			b.press("Send")
			b.lane("analysis", "The user wants")
			if by == "button" {
				b.press("Cancel")
			} else {
				b.run(chromedp.KeyEvent(kb.Escape))
			}
			b.see("Cancelled after")
			b.lane("analysis", "The user wants") // what came stays
			b.until(`document.activeElement.textContent === "Send"`)
			if errors := eval[bool](b, `document.querySelector("#view-playground .error").hidden`); !errors {
				t.Error("a cancelled answer is shown as an error")
			}
			_, err := server.Await(b.ctx, func(all []sim.Request) bool { return len(all) > 0 && all[len(all)-1].Aborted })
			if err != nil {
				t.Fatalf("the server still answers: %v", err)
			}
		})
	}
}

// TestPlaygroundErrors sees each failure in words, with its code and what to do.
func TestPlaygroundErrors(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, gateway string, want ...string) *tab {
		t.Helper()
		f := newFleet(t, fake.Well(time.Now()))
		f.gateway = gateway
		b := open(t, f.serve(t), "/#/playground")
		b.allow = append(b.allow, "the server responded with a status of", "net::ERR")
		b.see(lab.Model)
		b.run(chromedp.SendKeys("#prompt", "Hello"))
		b.press("Send")
		for _, text := range want {
			b.see(text)
		}
		b.until(`document.activeElement.textContent === "Send"`)
		return b
	}
	t.Run("dead server", func(t *testing.T) {
		t.Parallel()
		gateway := lab.RunWazero(t, lab.OneModel("http://"+lab.FreeAddress(t)))
		ask(t, gateway.URL, "No server of this model can be reached.", "HTTP 503", "server_unavailable", "Fleet",
			"Failed after")
	})
	t.Run("server dies", func(t *testing.T) {
		t.Parallel()
		b, server := openPlayground(t, sim.Options{HoldAfter: 8, Script: sim.NewScript(sim.Line{
			Tokens: lab.Tokens(answered), Fault: &sim.Fault{Kind: sim.FaultReset, After: 9}})})
		b.run(chromedp.SendKeys("#prompt", "Hello"))
		b.press("Send")
		b.lane("analysis", "The user wants")
		b.allow = append(b.allow, "net::ERR")
		server.Release()
		b.see("What came before is below")
		b.see("Fleet shows whether the servers are well.")
		b.lane("analysis", "The user wants")
	})
	t.Run("refusal", func(t *testing.T) {
		t.Parallel()
		_, url := lab.RunSim(t, sim.Options{Models: []string{"another"}})
		ask(t, lab.RunNative(t, lab.OneModel(url)).URL, "The server does not know the model by this name.",
			"server_model_not_found", "--server-model")
	})
	t.Run("refusal in Anthropic's form", func(t *testing.T) {
		t.Parallel()
		b, server := openPlayground(t, sim.Options{Fault: sim.Fault{Kind: sim.FaultStatus, Status: 429}})
		b.allow = append(b.allow, "the server responded with a status of")
		b.choose("Messages")
		b.run(chromedp.SendKeys("#prompt", "Hello"))
		b.press("Send")
		b.see("The server or the gateway limits requests.")
		b.see("HTTP 429")
		b.see("rate_limit_error")
		if len(server.Requests()) == 0 {
			t.Error("the server was not asked")
		}
	})
	t.Run("no gateway", func(t *testing.T) {
		t.Parallel()
		ask(t, "http://"+lab.FreeAddress(t), "The answer failed.", "HTTP 502")
	})
	t.Run("no answer of a gateway", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<h1>what?</h1>", http.StatusTeapot)
		}))
		t.Cleanup(s.Close)
		ask(t, s.URL, "no error in the gateway's form", "HTTP 418")
	})
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		b, server := openPlayground(t, sim.Options{})
		b.run(chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#tools", "[{"))
		b.press("Send")
		b.see("Tools are not JSON")
		b.until(`document.activeElement.id === "tools" && document.activeElement.getAttribute("aria-invalid") === "true"`)
		if n := len(lab.Completions(server)); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// TestPlaygroundKeyboard asks and reads by keyboard alone.
func TestPlaygroundKeyboard(t *testing.T) {
	t.Parallel()
	b, _ := openPlayground(t, sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(answered)})})
	b.do(`document.activeElement.blur()`)
	b.tabTo(`document.activeElement.id === "prompt"`)
	b.run(chromedp.KeyEvent("What is the weather in Paris?"))
	b.run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(kb.ModifierCtrl)))
	b.lane("answer", "It is sunny in Paris today")
	b.see(": answered.")
	b.tabTo(`document.activeElement.getAttribute("aria-label") === "Answer"`)
}

// tabTo presses Tab until the focus is where it is wanted. Every stop on the way is to be seen, and has a name.
func (b *tab) tabTo(script string) {
	b.t.Helper()
	for range 60 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, script) {
			return
		}
		stop := eval[string](b, `(() => {
			const e = document.activeElement;
			const name = e.getAttribute("aria-label") ?? (e.labels?.[0] ?? e).textContent.trim();
			const shown = e.matches(".segmented input") ? e.nextElementSibling : e;
			const outline = getComputedStyle(shown);
			return name === "" ? "no name: " + e.outerHTML
				: outline.outlineStyle === "none" ? "no visible focus: " + e.outerHTML : "";
		})()`)
		if stop != "" && !strings.Contains(stop, "<body") {
			b.t.Errorf("a stop of the keyboard has %s", stop)
		}
	}
	b.t.Fatalf("the keyboard does not come to %s", script)
}
