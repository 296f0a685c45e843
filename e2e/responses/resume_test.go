//go:build e2e

package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// resumeKeys are for the variable of the environment with the keys that the filter and the service have in common.
const resumeKeys = "HARMONY_SEAL_KEYS=a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// resumeAnswer is what the model says to requests whose answers are cut.
func resumeAnswer() []uint32 {
	return lab.Tokens("<|channel|>analysis<|message|>The user wants a list 👩‍👧, so I count: " +
		strings.Repeat("one and two, ", 8) +
		"and that is all.<|end|><|start|>assistant<|channel|>final<|message|># 中文 and 🎉🎉\n\n" +
		strings.Repeat("- an item that is told once\n", 8) + "This is the END of it, and more.<|return|>")
}

// resumeAPIs are requests whose answers are cut. PLACE says where.
var resumeAPIs = map[string]quietly{
	"responses": {"responses", `"stream":true,"store":false,"temperature":0,"top_logprobs":2,` +
		`"include":["message.output_text.logprobs"],"input":"PLACE"`},
	"chat": {"chat/completions", `"stream":true,"temperature":0,"logprobs":true,"top_logprobs":2,"stop":["END of"],` +
		`"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"PLACE"}]`},
	"messages": {"messages", `"stream":true,"temperature":0,"max_tokens":2048,"stop_sequences":["END of"],` +
		`"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"PLACE"}]`},
}

var unsteady = regexp.MustCompile(`((resp|rs|msg|chatcmpl)[_-])[0-9a-z]+|("(?:created|created_at|completed_at)": ?)[0-9]+|` +
	`("(?:encrypted_content|signature)": ?")[^"]*`)

// steady asks, and returns the stream without ids, times and nonces.
func steady(t *testing.T, g *gateway, q quietly, place string) string {
	t.Helper()
	q.members = strings.ReplaceAll(q.members, "PLACE", place)
	a := q.ask(g)
	if a.Err != nil || a.Status != 200 {
		t.Errorf("%s: %d %v %s", place, a.Status, a.Err, a.Body)
	}
	return unsteady.ReplaceAllString(a.Body, "$1$3$4")
}

// inBackground makes a response in the background, and returns its output and usage without ids and times.
func inBackground(t *testing.T, g *gateway, place string) string {
	t.Helper()
	var o struct {
		ID, Status    string
		Output, Usage json.RawMessage
	}
	a := lab.Do(lab.HTTP1(t), "POST", g.URL+"/v1/responses", nil, strings.NewReader(g.Body(
		`"background":true,"temperature":0,"input":"`+place+`"`)))
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(lab.Pause) {
		if err := json.Unmarshal([]byte(a.Body), &o); err != nil || a.Err != nil || a.Status != 200 {
			t.Errorf("%s: %v %v: %d %s", place, err, a.Err, a.Status, a.Body)
			break
		}
		if o.Status != "queued" && o.Status != "in_progress" {
			break
		}
		a = lab.Do(lab.HTTP1(t), "GET", g.URL+"/v1/responses/"+o.ID, nil, nil)
	}
	return unsteady.ReplaceAllString(o.Status+string(o.Output)+string(o.Usage), "$1$3$4")
}

// onConnection makes a response on a connection of its own, and returns its frames without ids and times.
func onConnection(t *testing.T, g *gateway, place string) string {
	t.Helper()
	c := g.In(t).Dial()
	body := g.Body(`"stream":true,"store":false,"temperature":0,"top_logprobs":2,"include":` +
		`["message.output_text.logprobs"],"input":"` + place + `"`)
	c.Write(`{"type":"response.create",` + body[1:])
	var all strings.Builder
	for {
		_, frame, err := c.WS.Read(t.Context())
		if err != nil {
			t.Errorf("%s: %v after %s", place, err, all.String())
			break
		}
		all.Write(append(frame, '\n'))
		var f struct{ Type string }
		if json.Unmarshal(frame, &f) != nil || f.Type == "error" || f.Type == "response.completed" || f.Type == "response.failed" {
			break
		}
	}
	return unsteady.ReplaceAllString(all.String(), "$1$3$4")
}

// TestResume lets a server die after some of the tokens of an answer. What the client gets is what one server would have
// given it, to the byte. TestResumeEverywhere in services/responses has all places.
func TestResume(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			ids, places := resumeAnswer(), []int{1, 2, 4, 20, 47, 60, 75, 99, 120, 134}
			lines := []sim.Line{{Match: "cut at 999.", Tokens: ids}}
			for _, place := range places {
				lines = append(lines, sim.Line{Match: fmt.Sprintf("cut at %03d.", place), Tokens: ids, Continues: true,
					Fault: &sim.Fault{Kind: sim.FaultReset, After: place}})
			}
			g := &gateway{service.Start(t, service.Options{Host: host, ModelSettings: []string{"relay: resume"},
				Environment: []string{service.StoreKeys, resumeKeys},
				Sim:         sim.Options{Keep: 1000, AnyPrompt: true, Script: sim.NewScript(lines...)}})}
			for api, q := range resumeAPIs {
				want := steady(t, g, q, "cut at 999.")
				for _, place := range places {
					if got := steady(t, g, q, fmt.Sprintf("cut at %03d.", place)); got != want {
						t.Errorf("%s, cut after %d of %d:\n%s\nwant\n%s", api, place, len(ids), got, want)
					}
				}
			}
			ways := map[string]func(*testing.T, *gateway, string) string{"background": inBackground, "websocket": onConnection}
			for name, ask := range ways {
				want := ask(t, g, "cut at 999.")
				for _, place := range places {
					if got := ask(t, g, fmt.Sprintf("cut at %03d.", place)); got != want || !strings.Contains(got, "completed") {
						t.Errorf("%s, cut after %d of %d:\n%s\nwant\n%s", name, place, len(ids), got, want)
					}
				}
			}
			if n := len(g.Prompts()); n != (len(resumeAPIs)+len(ways))*(2*len(places)+1) {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}

// TestAskedForFinal: a model whose reasoning repeats itself is asked for its answer, once, in the same stream.
func TestAskedForFinal(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			g := &gateway{service.Start(t, service.Options{Host: host,
				ModelSettings: []string{"relay: resume", "repetition_detection: { reasoning: final }"},
				Environment:   []string{service.StoreKeys, resumeKeys},
				Sim: sim.Options{Keep: 100, AnyPrompt: true, Script: sim.NewScript(
					sim.Line{Match: "<|channel|>final<|message|>", Tokens: lab.Tokens("Yes.<|return|>")},
					sim.Line{Match: "Hi", Tokens: lab.Tokens("<|channel|>analysis<|message|>Hm." +
						strings.Repeat(" I should check that again. Wait,", 4_000))})}})}
			for api, q := range resumeAPIs {
				q.members = strings.NewReplacer(`"top_logprobs":2,`, "", `"logprobs":true,`, "",
					`"include":["message.output_text.logprobs"],`, "").Replace(q.members)
				got := steady(t, g, q, "Hi")
				if !strings.Contains(got, `"Yes"`) || strings.Contains(got, "repetition_detected") ||
					strings.Contains(got, "relay") {
					t.Errorf("%s: %s", api, got)
				}
			}
			if n := len(g.Prompts()); n != 2*len(resumeAPIs) {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}

// restarted is a server that is restarted at its address.
type restarted struct {
	options sim.Options
	address string
	server  *sim.Server
	asked   int
}

// begin starts the server at its address, or at a free one.
func (r *restarted) begin(t *testing.T) {
	t.Helper()
	r.server = sim.New(r.options)
	address := r.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	url, err := r.server.Start(address)
	if err != nil {
		t.Fatal(err)
	}
	r.address = strings.TrimPrefix(url, "http://")
}

// prompted returns how many of the requests have a prompt.
func prompted(all []sim.Request) (n int) {
	for i := range all {
		if len(all[i].PromptIDs) > 0 {
			n++
		}
	}
	return n
}

// TestRollingRestart restarts four servers, one after the other, under a hundred streams at a time: a client asks again
// until the last server has been restarted. No stream is cut, and each is what one server would have written.
func TestRollingRestart(t *testing.T) {
	const streams = 100
	options := sim.Options{Models: []string{lab.Model}, Keep: 1000, AnyPrompt: true, TokensPerSecond: 25,
		Script: sim.NewScript(sim.Line{Match: "cut at", Tokens: resumeAnswer(), Continues: true})}
	var servers []*restarted
	var list []string
	for range 4 {
		r := &restarted{options: options}
		r.begin(t)
		t.Cleanup(func() { r.server.Close() })
		servers, list = append(servers, r), append(list, "'vllm=http://"+r.address+"'")
	}
	g := &gateway{service.Start(t, service.Options{Host: "envoy", Environment: []string{service.StoreKeys, resumeKeys},
		Sim: sim.Options{Keep: 100}, ModelSettings: []string{"relay: 'off'"},
		Configuration: "  - name: four\n    server_model: " + lab.Model + "\n    relay: resume\n    servers: [" +
			strings.Join(list, ", ") + "]\n"})}
	q := resumeAPIs["responses"]
	ask := func(client *http.Client) (string, error) {
		a := lab.Do(client, "POST", g.URL+"/v1/"+q.path, nil, strings.NewReader(`{"model":"four",`+
			strings.ReplaceAll(q.members, "PLACE", "cut at 999.")+`}`))
		return unsteady.ReplaceAllString(a.Body, "$1$3$4"), a.Err
	}
	want, err := ask(g.Client)
	if err != nil || !strings.Contains(want, "event: response.completed") {
		t.Fatalf("%v: %s", err, want)
	}
	var clients sync.WaitGroup
	var asked atomic.Int64
	restarting, restartedAll := context.WithCancel(t.Context())
	defer restartedAll()
	for range streams {
		clients.Go(func() {
			for client := lab.HTTP1(t); restarting.Err() == nil && !t.Failed(); {
				asked.Add(1)
				if got, err := ask(client); err != nil || got != want {
					t.Errorf("%v: %d bytes, want %d: %.300s", err, len(got), len(want), got[max(len(got)-300, 0):])
				}
			}
		})
	}
	for _, r := range servers {
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		if _, err := r.server.Await(ctx, func(all []sim.Request) bool { return prompted(all) >= streams/8 }); err != nil {
			t.Error(err)
		}
		cancel()
		r.asked = prompted(r.server.Requests())
		r.server.Close()
		r.begin(t)
	}
	restartedAll()
	clients.Wait()
	total := 0
	for _, r := range servers {
		total += r.asked + prompted(r.server.Requests())
	}
	if t.Logf("%d requests for %d streams", total, asked.Load()); total <= int(asked.Load())+4 {
		t.Errorf("the servers were asked %d times: nothing was cut", total)
	}
}
