//go:build e2e

package monitoring

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/sim"
)

// capacity is how many requests the pool that is well takes at once.
const capacity = 2

// lost is a model whose pool has no server that can be reached. Its name has all that a label's value must escape.
const lost = `gpt-"oss"\20b,{x}`

// divided is a model with two pools, of which one has a picker with a queue.
const divided = "divided"

// fleet is a gateway that a control plane programs, with two pools that are well and one that is down, a picker, a
// responses service with a tool, and two gateways by harmony up, of which one is without Envoy.
type fleet struct {
	t       *testing.T
	edge    *envoy.Process
	gateway string   // URL for clients
	ups     []string // of those by harmony up
	// configuration is what its file says at first, and changes are how often that has changed.
	configuration, file string
	changes             int
	// targets are the addresses of the example's prometheus.yml, and in their places the addresses of this fleet.
	targets map[string]string
}

// startFleet starts everything, and returns when it serves.
func startFleet(t *testing.T) *fleet {
	t.Helper()
	_, server := lab.RunSim(t, sim.Options{PromptTokensDetails: true, Script: sim.NewScript(script()...)})
	tool := toolservers.Plain(t, toolservers.Tool{Name: "step"})
	listen, service, stats := lab.FreeAddress(t), lab.FreeAddress(t), lab.FreeAddress(t)
	choose := lab.FreeAddress(t)
	f := &fleet{t: t, gateway: "http://" + listen}
	f.configuration = fmt.Sprintf(`listen: %s
envoy: { expect: 1 }
responses_service:
  url: http://%s
  store: %s
  listen: %[2]s
  gateway: http://%[1]s
  tools: { servers: [{ label: box, url: %[4]q }] }
models:
  - { name: %[5]s, pool: gpus }
  - { name: %[6]q, pool: gone }
  - { name: %[11]s, server_model: %[5]s, pool: gpus, route: [{ pool: waits, max_prompt: 1000 }] }
pools:
  - name: waits
    servers: [%[7]q]
    policy: picker
    picker: { url: "http://%[12]s", timeout: 2s }
    capacity: 64
    queue: { max_requests: 100 }
  - { name: gpus, servers: [%[7]q], capacity: %[9]d }
  - { name: gone, servers: ["http://%[8]s"] }
ca_file: %[10]q
`, listen, service, filepath.Join(t.TempDir(), "responses.db"), tool.Streamable(), lab.Model, lost, server,
		lab.FreeAddress(t), capacity, lab.NewAuthority(t).Path("ca.pem"), divided, choose)
	f.file = lab.WriteConfig(t, f.configuration)

	queues := lab.RunHarmony(t, nil, "picker", "--config", f.file, "--listen", choose, "--status", "127.0.0.1:0").
		Announced(t, `status: http://(\S+)/status\n`)
	plane := lab.RunHarmony(t, nil, "controlplane", "--config", f.file, "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0",
		"--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM"))
	xds, status := plane.Announced(t, `serving Envoys on (\S+)\n`), plane.Announced(t, `status: http://(\S+)/status\n`)
	boot := lab.RunHarmony(t, nil, "controlplane", "bootstrap", "--control-plane", xds, "--node", "edge-1", "--admin",
		lab.FreeAddress(t), "--stats", stats)
	if !boot.Ended(lab.ReadyLimit) || boot.ExitCode(t) != 0 {
		t.Fatalf("harmony controlplane bootstrap: %v\n%s", boot.Err, &boot.Stderr)
	}
	var err error
	f.edge, err = envoy.Start(t.Context(), envoy.Options{
		Path: lab.Tool(t, "ENVOY"), Bootstrap: []byte(boot.Stdout.String()), Concurrency: 1, ReadyTimeout: lab.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.edge.Stop() })
	responses := lab.RunHarmony(t, nil, "responses", "--config", f.file, "--status", "127.0.0.1:0", "--drain-time", "100ms")
	metrics := responses.Announced(t, `(?m)^metrics: http://(\S+)/metrics$`)

	upStats, wazero := lab.FreeAddress(t), lab.FreeAddress(t)
	for _, options := range [][]string{{"--admin", lab.FreeAddress(t), "--stats", upStats},
		{"--host", "wazero", "--admin", wazero}} {
		_, up := lab.StartUp(t, append(options, "--model", lab.Model, "--backend", "vllm="+server)...)
		f.ups = append(f.ups, up)
	}
	f.targets = map[string]string{"10.0.0.7:9902": stats, "10.0.0.8:9902": upStats + `", "` + wazero, "10.0.0.5:18001": status,
		"10.0.0.5:18005":  queues,
		"10.0.0.11:18092": metrics, "10.0.0.12:18092": metrics}
	return f
}

// The model says these.
const (
	think = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant"
	say   = "<|channel|>final<|message|>Paris it is.<|return|>"
	call  = "<|channel|>commentary to=functions.step <|constrain|>json<|message|>{}<|call|>"
)

// question is a request of the traffic, and what the server says to it.
type question struct{ text, path, members, answer, fault string }

// endless is a question whose answer never ends.
const endless = "stalls"

// stored reports whether the responses service answers it.
func (q *question) stored() bool {
	return q.path == lab.ResponsesPath && !strings.Contains(q.members, `"store":false`)
}

// refused reports whether its answer is an error.
func (q *question) refused() bool { return strings.HasPrefix(q.fault, "status:") }

// questions are of every kind that is counted.
func questions() []question {
	chat, tools := lab.ChatPath, `,"tools":[{"type":"function","function":{"name":"step","parameters":{"type":"object",`+
		`"properties":{"n":{"type":"string"}},"required":["n"]}}}]`
	return []question{
		{"whole", chat, "", think + say, ""},
		{"stream", chat, `,"stream":true`, think + say, ""},
		{"call", chat, tools, think + "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant" + call, ""},
		{"missing start", chat, "", "<|channel|>analysis<|message|>Hm.<|end|>" + say, ""},
		{"no header", chat, `,"stream":true`, "Lyon.<|return|>", ""},
		{"ends early", chat, `,"stream":true,"stop":" it"`, think + say, ""},
		{"cut", chat, `,"stream":true`, think + say, "close:6"},
		{"refused", chat, "", say, "status:500"},
		{"responses", lab.ResponsesPath, `,"store":false`, think + say, ""},
		{"stored", lab.ResponsesPath, "", think + say, ""},
		{"as long as what is remembered" + strings.Repeat(" so", 2000), chat, "", think + say, ""},
		{"stored and refused", lab.ResponsesPath, "", say, "status:500"},
		{"hosted", lab.ResponsesPath, `,"tools":[{"type":"mcp","server_label":"box","require_approval":"never"}]`,
			think + call, ""},
	}
}

// script is what the server says.
func script() []sim.Line {
	lines := []sim.Line{{Match: "to=assistant", Last: "{}", Tokens: lab.Tokens(say)}} // to the tool's result
	for _, q := range append(questions(), question{text: endless, answer: think + say, fault: "stall:3"}) {
		line := sim.Line{Last: "<|start|>user<|message|>" + q.text + "<|end|>", Tokens: lab.Tokens(q.answer)}
		if q.text == "ends early" {
			line.Chunks = []int{len(line.Tokens)} // so that tokens come behind the end
		}
		if q.fault != "" {
			fault, err := sim.ParseFault(q.fault)
			if err != nil {
				panic(err)
			}
			line.Fault = &fault
		}
		lines = append(lines, line)
	}
	return lines
}

// ask asks every question once, of every gateway those that need no responses service.
func (f *fleet) ask() {
	f.t.Helper()
	client := lab.HTTP1(f.t)
	for _, q := range questions() {
		body := `{"model":"` + lab.Model + `","messages":[{"role":"user","content":"` + q.text + `"}]` + q.members + `}`
		if q.path == lab.ResponsesPath {
			body = `{"model":"` + lab.Model + `","input":"` + q.text + `"` + q.members + `}`
		}
		gateways := []string{f.gateway}
		if !q.stored() {
			gateways = append(gateways, f.ups...)
		}
		for _, gateway := range gateways {
			a := lab.Do(client, http.MethodPost, gateway+q.path, nil, strings.NewReader(body))
			if cut := q.text == "cut"; (a.Err != nil) != cut || (a.Status >= 500) != q.refused() {
				f.t.Fatalf("%s of %s: %+v", q.text, gateway, a)
			}
		}
	}
	if a := lab.Ask(client, f.gateway+lab.ChatPath, lab.ChatBody(divided, "whole")); a.Status != http.StatusOK {
		f.t.Fatalf("the pool with a queue: %+v", a)
	}
	body := lab.ChatBody(lost, "nobody answers")
	if a := lab.Ask(client, f.gateway+lab.ChatPath, body); a.Status != http.StatusServiceUnavailable {
		f.t.Fatalf("the pool that is down: %+v", a)
	}
}

// fill asks for more than the pool takes at once, which is refused, and waits until there is room again.
func (f *fleet) fill() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	client, url := lab.HTTP1(f.t), f.gateway+lab.ChatPath
	for range capacity {
		body := strings.Replace(lab.ChatBody(lab.Model, endless), "{", `{"stream":true,`, 1)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			f.t.Fatal(err)
		}
		r.Header.Set("content-type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			f.t.Fatal(err)
		}
		defer answer.Body.Close()
	}
	body := lab.ChatBody(lab.Model, "whole")
	if a := lab.Ask(client, url, body); a.ErrorCode() != "server_overloaded" {
		f.t.Fatalf("the pool that is full: %+v", a)
	}
	cancel()
	for end := time.Now().Add(lab.Patience); lab.Ask(client, url, body).Status != http.StatusOK; {
		if time.Now().After(end) {
			f.t.Fatal("the pool stays full")
		}
		time.Sleep(lab.Pause)
	}
}

// change changes the configuration, which the control plane's Envoys then get.
func (f *fleet) change() {
	f.t.Helper()
	f.changes++
	f.write(fmt.Sprintf("reasoning_ratio_alert: 0.%d\n%s", 100+f.changes, f.configuration))
}

// mislead gives the Envoys a listener at an address that is in use.
func (f *fleet) mislead() {
	f.t.Helper()
	_, rest, _ := strings.Cut(f.configuration, "\n")
	f.write(fmt.Sprintf("listeners: [{ address: %q }, { name: taken, address: %q }]\n%s",
		strings.TrimPrefix(f.gateway, "http://"), f.targets["10.0.0.5:18001"], rest))
}

// write replaces the configuration's file, whole and at once.
func (f *fleet) write(text string) {
	f.t.Helper()
	err := os.WriteFile(f.file+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(f.file+".new", f.file)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}
