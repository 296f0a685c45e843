//go:build e2e

package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// clientFaults are the three ways in which a client learns of a failure.
var clientFaults = []string{"status:503", "error-event:5", "close:5"}

// faultClients are the real clients, by the programs that read their tasks from standard input.
var faultClients = []struct {
	name, program string
	apis          []string
}{
	{"openai-python", "openai-python/faults.py", []string{"chat", "responses", "responses.stream"}},
	{"openai-node", "faults.mjs", []string{"chat", "responses"}},
	{"vercel-ai", "faults.mjs", []string{"chat", "responses"}},
	{"openai-go", "openai-go/faults", []string{"chat", "responses"}},
}

// clientTask is a request as the programs read it.
type clientTask struct {
	Row    string `json:"row"`
	Client string `json:"client"`
	API    string `json:"api"`
	Fault  string `json:"fault"`
	Model  string `json:"model"`
}

// TestFaultClients: docs/faults.md says what real clients, as they come, make of a status, of an error in the stream
// and of a reset: what they raise, and how often they ask. -update writes the table.
func TestFaultClients(t *testing.T) {
	lab.Long(t, "test-clients")
	server, url := lab.RunSim(t, sim.Options{AllowHeaders: true,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})})
	gateway := lab.RunEnvoy(t, lab.OneModel(url)).URL
	programs := clientFolder(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	cells := map[string]string{}
	for _, c := range faultClients {
		var tasks []clientTask
		for _, api := range c.apis {
			for _, fault := range clientFaults {
				tasks = append(tasks, clientTask{c.name + " " + api + " " + fault, c.name, api, fault, lab.Model})
			}
		}
		command := clientCommand(t, programs, c.program, gateway)
		all.Go(func() {
			for row, cell := range runFaultProgram(t, programs, command, tasks) {
				mu.Lock()
				cells[row] = cell
				mu.Unlock()
			}
		})
	}
	for _, fault := range clientFaults {
		codex := failingCodex(t, gateway, fault)
		all.Go(func() {
			cell := runFailingCodex(t, codex, fault)
			mu.Lock()
			cells["Codex responses "+fault] = cell
			mu.Unlock()
		})
	}
	all.Wait()
	asked := map[string]int{}
	for _, r := range server.Requests() {
		asked[r.Header.Get("x-row")]++
	}
	table := "| client | asks | 503 | an error in the stream | a reset in the stream |\n|---|---|---|---|---|\n"
	line := func(client, api, shown string) {
		table += "| " + client + " | " + shown
		for _, fault := range clientFaults {
			row := client + " " + api + " " + fault
			table += " | " + cells[row]
			if n := asked[row]; n != 1 {
				table += fmt.Sprintf(", after %d requests", n)
			}
		}
		table += " |\n"
	}
	for _, c := range faultClients {
		for _, api := range c.apis {
			line(c.name, api, map[string]string{"chat": "Chat", "responses": "Responses",
				"responses.stream": "Responses, helper `stream`"}[api])
		}
	}
	line("Codex", "responses", "Responses")
	lab.CompareFaultTable(t, "clients", table)
}

// runFaultProgram runs a program on tasks and makes a cell of each line that it prints.
func runFaultProgram(t *testing.T, programs string, command []string, tasks []clientTask) map[string]string {
	cells := map[string]string{}
	for _, line := range runTasks(t, programs, command, tasks) {
		var seen struct {
			Row, Last, Error string
			Pieces           int
		}
		if err := json.Unmarshal([]byte(line), &seen); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		cell := "no error"
		if seen.Error != "" {
			cell = "`" + seen.Error + "`"
		}
		if seen.Last == "response.failed" {
			cell = "yields `response.failed`, then " + cell
		}
		if midStream := !strings.HasSuffix(seen.Row, "status:503"); midStream != (seen.Pieces > 1) {
			t.Errorf("%s: %d pieces came", seen.Row, seen.Pieces)
		}
		cells[seen.Row] = cell
	}
	return cells
}

// failingCodex is a Codex that asks, with its own retries, a server that fails.
func failingCodex(t *testing.T, url, fault string) *exec.Cmd {
	t.Helper()
	c := newCodex(t, url, lab.Model)
	file := filepath.Join(c.home, "config.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.NewReplacer("request_max_retries = 0\n", "", "stream_max_retries = 0",
		fmt.Sprintf("http_headers = { \"x-row\" = %q, \"x-sim-fault\" = %q }\n", "Codex responses "+fault, fault)).Replace(
		string(text))
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return c.command(t, "Hi")
}

// runFailingCodex returns how its turn ends.
func runFailingCodex(t *testing.T, codex *exec.Cmd, fault string) string {
	var said bytes.Buffer
	codex.Stdout = &said
	err := codex.Run()
	end, shown := "", 0
	for line := range strings.Lines(said.String()) {
		var e codexEvent
		if json.Unmarshal([]byte(line), &e) == nil {
			end = e.Type
			if e.Item.Type == "agent_message" {
				shown++
			}
		}
	}
	// Half a message that was closed before the error is shown by every attempt, half a message of a reset stream by none.
	if half := fault == "error-event:5"; err == nil || end == "" || half != (shown > 1) || !half && shown > 0 {
		t.Errorf("Codex, %s: %v, %d messages are shown:\n%s", fault, err, shown, &said)
	}
	return "`" + end + "`"
}
