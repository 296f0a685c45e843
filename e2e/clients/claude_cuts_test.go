//go:build e2e

package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeCut is a row of the table of servers that end within an answer.
type claudeCut struct {
	title string
	// says is the answer, which the server ends at CUT.
	says string
	// silent reports whether the server falls silent there, and the gateway ends the answer. A client may lose the last
	// bytes before a connection that closes: so this is for places that depend on them.
	silent bool
	// commands are those of the whole answer. whole are the ones that are whole before the cut.
	commands, whole []string
	// long is a row that is tried with the whole table only.
	long bool
}

// cutHere marks where the server ends.
const cutHere = "CUT"

// runs is a call of a command that leaves a line in the folder, and prints a word.
func runs(name, word string) string {
	text, _ := json.Marshal(arguments{"command": "echo " + name + " >>ran.txt; echo " + word}) // texts in a map
	return "<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>" + string(text)
}

// What stands between two messages of the model, and a whole call behind its reasoning.
const nextMessage = "<|end|><|start|>assistant"

var (
	one      = []string{"one"}
	both     = []string{"one", "two"}
	firstRun = runs("one", "plum")
	nextRun  = runs("two", "cherry")
)

// cutWithin has the cut in the command of a call.
func cutWithin(call string) string { return strings.Replace(call, "ran.txt", "raCUTn.txt", 1) }

var claudeCuts = []*claudeCut{
	{title: "before its headers", long: true},
	{title: "before its first token", says: "CUT" + saying(done), long: true},
	{title: "in thinking", says: "<|channel|>analysis<|message|>One step, and anCUTother." + nextMessage + firstRun +
		"<|call|>",
		commands: one, long: true},
	{title: "behind thinking", says: thought + "<|channel|>commentary to=CUT" +
		strings.TrimPrefix(firstRun, "<|channel|>commentary to=") + "<|call|>", commands: one, long: true},
	{title: "in a text", says: thought + "<|channel|>final<|message|>That isCUT done.<|return|>", long: true},
	{title: "behind a text, before a call", says: thought + "<|channel|>commentary<|message|>I look." + nextMessage +
		"<|channel|>commentary to=CUT" + strings.TrimPrefix(firstRun, "<|channel|>commentary to=") + "<|call|>",
		commands: one,
		long:     true},
	{title: "in a call's arguments", says: thought + cutWithin(firstRun) + "<|call|>", commands: one},
	{title: "behind a call, before another", says: thought + firstRun + nextMessage + "<|channel|>commentary to=CUT" +
		strings.TrimPrefix(nextRun, "<|channel|>commentary to=") + "<|call|>", commands: both, whole: one, long: true},
	{title: "in the second call's arguments", says: thought + firstRun + nextMessage + cutWithin(nextRun) + "<|call|>",
		commands: both, whole: one, long: true},
	{title: "behind a call's last token", says: thought + firstRun + "<|call|>CUT", silent: true, commands: one,
		whole: one,
		long:  true},
	{title: "behind the answer's last token", says: saying(done) + "CUT", silent: true, long: true},
}

// The two ways in which a server can end: the first time that it is asked, or each time.
const (
	endsOnce = iota
	endsAlways
)

// line is the answer of the row, with its end.
func (c *claudeCut) line(tag string) sim.Line {
	before, after, within := strings.Cut(c.says, cutHere)
	fault := sim.Fault{Kind: sim.FaultDrop}
	switch {
	case !within:
		before = saying(done)
	case c.silent:
		fault = sim.Fault{Kind: sim.FaultStall, After: len(lab.Tokens(before))}
	default:
		fault = sim.Fault{Kind: sim.FaultClose, After: len(lab.Tokens(before))}
	}
	return sim.Line{Match: tag + " Please do the task.", Tokens: lab.Tokens(before + after), Fault: &fault}
}

// cutFront is what the gateway takes for its server. The first request of each row finds one that ends within its
// answer, and all requests in rows of servers that end always. The others find one that works.
type cutFront struct {
	dying, fast *httputil.ReverseProxy
	mu          sync.Mutex
	asked       map[string]int // requests by tag
}

// startCutFront starts it.
func startCutFront(t *testing.T) string {
	t.Helper()
	front := &cutFront{asked: map[string]int{}}
	var dying, fast []sim.Line
	for i, c := range claudeCuts {
		for way := range 2 {
			tag := cellTag(way, i)
			rest := actLines(tag, []act{after("plum", saying(done)), after("cherry", saying(done))})
			line := c.line(tag)
			dying = append(append(dying, rest...), line)
			line.Fault = nil
			fast = append(append(fast, rest...), line)
		}
	}
	// The one that ends is slow: a client has taken each token before the end comes.
	for to, options := range map[**httputil.ReverseProxy]sim.Options{
		&front.dying: {TokensPerSecond: 25, Script: sim.NewScript(dying...)}, &front.fast: {Script: sim.NewScript(fast...)},
	} {
		_, text := lab.RunSim(t, options)
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		*to = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1,
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	}
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP sends a request to one of the servers.
func (f *cutFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		Prompt []uint32 `json:"prompt"`
	}
	_ = json.Unmarshal(body, &request) // others than completions have none
	f.choose(tagPattern.FindString(lab.Vocabulary.DecodeString(request.Prompt))).ServeHTTP(w, r)
}

func (f *cutFront) choose(tag string) *httputil.ReverseProxy {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[tag]++
	if always := strings.HasPrefix(tag, cellTag(endsAlways, 0)[:len("Task 1")]); tag != "" && (always ||
		f.asked[tag] == 1) {
		return f.dying
	}
	return f.fast
}

// claudeCutsConfig is the configuration of the gateway.
const claudeCutsConfig = `
stall_timeout: 5s
models: [{ name: ` + lab.Model + `, servers: ['vllm=%s'] }]
`

// TestClaudeCuts lets the server of Claude Code's model end within its answers, once and each time, and looks at what
// the user sees and at which commands were run. If it ends once, the work is done. No command is run twice, or before
// it is whole. An answer that was lost is never a success. Without HARMONY_CLAUDE it takes one place, on one host.
// -update writes the page's table.
func TestClaudeCuts(t *testing.T) {
	rows := make([][]string, len(claudeCuts))
	for i := range rows {
		rows[i] = make([]string, len(clientHosts))
	}
	t.Run("hosts", func(t *testing.T) {
		for h, host := range clientHosts {
			if !wholeClaudeTable() && host != "wazero" {
				continue
			}
			t.Run(host, func(t *testing.T) {
				_, gateway := lab.StartUp(t, "--host", host, "--config",
					lab.WriteConfig(t, fmt.Sprintf(claudeCutsConfig, startCutFront(t))))
				for i, c := range claudeCuts {
					if c.long && !wholeClaudeTable() {
						continue
					}
					t.Run(c.title, func(t *testing.T) { rows[i][h] = c.play(t, gateway, i) })
				}
			})
		}
	})
	if !wholeClaudeTable() {
		return
	}
	table := "| the server ends | once: requests | commands run | always: the user sees | commands run |\n|---|---|---|---|---|\n"
	for i, c := range claudeCuts {
		if rows[i][0] != rows[i][1] {
			t.Errorf("%s: the hosts differ: %q", c.title, rows[i])
		}
		table += "| " + c.title + " | " + rows[i][0] + " |\n"
	}
	claudeTable().compareTable(t, "cuts", table)
}

// play lets a server end, once and then always, and returns the cells of the row.
func (c *claudeCut) play(t *testing.T, gateway string, row int) string {
	once, turn, commands := c.run(t, gateway, cellTag(endsOnce, row))
	want, ran := c.commands, commands
	if len(c.whole) > 0 { // Claude Code does not ask again: it goes on with the results of the calls that it has
		want = c.whole
	}
	if wrong := turn.ended(done); wrong != "" || !slices.Equal(ran, want) {
		t.Errorf("once: %s, and the commands %q were run", wrong, ran)
	}
	_, turn, commands = c.run(t, gateway, cellTag(endsAlways, row))
	// With the results of its commands Claude Code asks another question, whose answer is whole. In which of its many
	// tries it gives up, and with which words, depends on how far it had read.
	seen := "an error"
	if len(c.whole) > 0 {
		seen = done
	}
	if !slices.Equal(commands, c.whole) || turn.failed != (len(c.whole) == 0) || !turn.failed && turn.result != done {
		t.Errorf("always: %q, and the commands %q were run", turn.result, commands)
	}
	cell := func(all []string) string { return cmp.Or(strings.Join(all, ", "), "-") }
	return fmt.Sprintf("%d | %s | %s | %s", once, cell(ran), seen, cell(commands))
}

// run lets Claude Code do the task, and returns how many requests it made, what the user sees, and which commands were
// run.
func (c *claudeCut) run(t *testing.T, gateway, tag string) (asked int32, turn claudeTurn, commands []string) {
	var requests atomic.Int32
	cell := &claudeCell{tag: tag, claude: newClaude(t, countRequests(t, gateway, &requests), lab.Model)}
	cell.claude.environment = []string{"CLAUDE_CODE_MAX_RETRIES=2"}
	defer takeCore()()
	turn = cell.claude.run(t, cell.task())
	cell.log(t, turn)
	ran, _ := os.ReadFile(filepath.Join(cell.claude.folder, "ran.txt")) // there is none if no command was run
	t.Logf("%d requests, %q, commands %q", requests.Load(), turn.result, strings.Fields(string(ran)))
	return requests.Load(), turn, strings.Fields(string(ran))
}
