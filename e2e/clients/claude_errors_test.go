//go:build e2e

package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeFailure is a row of the table of failures.
type claudeFailure struct {
	title string
	// acts are what the model does, and fault is what its server does with each of them.
	acts  []act
	fault string
	// model is the name, if it is not lab.Model, and key the client's, if it is not the one that is known.
	model, key string
	// prepare, if it is set, makes the folder ready.
	prepare func(t *testing.T, c *claudeCell)
	// says is how what the user sees begins, and asks how many requests Claude Code makes at most.
	says string
	asks int32
}

// The models of the gateway of failures. The first has no place for Claude Code's prompt, and the second for little more.
const (
	tinyModel  = "tiny"
	smallModel = "small"
)

// theKey is the client's key.
const theKey = "sk-harmony-of-a-test"

// answered are the acts of a model that only answers.
var answered = []act{asked(saying(done))}

// numbersAnd is a command with some thousand tokens of output, which end with a word.
func numbersAnd(word string) string { return command("seq 1 1600; echo " + word) }

var claudeFailures = []*claudeFailure{
	{title: "a model that does not exist", model: "nobody", acts: answered, says: "There's an issue", asks: 2},
	{title: "an unknown key", key: "other", acts: answered, says: "Failed to authenticate", asks: 3},
	{title: "a server that answers 429, `retry-after: 1`", acts: answered, fault: "status:429:1", says: "API Error", asks: 3},
	{title: "a server that answers 500", acts: answered, fault: "status:500", says: "API Error", asks: 3},
	{title: "a server that answers 503", acts: answered, fault: "status:503", says: "API Error", asks: 3},
	{title: "an error within each answer", acts: answered, fault: "error-event:12", says: "API Error", asks: 4},
	{title: "a first prompt that is too long", model: tinyModel, acts: answered, says: "Prompt is too long", asks: 3},
	{title: "a later prompt that is too long", model: smallModel, acts: summarized(asked(numbersAnd("plum")),
		after("\nplum", numbersAnd("cherry")), after("\ncherry", numbersAnd("apple")), after("\napple", saying("One."))),
		says: done, asks: 9},
	{title: "a picture that is refused", acts: []act{asked(calling("Read", arguments{"file_path": "picture.png"})),
		after("functions.Read to=assistant", saying(done)), after("<|start|>user", saying(done))}, says: done, asks: 4,
		prepare: func(t *testing.T, c *claudeCell) { c.put(t, "picture.png", picture()) }},
}

// claudeFailuresConfig is the configuration of the gateway.
const claudeFailuresConfig = `
clients: { keys_file: %q }
models:
  - { name: ` + lab.Model + `, servers: ['vllm=%[2]s'] }
  - { name: ` + tinyModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[2]s'], context_length: 4096 }
  - { name: ` + smallModel + `, server_model: ` + lab.Model + `, servers: ['vllm=%[2]s'], context_length: 20000 }
`

// failureLines are the lines of all rows.
func failureLines(t *testing.T) (lines []sim.Line) {
	t.Helper()
	for i, f := range claudeFailures {
		fault, err := sim.ParseFault(f.fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range actLines(cellTag(0, i), f.acts) {
			line.Fault = &fault
			lines = append(lines, line)
		}
	}
	return lines
}

// countRequests is a proxy that counts requests for answers.
func countRequests(t *testing.T, to string, n *atomic.Int32) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/messages" {
			n.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestClaudeFailures lets requests of Claude Code fail, and looks at what its user sees in the end. Without
// HARMONY_CLAUDE it takes the picture, on one host. -update writes the page's table.
func TestClaudeFailures(t *testing.T) {
	rows := make([][]string, len(claudeFailures))
	t.Run("hosts", func(t *testing.T) {
		for _, host := range clientHosts {
			if !wholeClaudeTable() && host != "wazero" {
				continue
			}
			t.Run(host, func(t *testing.T) {
				_, upstream := lab.RunSim(t, sim.Options{Script: sim.NewScript(failureLines(t)...)})
				keys := lab.WriteConfig(t, fmt.Sprintf("clients: [{name: a, hashes: [%q]}]\n", clients.HashOf(theKey)))
				_, gateway := lab.StartUp(t, "--host", host, "--config",
					lab.WriteConfig(t, fmt.Sprintf(claudeFailuresConfig, keys, upstream)))
				for i, f := range claudeFailures {
					if !wholeClaudeTable() && f.prepare == nil {
						continue
					}
					t.Run(f.title, func(t *testing.T) { rows[i] = append(rows[i], f.play(t, i, gateway)) })
				}
			})
		}
	})
	table := "| what fails | requests | the user sees |\n|---|---|---|\n"
	for i, f := range claudeFailures {
		row := strings.Join(rows[i][:min(1, len(rows[i]))], "")
		if len(rows[i]) == 2 && rows[i][1] != row {
			t.Errorf("%s: the hosts differ: %q", f.title, rows[i])
		}
		table += "| " + f.title + " | " + row + " |\n"
	}
	if wholeClaudeTable() {
		claudeTable().compareTable(t, "failures", table)
	}
}

// play lets it happen, and returns how many requests were made and what the user sees.
func (f *claudeFailure) play(t *testing.T, row int, gateway string) string {
	var requests atomic.Int32
	model, key := f.model, f.key
	if model == "" {
		model = lab.Model
	}
	if key == "" {
		key = theKey
	}
	c := &claudeCell{tag: cellTag(0, row), claude: newClaude(t, countRequests(t, gateway, &requests), model)}
	c.claude.environment = []string{"CLAUDE_CODE_MAX_RETRIES=2", "ANTHROPIC_AUTH_TOKEN=" + key}
	if f.prepare != nil {
		f.prepare(t, c)
	}
	defer takeCore()()
	turn := c.claude.run(t, c.task())
	c.log(t, turn)
	if n := requests.Load(); !strings.HasPrefix(turn.result, f.says) || n > f.asks {
		t.Errorf("%d requests, and the user sees %q", n, turn.result)
	}
	return fmt.Sprintf("%d | %s", requests.Load(), seenText(turn.result))
}

// varying are counts that differ from run to run: paths are in the prompts.
var varying = regexp.MustCompile(`~\d+`)

// mostSeen is how many characters of what a user sees a cell has.
const mostSeen = 70

// seenText is what a user sees, for a cell of a table: its first sentence, or how that begins.
func seenText(text string) string {
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "|", "/"), "\n")
	text, _, _ = strings.Cut(text, ". ")
	text, _, _ = strings.Cut(text, " (limit ")
	text = varying.ReplaceAllString(text, "N")
	if all := []rune(text); len(all) > mostSeen {
		text = string(all[:mostSeen]) + "…"
	}
	return text
}
