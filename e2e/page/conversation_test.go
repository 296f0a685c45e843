//go:build e2e

package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/sim"
)

// sent are the requests that a gateway got: each one's path, key and body.
type sent struct {
	mu  sync.Mutex
	all []string
}

func (s *sent) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[len(s.all)-1]
}

// openBefore opens the playground of a gateway that notes what it gets.
func openBefore(t *testing.T, o sim.Options) (*tab, *sent) {
	t.Helper()
	_, serverURL := lab.RunSim(t, o)
	gateway, err := url.Parse(lab.RunNative(t, lab.OneModel(serverURL)).URL)
	if err != nil {
		t.Fatal(err)
	}
	got, proxy := &sent{}, httputil.NewSingleHostReverseProxy(gateway)
	proxy.FlushInterval = -1
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got.mu.Lock()
		got.all = append(got.all, strings.Join([]string{r.URL.Path, r.Header.Get("Authorization"),
			r.Header.Get("Anthropic-Version"), string(body)}, " "))
		got.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f := newFleet(t, fake.Well(time.Now()))
	f.gateway = s.URL
	b := open(t, f.serve(t), "/#/playground")
	b.see(lab.Model)
	return b, got
}

// runCurl sends what a command of curl's would send. The shell reads the command, with curl as a function that prints its
// arguments, since not every machine has curl.
func runCurl(t *testing.T, command, key string) {
	t.Helper()
	shell := exec.Command("bash", "-c", `curl() { printf '%s\0' "$@"; }; `+command)
	shell.Env = append(shell.Environ(), "OPENAI_API_KEY="+key)
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, command)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, args[1], strings.NewReader(args[len(args)-1]))
	if err != nil {
		t.Fatal(err)
	}
	for i, flag := range args[:len(args)-1] {
		if flag == "-H" {
			name, value, _ := strings.Cut(args[i+1], ": ")
			req.Header.Set(name, value)
		}
	}
	if args[0] != "-N" || args[len(args)-2] != "-d" {
		t.Errorf("curl's arguments are %q", args)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", resp.StatusCode, err, text)
	}
}

// TestPlaygroundConversation asks twice by each API, with a key, a temperature and a length. The second request has the
// first turn. The command that the page shows sends the same once more.
func TestPlaygroundConversation(t *testing.T) {
	t.Parallel()
	for api, length := range map[string]string{"Chat": "max_completion_tokens", "Channels": "max_completion_tokens",
		"Responses": "max_output_tokens", "Messages": "max_tokens"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			b, got := openBefore(t, sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(answered)},
				sim.Line{Tokens: lab.Tokens(lab.SixWords)}, sim.Line{Tokens: lab.Tokens(lab.SixWords)})})
			b.choose(api)
			b.run(chromedp.Click(`//summary[text()="Key, temperature and length"]`), chromedp.SendKeys("#key", "sk-of-mine"),
				chromedp.SendKeys("#temperature", "0.5"), chromedp.SendKeys("#limit", "321"),
				chromedp.SendKeys("#prompt", "It's the weather in Paris?"))
			b.press("Send")
			b.see(": answered.")
			first := got.last()
			for _, want := range []string{"Bearer sk-of-mine ", `"temperature":0.5`, `"` + length + `":321`} {
				if !strings.Contains(first, want) {
					t.Errorf("%s is not in %s", want, first)
				}
			}
			b.see("Conversation so far")
			b.press("Copy as curl")
			b.until(`!document.querySelector("#view-playground .command").hidden`)
			command := eval[string](b, `document.querySelector("#view-playground .command").textContent`)
			if strings.Contains(command, "sk-of-mine") {
				t.Errorf("the command has the key: %s", command)
			}
			runCurl(t, command, "sk-of-mine")
			byCurl := got.last()
			b.press("Send")
			b.lane("answer", "one two three four five six")
			second := got.last()
			if byCurl != second {
				t.Errorf("the command sent\n%s\nthe page\n%s", byCurl, second)
			}
			for _, want := range []string{"It's the weather in Paris?", "It is sunny in Paris today, and will be tomorrow."} {
				if !strings.Contains(second, want) {
					t.Errorf("the second request has no %q: %s", want, second)
				}
			}
			b.run(chromedp.Click(`//summary[text()="Conversation so far"]`))
			b.press("New conversation")
			b.press("Send")
			b.see(": answered.")
			if third := got.last(); strings.Contains(third, "sunny") {
				t.Errorf("a new conversation has the turns of the old one: %s", third)
			}
		})
	}
}

// TestPlaygroundChecks sees what is wrong with tools and numbers while they are typed, and before anything is sent.
func TestPlaygroundChecks(t *testing.T) {
	t.Parallel()
	b, server := openPlayground(t, sim.Options{})
	b.run(chromedp.Click(`//summary[text()="Instructions and tools"]`), chromedp.SendKeys("#tools", "[{"))
	b.see("Tools are not JSON")
	b.run(chromedp.SendKeys("#tools", `"type":"function","name":"f"}]`))
	b.until(`document.getElementById("tools-error").textContent === ""`)
	b.run(chromedp.Click(`//summary[text()="Key, temperature and length"]`), chromedp.SendKeys("#temperature", "3"),
		chromedp.SendKeys("#prompt", "Hello"))
	b.press("Send")
	b.until(`document.activeElement.id === "temperature"`)
	if n := len(lab.Completions(server)); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestUnknownAddress opens an address that names no view.
func TestUnknownAddress(t *testing.T) {
	t.Parallel()
	b := open(t, newFleet(t, fake.Well(time.Now())).serve(t), "/#/nothing")
	b.see("There is no view #/nothing.")
	b.do(`location.hash = "#/load"`)
	b.until(`document.getElementById("unknown").hidden`)
}
