package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/sim"
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

// TestFaultClients: docs/faults.md says what real clients, as they come, make of a status, of an error in the stream and of
// a reset: what they raise, and how often they ask. -update writes the table.
func TestFaultClients(t *testing.T) {
	server, url := runSim(t, sim.Options{AllowHeaders: true, Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: spoken(said)})})
	gateway := runEnvoy(t, oneModel(url)).URL
	programs := clientFolder(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	cells := map[string]string{}
	for _, c := range faultClients {
		var tasks []clientTask
		for _, api := range c.apis {
			for _, fault := range clientFaults {
				tasks = append(tasks, clientTask{c.name + " " + api + " " + fault, c.name, api, fault, caseModel})
			}
		}
		all.Go(func() {
			for row, cell := range runFaultProgram(t, filepath.Join(programs, c.program), gateway, tasks) {
				mu.Lock()
				cells[row] = cell
				mu.Unlock()
			}
		})
	}
	for _, fault := range clientFaults {
		all.Go(func() {
			cell := codexFault(t, gateway, fault)
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
			line(c.name, api, map[string]string{"chat": "Chat", "responses": "Responses", "responses.stream": "Responses, helper `stream`"}[api])
		}
	}
	line("Codex", "responses", "Responses")
	compareTable(t, "clients", table)
}

// runFaultProgram runs a program with the tasks on its standard input and makes a cell of each line that it prints.
func runFaultProgram(t *testing.T, program, url string, tasks []clientTask) map[string]string {
	input, err := json.Marshal(tasks)
	if err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	arguments := []string{filepath.Join(os.Getenv("HARMONY_CLIENTS"), "node"), program}
	switch filepath.Ext(program) {
	case ".py":
		arguments[0] = tool(t, "HARMONY_OPENAI_PYTHON")
	case "":
		built := program + ".bin"
		if out, err := exec.CommandContext(ctx, "go", "build", "-C", program, "-o", built, ".").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
			return nil
		}
		arguments = []string{built}
	}
	run := exec.CommandContext(ctx, arguments[0], append(arguments[1:], url+"/v1")...)
	run.Stdin = bytes.NewReader(input)
	var complaints bytes.Buffer
	run.Stderr = &complaints
	output, err := run.Output()
	if err != nil {
		t.Errorf("%s: %v: %s%s", program, err, output, complaints.String())
	}
	cells := map[string]string{}
	for line := range strings.Lines(string(output)) {
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

// codexFault has Codex ask, with its own retries, and returns how the turn ends.
func codexFault(t *testing.T, url, fault string) string {
	c := newCodex(t, url, caseModel)
	file := filepath.Join(c.home, "config.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return ""
	}
	settings := strings.NewReplacer("request_max_retries = 0\n", "", "stream_max_retries = 0\n",
		fmt.Sprintf("http_headers = { \"x-row\" = %q, \"x-sim-fault\" = %q }\n", "Codex responses "+fault, fault)).Replace(string(text))
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Error(err)
	}
	var said bytes.Buffer
	cmd := c.command(t, "Hi")
	cmd.Stdout = &said
	err = cmd.Run()
	end := ""
	for line := range strings.Lines(said.String()) {
		var e struct{ Type string }
		if json.Unmarshal([]byte(line), &e) == nil {
			end = e.Type
		}
	}
	if t.Logf("Codex, %s: %v\n%s", fault, err, &said); err == nil || end == "" {
		t.Errorf("Codex ends well:\n%s", &said)
	}
	return "`" + end + "`"
}
