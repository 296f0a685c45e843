//go:build e2e

package clients

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// realClient is a folder of clients/: a program that speaks to a gateway as the users of a client do, checks what they
// would see, prints "ok WHAT" for each check and at last "N checks passed with NAME VERSION".
type realClient struct {
	name string
	// folder, if it is not the name's.
	folder string
	// program, without its ending, if it is not main. One in Go is built from a module of its own.
	program string
	golang  bool
	// model, if it is not Model: one of clientModels.
	model string
	// environment is added to the program's.
	environment []string
	// python is the variable that names the interpreter; without it the program is JavaScript.
	python string
	// replays says that the client, in a loop over tools, sends the reasoning back that led to a call. Without it the
	// model has to do without.
	replays bool
}

var realClients = []realClient{
	{name: "openai-python", python: "HARMONY_OPENAI_PYTHON", replays: true},
	{name: "openai-node"},
	{name: "openai-node, Responses", folder: "openai-node", program: "responses", replays: true},
	{name: "openai-go", golang: true, replays: true},
	{name: "openai-agents", python: "HARMONY_CLIENTS_PYTHON"},
	{name: "openai-agents, reasoning alone", folder: "openai-agents", model: "reasoning-alone",
		python: "HARMONY_CLIENTS_PYTHON", replays: true},
	{name: "openai-agents, Responses", folder: "openai-agents", program: "responses", python: "HARMONY_CLIENTS_PYTHON",
		replays: true},
	{name: "langchain", python: "HARMONY_CLIENTS_PYTHON"},
	{name: "vercel-ai", replays: true},
	{name: "vercel-ai, Responses", folder: "vercel-ai", program: "responses", replays: true},
	{name: "vercel-ai, reasoning as summary", folder: "vercel-ai", program: "responses", model: "reasoning-as-summary",
		replays: true},
	{name: "anthropic-python", python: "HARMONY_ANTHROPIC_PYTHON", replays: true},
	{name: "anthropic-python, major before", folder: "anthropic-python", python: "HARMONY_ANTHROPIC_1_PYTHON",
		replays: true},
	{name: "anthropic-node", replays: true},
	{name: "anthropic-node, major before", folder: "anthropic-node", environment: []string{
		"ANTHROPIC_PACKAGE=anthropic-sdk-0"}, replays: true},
	{name: "langchain, Messages", folder: "langchain", program: "messages", python: "HARMONY_ANTHROPIC_PYTHON",
		replays: true},
	{name: "litellm", python: "HARMONY_LITELLM_PYTHON", environment: []string{"LITELLM_OFFLINE_MODE=true"},
		replays: true},
	{name: "vercel-ai, Messages", folder: "vercel-ai", program: "messages", replays: true},
}

// clientModels is the gateway's configuration: a model with the default settings, a model whose answers have reasoning
// and no reasoning_content, and a model that sends its reasoning as a summary.
const clientModels = `
models:
  - name: ` + lab.Model + `
    servers: [vllm=SERVER]
  - name: reasoning-alone
    server_model: ` + lab.Model + `
    servers: [vllm=SERVER]
    answers: { reasoning_fields: reasoning }
  - name: reasoning-as-summary
    server_model: ` + lab.Model + `
    servers: [vllm=SERVER]
    answers: { reasoning_as_summary: true }
`

// clientHosts are the hosts of harmony up.
var clientHosts = []string{"envoy", "wazero"}

// triedHosts are the hosts on which clients do their whole work: both of them in make test-clients, else Envoy. Each host
// has the same answers for them, which the suite and what is short here hold against each other.
func triedHosts() []string {
	if lab.AtLength() {
		return clientHosts
	}
	return clientHosts[:1]
}

// TestClients lets each client speak to harmony up, on each host, both at once. One line that a client writes to its
// standard error, such as a warning, fails it.
func TestClients(t *testing.T) {
	programs := clientFolder(t)
	table := newClientTable()
	t.Cleanup(func() { table.write(t) }) // not defer: the hosts run on after this function
	for h, host := range triedHosts() {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, serverURL := lab.RunSim(t, sim.Options{
				AllowHeaders: true, Script: lab.ReadScript(t, "e2e/clients/script.jsonl")})
			config := lab.WriteConfig(t, strings.ReplaceAll(clientModels, "SERVER", serverURL))
			// One client sends back sealed reasoning alone.
			up, url := lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + lab.SealKey}, "--host", host, "--config",
				config)
			for i, c := range realClients {
				t.Run(c.name, func(t *testing.T) {
					before := len(server.Requests())
					table[i][h] = c.run(t, programs, url+"/v1")
					c.checkRequests(t, server, before)
				})
			}
			if host == "wazero" {
				lab.StopWazero(t, up)
			} else {
				up.Stop(t, syscall.SIGINT)
			}
		})
	}
}

// clientFolder is a copy of clients/ with the installed packages beside it, where JavaScript looks for them.
func clientFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node_modules")
	if err := os.Symlink(packages, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return folder
}

var passedLine = regexp.MustCompile(`(?m)^([0-9]+) checks passed with \S+ (\S+)\n\z`)

// run runs the client's program. It fails the test unless the program says that all went well.
func (c *realClient) run(t *testing.T, programs, url string) clientRun {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	folder := filepath.Join(programs, cmp.Or(c.folder, c.name))
	program := filepath.Join(folder, cmp.Or(c.program, "main")+".mjs")
	interpreter := filepath.Join(os.Getenv("HARMONY_CLIENTS"), "node")
	if c.python != "" {
		program = filepath.Join(folder, cmp.Or(c.program, "main")+".py")
		interpreter = lab.Tool(t, c.python)
	}
	arguments := []string{program, url, cmp.Or(c.model, lab.Model)}
	if c.golang {
		interpreter, arguments = buildClient(t, folder), arguments[1:]
	}
	cmd := exec.CommandContext(ctx, interpreter, arguments...)
	cmd.Env = append(clientEnvironment(programs), c.environment...)
	var said, warned bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &warned
	began := time.Now()
	err := cmd.Run()
	r := clientRun{took: time.Since(began)}
	for line := range strings.Lines(said.String()) {
		if check, ok := strings.CutPrefix(line, "ok     "); ok {
			r.checks = append(r.checks, strings.TrimSpace(check))
		}
	}
	passed := passedLine.FindStringSubmatch(said.String())
	if err != nil || warned.Len() > 0 || passed == nil || passed[1] != fmt.Sprint(len(r.checks)) || len(r.checks) == 0 {
		t.Errorf("%v\n%s%s", err, &said, &warned)
		return r
	}
	r.version = passed[2]
	return r
}

// buildClient builds a client's program in Go.
func buildClient(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(folder, "main")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", folder, "-o", program,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// checkRequests looks at what has reached the server: streams that were left have been given up there too, and each
// tool's result stands in the prompt under its function's name, and reasoning stays until an answer.
func (c *realClient) checkRequests(t *testing.T, server *sim.Server, before int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	all, err := server.Await(ctx, func(all []sim.Request) bool {
		return !slices.ContainsFunc(all[before:], func(r sim.Request) bool { return !r.Done })
	})
	if err != nil {
		t.Errorf("a request still runs at the server: %v", err)
	}
	left, compared, followed := 0, 0, 0
	for _, r := range all[before:] {
		if strings.HasPrefix(r.Header.Get("X-Sim-Fault"), "stall:") {
			left++
			if !r.Aborted {
				t.Errorf("a stream that the client has left ended at the server by %q", r.Finish)
			}
		}
		prompt := lab.Vocabulary.DecodeString(r.PromptIDs)
		if !strings.Contains(prompt, "<|message|>Rome: 25 degrees<|end|>") {
			continue
		}
		if strings.Contains(prompt, "<|start|>user<|message|>Which is warmer?<|end|>") {
			followed++
			if !strings.Contains(prompt, "Paris has 21 degrees, Rome has 25.<|end|>") || strings.Contains(prompt,
				"First I need Paris.") {
				t.Errorf("a further question does not come with the answer before it, or with what led to it:\n%s", prompt)
			}
			continue
		}
		compared++
		if !strings.Contains(prompt, "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>Rome: 25 degrees<|end|>") {
			t.Errorf("a tool's result is not the function's:\n%s", prompt)
		}
		if replays := strings.Contains(prompt,
			"<|channel|>analysis<|message|>First I need Paris.<|end|>"); replays != c.replays {
			t.Errorf("the reasoning that led to the first call is in the prompt: %v, want %v\n%s", replays, c.replays, prompt)
		}
	}
	if left == 0 || compared == 0 || followed == 0 {
		t.Errorf("%d streams were left, %d answers asked for with two tool results, %d with a question behind them",
			left, compared, followed)
	}
}
