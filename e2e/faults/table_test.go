//go:build e2e

package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// failingItem is what the server is writing when it fails: to Responses an item of this type, or none.
type failingItem struct{ name, kind, answer string }

var failingItems = []failingItem{
	{"reasoning", "reasoning", "<|channel|>analysis<|message|>one two three four five six seven eight nine ten eleven " +
		"twelve thirteen fourteen<|end|>"},
	{"a preamble", "message", "<|channel|>commentary<|message|>one two three four five six seven eight nine ten eleven " +
		"twelve thirteen fourteen<|end|>"},
	{"the answer", "message", "<|channel|>final<|message|>one two three four five six seven eight nine ten eleven " +
		"twelve thirteen fourteen<|return|>"},
	{"a function's call", "function_call", `<|channel|>commentary to=functions.get_time ` +
		`<|constrain|>json<|message|>{"zone":"Europe/Paris","format":"%Y-%m-%d %H:%M:%S","with":["weekday","week",` +
		`"offset"]}<|call|>`},
	{"a custom tool's call", "custom_tool_call", "<|channel|>commentary to=functions.run_code<|message|>one two three " +
		"four five six seven eight nine ten eleven twelve thirteen fourteen<|call|>"},
	// Half an action is none, so half of such a call is a function's.
	{"a call of the local shell", "function_call", `<|channel|>commentary to=functions.local_shell ` +
		`<|constrain|>json<|message|>{"command":["ls","-l","--all","--human-readable","--sort=size",` +
		`"/usr/local/share"]}<|call|>`},
	{"a built-in tool's call that nobody offered", "", "<|channel|>analysis to=python code<|message|>one two three " +
		"four five six seven eight nine ten eleven twelve thirteen fourteen<|call|>"},
}

// faultRow is a fault of a server at a place.
type faultRow struct {
	server, where, fault string
	item                 failingItem
	limit                int
}

// faultRows are all of them: those that strike before the first token, and the others in each kind of item.
func faultRows() []faultRow {
	const before, after = "before its headers", "between its headers and the first token"
	last := failingItems[2]
	rows := []faultRow{
		{"answers 500", before, "status:500", last, 0},
		{"answers 401", before, "status:401", last, 0},
		{"answers 404", before, "status:404", last, 0},
		{"answers 429", before, "status:429:3", last, 0},
		{"answers 503", before, "status:503:3", last, 0},
		{"answers 200 with an error in JSON", before, "error-200-json", last, 0},
		{"dies", before, "drop", last, 0},
		{"dies", after, "close:0", last, 0},
		{"is silent for `stall_timeout`", before, "mute", last, 0},
		{"is silent for `stall_timeout`", after, "stall:0", last, 0},
		{"sends an error event", after, "error-event:0", last, 0},
		{"sends what cannot be understood", after, "garbage:0", last, 0},
		{"ends without a finish reason", after, "no-finish:0", last, 0},
		{"gives up (`finish_reason: abort`)", after, "abort:0", last, 0},
	}
	for _, f := range []struct{ fault, server string }{
		{"close", "dies"}, {"stall", "is silent for `stall_timeout`"}, {"error-event", "sends an error event"},
		{"garbage", "sends what cannot be understood"}, {"no-finish", "ends without a finish reason"},
		{"abort", "gives up (`finish_reason: abort`)"},
		{"", "ends at the token limit"},
	} {
		for _, item := range failingItems {
			header, _, _ := strings.Cut(item.answer, "<|message|>")
			row := faultRow{server: f.server, where: "in " + item.name, item: item}
			if n := len(lab.Tokens(header+"<|message|>")) + 2; f.fault == "" {
				row.limit = max(n, 16) // the least that Responses takes
			} else {
				row.fault = fmt.Sprintf("%s:%d", f.fault, n)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// faultAsk is one of the ways to ask: an API, and whether its answer is streamed.
type faultAsk struct {
	path   string
	stream bool
}

var faultAsks = []faultAsk{{lab.ChatPath, true}, {lab.ChatPath, false}, {lab.ResponsesPath, true},
	{lab.ResponsesPath, false}}

func (q faultAsk) body(r faultRow) string {
	limit := ""
	if r.limit > 0 {
		limit = fmt.Sprintf(`"max_completion_tokens":%d,`, r.limit)
	}
	if q.path == lab.ChatPath {
		return fmt.Sprintf(`{"model":%q,"stream":%t,%s"messages":[{"role":"user","content":%q}],`+
			`"tools":[{"type":"function","function":{"name":"get_time"}},`+
			`{"type":"custom","custom":{"name":"run_code"}}]}`, lab.Model, q.stream, limit, r.item.name)
	}
	limit = strings.Replace(limit, "max_completion_tokens", "max_output_tokens", 1)
	return fmt.Sprintf(`{"model":%q,"stream":%t,%s"input":%q,"tools":[{"type":"function","name":"get_time",`+
		`"parameters":null,"strict":false},{"type":"custom","name":"run_code"},{"type":"local_shell"}]}`,
		lab.Model, q.stream, limit, r.item.name)
}

// tableStall is longer than a busy machine keeps any of the requests waiting.
const tableStall = 3 * time.Second

// TestFaultTable: docs/faults.md says what each fault of a server, at each place, is to the clients of both APIs and
// what is counted of it, and so it is on every host, over HTTP/1.1 and HTTP/2. -update writes the table.
func TestFaultTable(t *testing.T) {
	rows := faultRows()
	var lines []sim.Line
	for _, item := range failingItems {
		lines = append(lines, sim.Line{Match: "<|message|>" + item.name + "<|end|>", Tokens: lab.Tokens(item.answer)})
	}
	_, url := lab.RunSim(t, sim.Options{AllowHeaders: true, Script: sim.NewScript(lines...)})
	configure := func() *config.Config {
		c := lab.OneModel(url)
		c.StallTimeout = config.Duration(tableStall)
		c.Models[0].StructuredOutputs = contract.NoStructure // the answers would not keep to the local shell's
		return c
	}
	toHTTP2 := lab.HTTP2To(xds.PoolCluster(&config.Model{Name: lab.Model}))

	c := configure()
	c.AccessLog = filepath.Join(t.TempDir(), "access.json")
	envoy, err := hosts.Envoy(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer envoy.Stop()
	seen := askFaults(envoy.URL, "h1", lab.HTTP1(t), rows)
	checkCounts(t, envoy, len(seen), faultCounts(rows))
	envoy.Stop() // the log is written out when Envoy ends
	counted := faultLog(t, c.AccessLog)
	lab.CompareFaultTable(t, "faults", faultTable(rows, seen, counted))

	inOne, inTwo := lab.RunWazero(t, configure()), lab.RunWazero(t, configure(), toHTTP2)
	two := lab.RunEnvoy(t, configure(), toHTTP2)
	for _, host := range []struct {
		name, url, protocol string
		client              *http.Client
		counts              *hosts.Host
	}{
		{"native", lab.RunNative(t, configure()).URL, "h1", lab.HTTP1(t), nil},
		{"wazero, HTTP1 to HTTP1", inOne.URL, "h1", lab.HTTP1(t), inOne},
		{"wazero, HTTP2 to HTTP2", inTwo.URL, "h2", lab.HTTP2(t), inTwo},
		{"envoy, HTTP2 to HTTP2", two.URL, "h2", lab.HTTP2(t), two},
	} {
		got := askFaults(host.url, host.protocol, host.client, rows)
		for id, want := range seen {
			if host.name == "native" && strings.HasPrefix(want.row.fault, "drop") {
				continue // its transport is not Envoy's
			}
			if cell := got[id].cell; cell != want.cell &&
				!(strings.HasSuffix(host.name, "to HTTP2") && want.otherwiseHTTP2(cell)) {
				t.Errorf("%s: %s: %s, and on Envoy over HTTP/1.1: %s", host.name, id, cell, want.cell)
			}
		}
		if host.counts != nil {
			checkCounts(t, host.counts, len(got), faultCounts(rows))
		}
	}
}

// faultSeen is what a client has seen.
type faultSeen struct {
	row  faultRow
	ask  faultAsk
	cell string
}

// otherwiseHTTP2: Envoy answers 503 where an HTTP/2 server resets one stream, and 502 where an HTTP/1.1 connection
// ends.
func (s faultSeen) otherwiseHTTP2(cell string) bool {
	return strings.HasPrefix(s.row.fault, "close:") && strings.Replace(s.cell, "502", "503", 1) == cell
}

// askFaults makes all requests, some at once, and says what came of each by its id.
func askFaults(url, protocol string, client *http.Client, rows []faultRow) map[string]faultSeen {
	seen := map[string]faultSeen{}
	var mu sync.Mutex
	var all sync.WaitGroup
	room := make(chan struct{}, 12) // those that the server is silent about only wait, all of them at once
	for i, row := range rows {
		for _, q := range faultAsks {
			all.Go(func() {
				if !strings.HasPrefix(row.server, "is silent") {
					room <- struct{}{}
					defer func() { <-room }()
				}
				id := fmt.Sprintf("%02d %s %s %s stream=%t", i, row.server, row.where, q.path, q.stream)
				header := http.Header{"X-Request-Id": {strings.ReplaceAll(id, " ", "_")}}
				if row.fault != "" {
					header["X-Sim-Fault"] = []string{row.fault}
				}
				a := lab.Do(client, http.MethodPost, url+q.path, header, strings.NewReader(q.body(row)))
				mu.Lock()
				seen[header.Get("x-request-id")] = faultSeen{row, q, q.describe(row, a, protocol)}
				mu.Unlock()
			})
		}
	}
	all.Wait()
	return seen
}

// describe is a cell of the table.
func (q faultAsk) describe(r faultRow, a lab.Answer, protocol string) string {
	got := lab.Read(a.Body)
	switch reset := lab.IsReset(a.Err, protocol); {
	case a.Err != nil && !reset:
		return a.Err.Error()
	case a.Status != 200:
		return fmt.Sprintf("%d `%s`", a.Status, cmp.Or(a.ErrorCode(), a.Body))
	case q.path == lab.ResponsesPath:
		return describeResponse(r, a.Body, q.stream, reset && !got.Last)
	case got.Failure != "" && reset:
		return "an error chunk, then a reset"
	case got.Failure != "":
		return "an error chunk"
	case reset:
		return "a reset"
	default:
		return "`finish_reason: " + got.End + "`"
	}
}

// describeResponse describes the end of the item that the server was writing, and of the response.
func describeResponse(r faultRow, body string, stream, cut bool) string {
	final := grammar.Object{}
	if !stream {
		if err := json.Unmarshal([]byte(body), &final); err != nil {
			return err.Error()
		}
	} else {
		if _, err := grammar.ReadResponses(body, cut); err != nil {
			return err.Error()
		}
		open := 0
		for line := range strings.Lines(body) {
			data, ok := strings.CutPrefix(line, "data: ")
			e := grammar.Object{}
			if !ok || json.Unmarshal([]byte(data), &e) != nil {
				continue
			}
			switch e["type"] {
			case "response.output_item.added":
				open++
				final["output"] = []any{e["item"]}
			case "response.output_item.done":
				open--
			}
			if response, ok := e["response"].(grammar.Object); ok {
				final = response
			}
		}
		if cut && open > 0 {
			return "a reset within " + r.itemOf(final, "in_progress")
		} else if cut {
			return "a reset before any item"
		}
	}
	end := fmt.Sprintf("`%v`", final["status"])
	if stream {
		end = fmt.Sprintf("`response.%v`", final["status"])
	}
	return end + " with " + r.itemOf(final, "incomplete")
}

// itemOf names the only item of a response: "the item" if it is of the type and in the state that it should be.
func (r faultRow) itemOf(response grammar.Object, status string) string {
	output, _ := response["output"].([]any)
	if len(output) == 0 && r.item.kind == "" {
		return "no item"
	}
	if len(output) == 1 {
		if item, _ := output[0].(grammar.Object); item["type"] == r.item.kind && item["status"] == status {
			return map[string]string{"in_progress": "the item", "incomplete": "the item `incomplete`"}[status]
		}
	}
	return fmt.Sprint(output)
}

// faultLog reads Envoy's access log: how each request ended, and who cut it.
func faultLog(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]string{}
	for line := range strings.Lines(string(data)) {
		var e struct {
			ID     string `json:"request_id"`
			Finish string
			Cut    string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		counted[e.ID] = "`" + e.Finish + "`"
		if e.Cut != "" {
			counted[e.ID] += ", cut by `" + e.Cut + "`"
		}
	}
	return counted
}

// faultCounts are what the filter counts of the rows: streams that died or fell silent in mid-answer, and the half
// calls that Responses leave out, in a stream at an error, garbage, an end and abort, in either answer at the limit.
func faultCounts(rows []faultRow) map[string]int {
	counts := map[string]int{"harmony_half_builtin_calls_total": 4 + 2}
	for _, r := range rows {
		kind, after, _ := strings.Cut(r.fault, ":")
		if cause := map[string]string{"close": "server", "stall": "stall"}[kind]; cause != "" && after != "0" {
			counts["harmony_cut_streams_total.cause."+cause] += 2 // of Chat and of Responses
		}
		if kind == "no-finish" && after != "0" {
			counts["harmony_cut_streams_total.cause.server"]++ // of Chat
		}
	}
	return counts
}

// checkCounts waits until the filter has counted so many requests and these faults with them. It looks twice, since the
// filter counts a request's numbers one after the other.
func checkCounts(t *testing.T, h *hosts.Host, requests int, want map[string]int) {
	t.Helper()
	deadline, settled := time.Now().Add(lab.Patience), false
	for {
		counts := lab.Counters(t, h)
		counted := 0
		for name, n := range counts {
			if strings.HasPrefix(name, "harmony_requests_total") {
				counted += n
			}
		}
		maps.DeleteFunc(counts, func(name string, n int) bool {
			return n == 0 || !strings.HasPrefix(name, "harmony_cut_streams_total") && name != "harmony_half_builtin_calls_total"
		})
		right := counted == requests && maps.Equal(counts, want)
		if right && settled {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s counts %d requests and %v, want %d and %v", h.Name, counted, counts, requests, want)
		}
		if settled = right; right {
			continue // something more may have been counted while these were read
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// faultTable makes the table: places at which everything is the same are a row.
func faultTable(rows []faultRow, seen map[string]faultSeen, counted map[string]string) string {
	cells := map[string]map[faultAsk]string{} // by server and place
	logs := map[string]map[faultAsk]string{}
	for id, s := range seen {
		at := s.row.server + s.row.where
		if cells[at] == nil {
			cells[at], logs[at] = map[faultAsk]string{}, map[faultAsk]string{}
		}
		cells[at][s.ask], logs[at][s.ask] = s.cell, counted[id]
	}
	var order []string
	places := map[string][]string{}
	for _, r := range rows {
		at := r.server + r.where
		line := ""
		for _, q := range faultAsks {
			line += " | " + cells[at][q]
		}
		for _, stream := range []bool{true, false} {
			chat, responses := logs[at][faultAsk{lab.ChatPath, stream}], logs[at][faultAsk{lab.ResponsesPath, stream}]
			if line += " | " + chat; chat != responses {
				line += "; " + responses
			}
		}
		key := r.server + "\x00" + line + " |"
		if places[key] == nil {
			order = append(order, key)
		}
		places[key] = append(places[key], r.where)
	}
	table := "| the server | where | Chat, stream | Chat, whole | Responses, stream | Responses, whole | log, stream | " +
		"log, whole |\n|---|---|---|---|---|---|---|---|\n"
	for _, key := range order {
		server, line, _ := strings.Cut(key, "\x00")
		where := strings.ReplaceAll(strings.Join(places[key], ", "), ", in ", ", ")
		table += "| " + server + " | " + where + line + "\n"
	}
	return table
}
