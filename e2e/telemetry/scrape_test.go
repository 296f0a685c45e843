//go:build e2e

package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// dotted is the second model of the script: a name that must stand in a metric's as it is.
const dotted = "openai/gpt-oss-20b:v1.5"

// scripted is a request of the script, and what the server says to it.
type scripted struct{ name, path, body, answer, fault string }

// WriteScript are requests of every kind that is counted.
func metricsScript() []scripted {
	const (
		think = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant"
		final = "<|channel|>final<|message|>Paris it is.<|return|>"
		call  = "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Paris\"}<|call|>"
		tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",` +
			`"properties":{"city":{"type":"string"}}}}}]`
	)
	chat := func(model, text, more string) string {
		return fmt.Sprintf(`{"model":%q,%s"messages":[{"role":"user","content":%q}]}`, model, more, text)
	}
	return []scripted{
		{"whole", lab.ChatPath, chat(lab.Model, "question one", ""), think + final, ""},
		{"stream", lab.ChatPath, chat(lab.Model, "question two", `"stream":true,`), think + final, ""},
		{"call", lab.ChatPath, chat(lab.Model, "question three", `"stream":true,`+tools+","), think + call, ""},
		{"preamble", lab.ChatPath, chat(lab.Model, "question eighteen", tools+","), think +
			"<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant" + call, ""},
		{"result", lab.ChatPath, `{"model":"` + lab.Model + `",` + tools +
			`,"messages":[{"role":"user","content":"question ` +
			`four"},` +
			`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather",` +
			`"arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"call_1","content":"rain, and more rain"}]}`, final, ""},
		{"low effort", lab.ChatPath, chat(lab.Model, "question five", `"reasoning_effort":"low",`), final, ""},
		{"high effort", lab.ChatPath, chat(lab.Model, "question six", `"reasoning_effort":"high",`), final, ""},
		{"responses", "/v1/responses", `{"model":"` + lab.Model + `","input":[{"type":"unheard_of"},{"role":"user",` +
			`"content":"question seven"}]}`, think + final, ""},
		{"responses stream", "/v1/responses", `{"model":"` + dotted + `","stream":true,"input":"question eight"}`,
			think + final, ""},
		{"missing start", lab.ChatPath, `{"model":"` + dotted + `","messages":[{"role":"user",` +
			`"content":[{"type":"image_url"},` +
			`{"type":"text","text":"question nine"}]}]}`,
			"<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>Rome.<|return|>", ""},
		{"unknown channel", lab.ChatPath, chat(lab.Model, "question ten", `"stream":true,`),
			"<|channel|>musing<|message|>Hm.<|end|><|start|>assistant" + final, ""},
		{"length", lab.ChatPath, chat(lab.Model, "question eleven", `"max_tokens":40,`),
			"<|channel|>analysis<|message|>" + strings.Repeat(" on and", 40), ""},
		{"unfit arguments", lab.ChatPath, chat(lab.Model, "question fourteen", tools+","),
			strings.Replace(think+call, `"Paris"`, "75", 1), ""},
		{"no header", lab.ChatPath, chat(lab.Model, "question fifteen", `"stream":true,`), "Lyon.<|return|>", ""},
		{"no final", lab.ChatPath, chat(lab.Model, "question sixteen", ""),
			"<|channel|>analysis<|message|>Hm.<|end|><|return|>",
			""},
		{"ends early", lab.ChatPath, chat(lab.Model, "question seventeen", `"stream":true,"stop":" it",`), think + final, ""},
		{"not well-formed", lab.ChatPath, `{"model":"` + lab.Model + `","messages":[{"role":"robot","content":"Hi"}]}`, "",
			""},
		{"another model", lab.ChatPath, chat("gpt-unknown", "Hi", ""), "", ""},
		{"raw prompt", "/v1/completions", `{"model":"` + lab.Model + `","prompt":"Hi"}`, "", ""},
		{"refused by the server", lab.ChatPath, chat(lab.Model, "question twelve", ""), final, "status:429:7"},
		{"cut by the server", lab.ChatPath, chat(lab.Model, "question thirteen", `"stream":true,`), think + final, "close:6"},
	}
}

// metricsGateway is a server for the script, and the configuration of a gateway before it.
func metricsGateway(t *testing.T) (*sim.Server, *config.Config) {
	t.Helper()
	var lines []sim.Line
	for _, q := range metricsScript() {
		if q.answer == "" {
			continue
		}
		line := sim.Line{Match: regexp.MustCompile(`question \w+`).FindString(q.body), Tokens: lab.Tokens(q.answer)}
		line.Match += "<|end|>"
		if q.name == "ends early" {
			line.Chunks = []int{len(line.Tokens)} // all that is wasted comes with what is not
		}
		if q.fault != "" {
			f, err := sim.ParseFault(q.fault)
			if err != nil {
				t.Fatal(err)
			}
			line.Fault = &f
		}
		lines = append(lines, line)
	}
	server, url := lab.RunSim(t, sim.Options{PromptTokensDetails: true, Models: []string{lab.Model, dotted},
		Script: sim.NewScript(lines...)})
	c := lab.OneModel(url)
	lab.AddModel(c, dotted, url)
	c.Models[1].UnsupportedContent = "drop"
	c.Models[1].Servers, c.Models[1].Pool = nil, "second-pool"
	c.Pools = []config.Pool{{Name: "second-pool", Servers: []string{url}, Policy: config.PolicyRoundRobin,
		Health: config.Health{Path: config.NoHealthChecks}}}
	c.AccessLogClientKey = true
	return server, c
}

// runScript makes the requests, one after the other, and returns how many they were.
func runScript(t *testing.T, base string) int {
	t.Helper()
	client := lab.HTTP1(t)
	requests := metricsScript()
	for _, q := range requests {
		header := http.Header{"X-Request-Id": {requestName(q)}}
		if q.name == "whole" || q.name == "another model" {
			header.Set("Authorization", "Bearer "+clientKey)
		}
		a := lab.Do(client, http.MethodPost, base+q.path, header, strings.NewReader(q.body))
		if cut := q.name == "cut by the server"; (a.Err != nil) != cut {
			t.Fatalf("%s: %+v", q.name, a)
		}
		if got := a.Header.Get("x-request-id"); a.Err == nil && got != requestName(q) {
			t.Errorf("%s: the client is told the id %q", q.name, got)
		}
	}
	return len(requests)
}

// clientKey is the key of the clients of two requests. Only its id may be found in what operators read.
const clientKey = "sk-CANARY-0123456789"

func requestName(q scripted) string { return "id-of-" + strings.ReplaceAll(q.name, " ", "-") }

// unsteady are the values that no two runs have in common, and why. The rest of their lines must be the same.
var unsteady = []struct {
	line *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(
		`^(harmony_(?:time_to_first_token_milliseconds|render_microseconds)_(?:bucket\{le="[0-9.]+"\}|sum)) [0-9.]+$`),
		"a time"},
	{regexp.MustCompile(`^(harmony_vm_collection_microseconds_(?:bucket\{le="[^"]+"\}|sum|count)) [0-9.]+$`),
		"when the heap was collected"},
	{regexp.MustCompile(`^(harmony_vm_heap_bytes) \d+$`), "the state of a collected heap"},
	{regexp.MustCompile(`^(harmony_response_chunks_total) \d+$`), "how the network cut the answers"},
	{regexp.MustCompile(`^(harmony_build_info)\{config="[0-9a-f]{8}",version="[^"]+"\} 1$`),
		"the version, and a hash of every setting"},
}

// counted are the samples that each host has: the filter's, and those about its VMs and the requests under way.
var counted = regexp.MustCompile(
	`^(harmony_|reasoning_ratio_alert_|envoy_wasm_harmony_vm_reload|envoy_http_downstream_rq_active\{.*="harmony"\})`)

// tidy brings a scrape of the filter's metrics into an order, and takes out what is unsteady.
func tidy(scrape string) []string {
	var out []string
	for line := range strings.Lines(scrape) {
		line = strings.TrimSpace(line)
		if !counted.MatchString(line) {
			continue
		}
		line = inOrder(strings.Replace(line, "{} ", " ", 1))
		end := strings.LastIndexByte(line, ' ') + 1
		line = line[:end] + plain(line[end:])
		for _, u := range unsteady {
			if u.line.MatchString(line) {
				line = u.line.ReplaceAllString(line, "$1") + " … (" + u.why + ")"
			}
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

var labelled = regexp.MustCompile(`^(\w+)\{(.*)\} (.*)$`)

// inOrder sorts a line's labels.
func inOrder(line string) string {
	m := labelled.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	labels := regexp.MustCompile(`\w+="(?:[^"\\]|\\.)*"`).FindAllString(m[2], -1)
	for i, label := range labels {
		if bound, ok := strings.CutPrefix(label, `le="`); ok {
			labels[i] = fmt.Sprintf("le=%q", plain(strings.TrimSuffix(bound, `"`)))
		}
	}
	slices.Sort(labels)
	return m[1] + "{" + strings.Join(labels, ",") + "} " + m[3]
}

// plain returns a number without an exponent. Another text stays as it is.
func plain(number string) string {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

const scrapeFile = "testdata/scrape.txt"

// TestScrape: the metrics of a scripted run as Prometheus gets them, and its access log, are what is committed, number
// for number, and the same on each host. Values that cannot be the same are named with the reason.
func TestScrape(t *testing.T) {
	t.Run("envoy", func(t *testing.T) {
		server, c := metricsGateway(t)
		c.AccessLog = filepath.Join(t.TempDir(), "access.json")
		h, err := hosts.Envoy(hosts.Setup{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Stop()
		n := runScript(t, h.URL)
		scrape := awaitScrape(t, h.Process, n)
		if strings.Contains(scrape, `version="unknown"`) {
			t.Error("the filter does not tell which commit it was built from")
		}
		got := strings.Join(tidy(scrape), "\n") + "\n"
		if *lab.Update {
			if err := os.WriteFile(scrapeFile, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := committedScrape(t); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		h.Stop() // the log is written out when Envoy ends
		checkAccessLog(t, c.AccessLog)
		checkServerIDs(t, server)
	})
	t.Run("wazero", func(t *testing.T) {
		_, c := metricsGateway(t)
		c.AccessLog = filepath.Join(t.TempDir(), "access.json")
		h, err := hosts.Wazero(hosts.Setup{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Stop()
		n := runScript(t, h.URL)
		if _, err := h.ResponseChunks(n); err != nil {
			t.Fatal(err) // every stream has ended then
		}
		for end := time.Now().Add(lab.Patience); h.Server.Proxy().Streams() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		reply := httptest.NewRecorder()
		h.Server.Prometheus().ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/stats/prometheus", http.NoBody))
		if got := strings.Join(tidy(reply.Body.String()), "\n") + "\n"; got != committedScrape(t) {
			t.Errorf("got\n%s\nwant\n%s", got, committedScrape(t))
		}
		h.Stop()
		checkAccessLog(t, c.AccessLog)
	})
}

func committedScrape(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(scrapeFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// awaitScrape waits until so many requests are counted and the histograms, which Envoy gathers now and then, are there.
func awaitScrape(t *testing.T, p *envoy.Process, requests int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	for {
		scrape, err := p.Get(ctx, "/stats/prometheus")
		if err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, m := range regexp.MustCompile(`(?m)^harmony_requests_total\{.*\} (\d+)$`).FindAllStringSubmatch(
			string(scrape), -1) {
			n, _ := strconv.Atoi(m[1])
			counted += n
		}
		// All of them are counted by now but for the histograms, which are gathered in one go.
		rendered, answered := 0, 0
		for _, q := range metricsScript() {
			if q.answer != "" {
				rendered++
			}
			if q.answer != "" && !strings.HasPrefix(q.fault, "status:") {
				answered++
			}
		}
		if counted == requests &&
			strings.Contains(string(scrape), fmt.Sprintf("harmony_render_microseconds_count{} %d\n", rendered)) &&
			strings.Contains(string(scrape), fmt.Sprintf("harmony_time_to_first_token_milliseconds_count{} %d\n", answered)) {
			return string(scrape)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d requests are counted:\n%s", counted, requests, strings.Join(tidy(string(scrape)), "\n"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// checkAccessLog holds a log against testdata/access_log.txt.
func checkAccessLog(t *testing.T, file string) {
	t.Helper()
	compareLines(t, file, "testdata/access_log.txt", func(_ string, fields map[string]any) {
		checkUnsteady(t, fields)
		if ms, ok := fields["first_token_ms"].(float64); ok && ms >= 0 {
			fields["first_token_ms"] = "…"
		}
	})
}

// checkUnsteady checks the members that no two lines have in common, and takes them out.
func checkUnsteady(t *testing.T, line map[string]any) {
	t.Helper()
	at, _ := line["time"].(string)
	began, err := time.Parse("2006-01-02T15:04:05.000Z", at)
	if ago := time.Since(began); err != nil || ago < -time.Second || ago > lab.Patience {
		t.Errorf("the time is %q", at)
	}
	if ms, ok := line["duration_ms"].(float64); !ok || ms < 0 || ms > lab.Patience.Seconds()*1000 {
		t.Errorf("the duration is %v", line["duration_ms"])
	}
	address, sent := line["upstream"].(string)
	if _, err := netip.ParseAddrPort(address); sent != (line["pool"] != nil) || sent && err != nil {
		t.Errorf("the server is %v", line["upstream"])
	}
	for _, q := range metricsScript() {
		// How the network cuts a stream decides how many chunks the client gets.
		if n, ok := line["bytes_sent"].(float64); line["request_id"] == requestName(q) && strings.Contains(q.body,
			`"stream":true`) && ok && n > 0 {
			delete(line, "bytes_sent")
		}
	}
	delete(line, "time")
	delete(line, "duration_ms")
	delete(line, "upstream")
}

// checkServerIDs: a server names its answers by the client's x-request-id.
func checkServerIDs(t *testing.T, server *sim.Server) {
	t.Helper()
	ids := map[string]bool{}
	for _, r := range server.Requests() {
		ids[r.Header.Get("x-request-id")] = true
		if r.ID != "" && r.ID != "cmpl-"+r.Header.Get("x-request-id") {
			t.Errorf("the server's id is %s", r.ID)
		}
	}
	for _, q := range metricsScript() {
		if reaches := q.answer != ""; ids[requestName(q)] != reaches {
			t.Errorf("%s: its id came to the server: %v", q.name, !reaches)
		}
	}
}

// TestScrapeWithoutTags: where stats_tags are not set, the names are whole and still Prometheus'.
func TestScrapeWithoutTags(t *testing.T) {
	_, c := metricsGateway(t)
	r, err := hosts.Resources(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, err := envoy.Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0"), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := json.Unmarshal(bootstrap, &settings); err != nil {
		t.Fatal(err)
	}
	if settings["stats_config"] == nil {
		t.Fatal("there is no stats_config to take away")
	}
	delete(settings, "stats_config")
	if bootstrap, err = json.Marshal(settings); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	p, err := envoy.Start(ctx, envoy.Options{
		Path: lab.Tool(t, "ENVOY"), Bootstrap: bootstrap, Concurrency: 1, ReadyTimeout: lab.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Stop() }()
	address, err := p.Listener(ctx, xds.ListenerName)
	if err != nil {
		t.Fatal(err)
	}
	runScript(t, "http://"+address)
	scrape, err := p.Get(ctx, "/stats/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	const want = "harmony_requests_total_model_openai_gpt_oss_20b_v1_5_api_responses_status_200{} 1\n"
	if !strings.Contains(string(scrape), want) {
		t.Errorf("%s is not in\n%s", want, scrape)
	}
	sample := regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*\{([a-z_]+="[^"]*",?)*\} [0-9.e+]+$`)
	for line := range strings.Lines(string(scrape)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "harmony_") && !sample.MatchString(line) {
			t.Errorf("not a sample: %s", line)
		}
	}
}
