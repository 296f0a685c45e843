package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

const (
	// earlyAnswer is what the server goes on with for seconds after its answer has ended: 36 tokens in as many events.
	earlyAnswer = "<|channel|>analysis<|message|>Let me think about it now<|end|><|start|>assistant<|channel|>final<|message|>" +
		"One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty<|return|>"
	earlyRate = 5 // tokens a second: what a busy machine is late by is no chunk
	// mostWasted is how many chunks more a server may send before it sees that it was let go.
	mostWasted = 3
	// earlyDrain lets the server end by itself: all that comes behind the stop sequence is less.
	earlyDrain = 30
)

// The requests: a stop sequence, a limit on reasoning, and none.
var earlyBodies = map[string]string{
	"chat stop":     `{"model":"` + caseModel + `","messages":[{"role":"user","content":"Hi"}],"stop":" three","stream":%t}`,
	"chat cap":      `{"model":"` + caseModel + `","messages":[{"role":"user","content":"Hi"}],"thinking_token_budget":2,"stream":%t}`,
	"chat":          `{"model":"` + caseModel + `","messages":[{"role":"user","content":"Hi"}],"stream":%t}`,
	"responses cap": `{"model":"` + caseModel + `","input":"Hi","thinking_token_budget":2,"stream":%t}`,
	"responses":     `{"model":"` + caseModel + `","input":"Hi","stream":%t}`,
}

// earlyRow is a request that ends early: how, and how its client reads.
type earlyRow struct {
	asks   string // of earlyBodies
	stream bool
	client string // one of those below
	drains bool   // the server is waited for, to let the client end without an error
	cut    bool   // the client sees the server let go, behind the last word
}

// The clients: one that stops at [DONE], one that reads to the end of the body, one that leaves, and OpenAI's.
const (
	stopsAtDone = "stops at [DONE]"
	readsOn     = "reads to the end"
	leaves      = "leaves"
	python      = "openai-python"
	asyncPython = "openai-python, async"
)

var earlyRows = []earlyRow{
	{"chat stop", true, stopsAtDone, false, false},
	{"chat stop", true, readsOn, false, true},
	{"chat stop", true, python, false, false},
	{"chat stop", true, asyncPython, false, false},
	{"chat stop", false, readsOn, false, false},
	{"chat stop", false, python, false, false},
	{"chat cap", true, stopsAtDone, false, false},
	{"chat cap", true, readsOn, false, true},
	{"chat cap", true, python, false, false},
	{"chat cap", false, readsOn, false, false},
	{"responses cap", true, readsOn, true, false},
	{"responses cap", true, python, true, false},
	{"responses cap", false, readsOn, false, false},
	{"responses cap", false, python, false, false},
	{"chat", true, leaves, false, false},
	{"chat", false, leaves, false, false},
	{"responses", true, leaves, false, false},
}

// earlyResult is what became of a row.
type earlyResult struct {
	finish string
	// had is how many tokens had come when the answer ended.
	had int
	err error
}

// TestEarlyEnd: a server whose answer ends before it does is let go, over each protocol on either side, and the clients
// end without an error, but for those that read on behind [DONE]. The test prints how many tokens were wasted.
func TestEarlyEnd(t *testing.T) {
	server, url := runSim(t, sim.Options{TokensPerSecond: earlyRate, Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: spoken(earlyAnswer)})})
	patient := oneModel(url)
	patient.Models[0].DrainTokens = earlyDrain
	toHTTP2 := http2To(xds.PoolCluster(&config.Model{Name: caseModel}))
	one, two := runEnvoy(t, oneModel(url)).URL, runEnvoy(t, oneModel(url), toHTTP2).URL
	inOne, inTwo := runWazero(t, oneModel(url)).URL, runWazero(t, oneModel(url), toHTTP2).URL
	drains := func(rows ...earlyRow) []earlyRow { return rows }
	var all sync.WaitGroup
	var mu sync.Mutex
	var table []string
	for _, host := range []struct {
		name, url, protocol string
		rows                []earlyRow
	}{
		{"native", runNative(t, oneModel(url)).URL, "h1", earlyRows},
		{"wazero, HTTP1 to HTTP1", inOne, "h1", earlyRows}, {"wazero, HTTP2 to HTTP1", inOne, "h2", earlyRows},
		{"wazero, HTTP1 to HTTP2", inTwo, "h1", earlyRows}, {"wazero, HTTP2 to HTTP2", inTwo, "h2", earlyRows},
		{"envoy, HTTP1 to HTTP1", one, "h1", earlyRows}, {"envoy, HTTP2 to HTTP1", one, "h2", earlyRows},
		{"envoy, HTTP1 to HTTP2", two, "h1", earlyRows}, {"envoy, HTTP2 to HTTP2", two, "h2", earlyRows},
		{"envoy, drain_tokens", runEnvoy(t, patient).URL, "h1", drains(
			earlyRow{"chat stop", true, readsOn, true, false}, earlyRow{"chat stop", true, stopsAtDone, false, false},
		)},
	} {
		rows := slices.DeleteFunc(slices.Clone(host.rows), func(r earlyRow) bool {
			return host.protocol == "h2" && (r.client == python || r.client == asyncPython) // it speaks HTTP/1.1
		})
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = fmt.Sprintf("%s | %s | %s | %s", host.name, r.asks, map[bool]string{true: "stream", false: "whole"}[r.stream], r.client)
		}
		all.Go(func() {
			results := runEarly(t, server, host.url, host.protocol, rows, ids)
			for i, r := range rows {
				line := r.check(t, server, ids[i], host.protocol, results[i])
				mu.Lock()
				table = append(table, line)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(table)
	t.Logf("hosts, down to up | asked for | answer | client | tokens wasted | the client's end\n%s", strings.Join(table, "\n"))
}

// runEarly makes the requests of all rows at once.
func runEarly(t *testing.T, server *sim.Server, url, protocol string, rows []earlyRow, ids []string) []earlyResult {
	client := http1(t)
	if protocol == "h2" {
		client = http2Client(t)
	}
	results := make([]earlyResult, len(rows))
	var all sync.WaitGroup
	var tasks []pythonTask
	var places []int
	for i, r := range rows {
		if r.client == python || r.client == asyncPython {
			tasks, places = append(tasks, r.pythonTask(ids[i])), append(places, i)
			continue
		}
		all.Go(func() { results[i] = r.run(server, client, url, ids[i]) })
	}
	if len(tasks) > 0 {
		all.Go(func() {
			for i, result := range runPython(t, url, tasks) {
				results[places[i]] = result
			}
		})
	}
	all.Wait()
	return results
}

func (r earlyRow) run(server *sim.Server, client *http.Client, url, id string) earlyResult {
	path := chatPath
	if strings.HasPrefix(r.asks, "responses") {
		path = responsesPath
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body := fmt.Sprintf(earlyBodies[r.asks], r.stream)
	if r.stream && path == chatPath {
		body = `{"stream_options":{"include_usage":true},` + body[1:]
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader(body))
	if err != nil {
		return earlyResult{err: err}
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-row", id)
	if r.client == leaves && !r.stream {
		return leaveWhole(ctx, server, client, request, id)
	}
	response, err := client.Do(request)
	if err != nil {
		return earlyResult{err: err}
	}
	defer response.Body.Close()
	var seen bytes.Buffer
	chunk := make([]byte, 4<<10)
	for {
		n, err := response.Body.Read(chunk)
		seen.Write(chunk[:n])
		if r.client == leaves && strings.Contains(seen.String(), "think") {
			return earlyResult{had: sentFor(server, id)}
		}
		done := r.client == stopsAtDone && bytes.HasSuffix(seen.Bytes(), []byte(lastWord))
		if err == nil && !done {
			continue
		}
		if err == io.EOF || done {
			err = nil
		}
		return earlyResult{finish: finishOf(seen.String()), had: tokensOf(seen.String()), err: err}
	}
}

// leaveWhole is a client that gives up while it waits for a whole answer.
func leaveWhole(ctx context.Context, server *sim.Server, client *http.Client, request *http.Request, id string) earlyResult {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	var had int
	go func() {
		_, _ = server.Await(ctx, func(list []sim.Request) bool {
			for _, q := range list {
				if q.Header.Get("x-row") == id && q.TokensSent >= 3 {
					had = q.TokensSent
					return true
				}
			}
			return false
		})
		leave()
	}()
	response, err := client.Do(request.WithContext(gone))
	if err == nil {
		response.Body.Close()
		return earlyResult{err: fmt.Errorf("status %d", response.StatusCode)}
	}
	return earlyResult{had: had}
}

func sentFor(server *sim.Server, id string) int {
	for _, q := range server.Requests() {
		if q.Header.Get("x-row") == id {
			return q.TokensSent
		}
	}
	return 0
}

var (
	finishPattern = regexp.MustCompile(`"finish_reason":"([a-z_]+)"|"type":"response\.(incomplete|completed)"|"status":"(incomplete|completed)","background"`)
	tokensPattern = regexp.MustCompile(`"(?:completion|output)_tokens":(\d+)`)
)

func finishOf(body string) string {
	m := finishPattern.FindAllStringSubmatch(body, -1)
	if len(m) == 0 {
		return ""
	}
	last := m[len(m)-1]
	return last[1] + last[2] + last[3]
}

func tokensOf(body string) int {
	m := tokensPattern.FindStringSubmatch(body)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// pythonTask is a row as early.py reads it.
type pythonTask struct {
	Row    string         `json:"row"`
	API    string         `json:"api"`
	Stream bool           `json:"stream"`
	Async  bool           `json:"async"`
	Body   map[string]any `json:"body"`
}

func (r earlyRow) pythonTask(id string) pythonTask {
	api, _, _ := strings.Cut(r.asks, " ")
	task := pythonTask{Row: id, API: api, Stream: r.stream, Async: r.client == asyncPython}
	_ = json.Unmarshal(fmt.Appendf(nil, earlyBodies[r.asks], r.stream), &task.Body)
	delete(task.Body, "stream")
	if budget, ok := task.Body["thinking_token_budget"]; ok {
		delete(task.Body, "thinking_token_budget")
		task.Body["extra_body"] = map[string]any{"thinking_token_budget": budget}
	}
	if r.stream && api == "chat" {
		task.Body["stream_options"] = map[string]any{"include_usage": true}
	}
	return task
}

func runPython(t *testing.T, url string, tasks []pythonTask) []earlyResult {
	input, err := json.Marshal(tasks)
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	program := exec.CommandContext(ctx, tool(t, "HARMONY_OPENAI_PYTHON"), "clients/openai-python/early.py", url+"/v1")
	program.Stdin = bytes.NewReader(input)
	var complaints bytes.Buffer
	program.Stderr = &complaints
	output, err := program.Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	results := make([]earlyResult, len(tasks))
	if err != nil || len(lines) != len(tasks) {
		t.Errorf("%v: %s%s", err, output, complaints.String())
		return results
	}
	for i, line := range lines {
		var seen struct {
			Finish, Error string
			Tokens        int
		}
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			t.Error(err)
		}
		results[i] = earlyResult{finish: seen.Finish, had: seen.Tokens}
		if seen.Error != "" {
			results[i].err = fmt.Errorf("%s", seen.Error)
		}
	}
	return results
}

// check waits until the server is through with the row and returns its line of the table.
func (r earlyRow) check(t *testing.T, server *sim.Server, id, protocol string, got earlyResult) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var request sim.Request
	_, err := server.Await(ctx, func(list []sim.Request) bool {
		for _, q := range list {
			if q.Header.Get("x-row") == id && q.Done {
				request = q
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Errorf("%s: the server goes on: %v", id, err)
	}
	wasted, end := request.TokensSent-got.had, "no error"
	if got.err != nil {
		end = "error behind the last word"
	}
	wantFinish := map[string]string{"chat stop": "stop", "chat cap": "length", "responses cap": "incomplete"}[r.asks]
	switch {
	case got.finish != wantFinish:
		t.Errorf("%s: finished as %q, want %q (%v)", id, got.finish, wantFinish, got.err)
	case r.cut && !isReset(got.err, protocol), !r.cut && got.err != nil:
		t.Errorf("%s: ended with %v", id, got.err)
	case r.drains && (request.Aborted || wasted < mostWasted):
		t.Errorf("%s: the server was not waited for: %+v", id, request)
	case !r.drains && (!request.Aborted || wasted > mostWasted || got.had == 0):
		t.Errorf("%s: %d tokens were wasted behind %d, aborted %v", id, wasted, got.had, request.Aborted)
	}
	return fmt.Sprintf("%s | %d | %s", id, wasted, end)
}
