//go:build e2e && vllm

package vllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// kinds are the kinds of servers that a vLLM of today is.
var kinds = []string{contract.VLLM, contract.VLLMGenerate, contract.Text, contract.Chat}

// TestCases runs the suite's scripts through both hosts of the shipped filter, before a real vLLM as a server of each
// of its kinds: every case whose request can carry its script to the puppet in the text of its last message. The
// client must see what it sees before the simulated vLLM, in whatever pieces. Requests that a kind cannot serve are
// refused.
func TestCases(t *testing.T) {
	v := servers.Shared(t, wideFlags...)
	board := board{began: time.Now(), rows: map[string]map[string]string{}}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
				column := strings.TrimPrefix(t.Name(), "TestCases/")
				cases.EachIn(t, contract.ModeFull, func(t *testing.T, c *cases.Case, _ string) *gateway {
					return &gateway{start: sync.OnceValue(func() *hosts.Host {
						setup, err := c.On(kind).Config(v.URL)
						if err != nil {
							t.Fatal(err)
						}
						setup.Models[0].ContextLength, setup.StallTimeout = contextLength, patience
						return run(t, setup)
					})}
				}, func(t *testing.T, g *gateway, c *cases.Case, _ string) {
					runCase(t, g, c, kind, column, &board)
				})
			})
		})
	}
	board.print(t, v)
	for column, told := range board.told() {
		if told < leastTold[strings.Split(column, "/")[0]] {
			t.Errorf("%s: only %d cases have been told by a real engine", column, told)
		}
	}
}

// contextLength is the --max-model-len of the servers.
const contextLength = 16384

// leastTold is how many cases each kind must at least tell.
var leastTold = map[string]int{contract.VLLM: 140, contract.VLLMGenerate: 140, contract.Text: 100, contract.Chat: 60}

// patience is how long a server with much to do may be silent.
const patience = config.Duration(2 * time.Minute)

// gateway is a host that starts with the first case that it is asked for.
type gateway struct{ start func() *hosts.Host }

// Reasons why a case is not run.
const (
	refusedSettings = "settings that the control plane refuses for such servers"
	ownChat         = "Chat requests, which pass: the answer is vLLM's own"
	ownResponses    = "what vLLM's own parser makes of an answer"
	ownTag          = "what vLLM's own structural tag makes of an answer"
	movedResult     = "a tool's result that goes to its call: the script is not at the prompt's end"
)

// refusalCode finds the code of a refusal of what kinds of servers lack.
var refusalCode = regexp.MustCompile(`"code":"(unsupported_parameter|unsupported_value|tool_choice_not_supported|` +
	`choices_not_supported|control_token_in_text)"`)

func runCase(t *testing.T, g *gateway, c *cases.Case, kind, column string, b *board) {
	t.Helper()
	with, why := engines.Carry(t, c, kind)
	switch setup, err := c.On(kind).Config("http://127.0.0.1:9"); { // never reached
	case err != nil:
		t.Fatal(err)
	case setup.Validate() != nil:
		why = refusedSettings
	case why == "" && kind == contract.Text:
		why = notAsText(c)
	case why == "" && kind == contract.Chat && c.API() == "chat":
		why = ownChat
	case why == "" && kind == contract.Chat && ownReading[c.Name]:
		why = ownResponses
	case why == "" && kind == contract.Chat && ownTags[c.Name]:
		why = ownTag
	case why == "" && kind == contract.Chat && movedResults[c.Name]:
		why = movedResult
	}
	if why != "" {
		b.note(c.Name, column, "- "+why)
		return
	}
	host := g.start()
	t.Parallel()
	own := &http.Client{Timeout: client.Timeout}
	defer own.CloseIdleConnections()
	got, err := with.Send(own, host.URL)
	if err != nil {
		t.Fatal(err)
	}
	if code := refusalCode.FindStringSubmatch(got); code != nil && strings.HasPrefix(got, "400") {
		b.note(c.Name, column, "refused: "+code[1])
		return
	}
	if got, want := agreeing(got, with, kind), agreeing(c.Member("want"), with, kind); got != want {
		b.note(c.Name, column, "DIFFERS")
		t.Errorf("the client sees\n%s\nwant\n%s", got, want)
		return
	}
	b.note(c.Name, column, "equal")
}

// ownReading are cases whose answer vLLM's parser reads otherwise: it joins messages, shows markers that are out of
// place, takes a built-in tool's call for reasoning, has other pieces of characters, and counts no tokens of
// reasoning.
var ownReading = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq("responses_two_finals responses_unknown_channel responses_logprobs_whole " +
		"responses_logprobs_stream responses_stray_markers responses_reasoning_cap_whole responses_reasoning_cap_stream " +
		"responses_own_whole responses_own_length responses_own_stream responses_no_header responses_missing_start " +
		"responses_missing_end responses_length_builtin_whole responses_length_builtin_stream responses_doubled_header " +
		"responses_builtin_browser responses_token_ids_logprobs_whole") {
		ownReading[name] = true
	}
}

// ownTags are cases for which vLLM's chat has a structural tag in its own form, such as `<|channel|>final json`. It
// blocks what the script says, and the puppet then goes on for ever within what the tag allows.
var ownTags = map[string]bool{"responses_format_schema_stream": true, "responses_format_schema_whole": true,
	"responses_custom_choice": true, "responses_own_choice": true, "responses_guardian": true}

// movedResults are cases in which a message stands behind the last result before a chat server.
var movedResults = map[string]bool{"responses_truncation_fits": true, "responses_standalone_output": true}

// notAsText returns why a case is not run before vLLM as a server that answers in text, in which it hides control
// tokens.
func notAsText(c *cases.Case) string {
	if strings.Contains(c.Name, "reasoning_cap") || c.Name == "chat_thinking_budget_reasoning" {
		return "a limit on reasoning, whose tokens text only estimates"
	}
	return c.Ambiguous()
}

var (
	// counted are the counts of a prompt, which is longer with a script in it.
	counted = regexp.MustCompile(`"(prompt_tokens|input_tokens|total_tokens|cached_tokens|cache_read_input_tokens)":\d+`)
	// madeUp are the prompt's ids, for the same reason, and probabilities, which the simulated server makes up.
	madeUp = regexp.MustCompile(`(prompt_token_ids|generation_log_probs)("?: *"?)\[[-+0-9.,e]*\]`)
	// estimated are counts that a server which answers in text does not tell.
	estimated = regexp.MustCompile(`"(reasoning_tokens|thinking_tokens|completion_tokens|output_tokens)":\d+`)
)

// agreeing returns a view without what may differ before a real server.
func agreeing(view string, c *cases.Case, kind string) string {
	lines := strings.Split(strings.TrimSpace(view), "\n")
	for i, line := range lines {
		lines[i] = withoutNumbers(line)
	}
	view = counted.ReplaceAllString(cases.Fold(strings.Join(lines, "\n")), `"$1":0`)
	view = madeUp.ReplaceAllString(view, "$1$2[]")
	view = strings.ReplaceAll(view, "("+kind+")", "("+contract.VLLM+")")
	switch {
	case kind == contract.Chat:
		view = cases.LikeChat(view)
	case c.ServerKind().EstimatesTokens():
		view = estimated.ReplaceAllString(view, `"$1":0`)
	}
	return view
}

// withoutNumbers returns a line of an answer without the log probabilities, which the simulated server makes up.
func withoutNumbers(line string) string {
	if !strings.Contains(line, `"logprob":`) {
		return line
	}
	prefix := ""
	if rest, ok := strings.CutPrefix(line, "data: "); ok {
		prefix, line = "data: ", rest
	}
	var value any
	if json.Unmarshal([]byte(line), &value) != nil {
		return prefix + line
	}
	dropNumbers(value)
	encoded, _ := json.Marshal(value) // it was JSON
	return prefix + string(encoded)
}

func dropNumbers(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			switch key {
			case "logprob":
				value[key] = 0
			case "top_logprobs":
				value[key] = nil
			default:
				dropNumbers(member)
			}
		}
	case []any:
		for _, element := range value {
			dropNumbers(element)
		}
	}
}

// board has what has become of each case in each column, which is KIND/HOST.
type board struct {
	mu    sync.Mutex
	began time.Time
	rows  map[string]map[string]string
}

func (b *board) note(name, column, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows[name] == nil {
		b.rows[name] = map[string]string{}
	}
	b.rows[name][column] = what
}

// told counts, for each column, the cases that a real engine has told.
func (b *board) told() map[string]int {
	told := map[string]int{}
	for _, row := range b.rows {
		for column, what := range row {
			if what == "equal" {
				told[column]++
			}
		}
	}
	return told
}

// fates are what can become of a case. docs/vllm.md explains them.
var fates = []string{"equal", "differ", "refused", "vLLM's own", "not told"}

// fateOf returns the index in [fates] of what has become of a case.
func fateOf(what string) int {
	switch {
	case what == "equal":
		return 0
	case what == "DIFFERS":
		return 1
	case strings.HasPrefix(what, "refused: "), what == "- "+refusedSettings:
		return 2
	case what == "- "+ownChat, what == "- "+ownResponses, what == "- "+ownTag:
		return 3
	}
	return 4
}

// table returns how many cases have met each fate, by kinds and hosts.
func (b *board) table() string {
	counts := map[string][]int{}
	for _, row := range b.rows {
		for column, what := range row {
			if counts[column] == nil {
				counts[column] = make([]int, len(fates))
			}
			counts[column][fateOf(what)]++
		}
	}
	out := "| kind | host | " + strings.Join(fates, " | ") + " |\n|---|---" + strings.Repeat("|---", len(fates)) + "|\n"
	for _, kind := range kinds {
		for _, host := range []string{"envoy", "wazero"} {
			out += "| `" + kind + "` | " + strings.Replace(host, "envoy", "Envoy", 1) + " |"
			for fate := range fates {
				out += fmt.Sprintf(" %d |", append(counts[kind+"/"+host], make([]int, len(fates))...)[fate])
			}
			out += "\n"
		}
	}
	return out
}

// complete reports whether every case has met its fate in every column.
func (b *board) complete() bool {
	for _, row := range b.rows {
		if len(row) < 2*len(kinds) {
			return false
		}
	}
	return true
}

// print compares the table with the page, and writes what has become of each case to $HARMONY_VLLM_TABLE.
func (b *board) print(t *testing.T, v *engines.VLLM) {
	t.Helper()
	table := b.table()
	t.Logf("%.0f s; vLLM has had %.1f GiB at most\n%s", time.Since(b.began).Seconds(), float64(v.Peak())/(1<<30), table)
	if b.complete() {
		lab.ComparePageTable(t, "docs/vllm.md", "make test-vllm ARGS=-update", "cases before a real vLLM", table)
	}
	path := os.Getenv("HARMONY_VLLM_TABLE")
	if path == "" {
		return
	}
	columns := map[string]bool{}
	for _, row := range b.rows {
		for column := range row {
			columns[column] = true
		}
	}
	order := slices.Sorted(maps.Keys(columns))
	table = "case\t" + strings.Join(order, "\t") + "\n"
	for _, name := range slices.Sorted(maps.Keys(b.rows)) {
		table += name
		for _, column := range order {
			table += "\t" + b.rows[name][column]
		}
		table += "\n"
	}
	if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
		t.Error(err)
	}
}
