//go:build e2e && moreclients

package moreclients

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// client is a program that gets the gateway's URL, the model and a task, and prints what its user reads.
type client struct {
	name string
	// command is what runs it, before the URL.
	command []string
	// tasks are what it is asked for: an API, and "text", "stream" or "tools".
	tasks []task
}

// task is one run of a client.
type task struct {
	name string
	// keeps says that the reasoning that led to the first call is in the prompt with its result.
	keeps bool
	// temperature is what the client asks for without being told to, or empty where that is nothing or 1.
	temperature string
}

// clientsIn returns the clients, whose packages are in tools and whose programs are in folder.
func clientsIn(t *testing.T, folder string) []client {
	t.Helper()
	packages := lab.Tool(t, "HARMONY_MORE_CLIENTS")
	java := []string{"java", "-cp", javaPath(t, packages, folder)}
	node := filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node")
	python := func(name string) []string { // a program has another name than the package that it imports
		return []string{filepath.Join(lab.Tool(t, "HARMONY_VENVS"), name, "bin/python"),
			filepath.Join(folder, strings.ReplaceAll(name, "-", "_")+"_client.py")}
	}
	rust := func(name string) []string {
		return []string{filepath.Join(lab.Tool(t, "HARMONY_MORE_CLIENTS_RUST"), "bin", name)}
	}
	return []client{
		{"LangChain4j", append(java, "LangChain4j"),
			[]task{{name: "chat stream"}, {name: "chat tools"}, {name: "chat tools, thinking", keeps: true}}},
		{"Spring AI", append(slices.Clip(java), "SpringAI"), []task{{name: "chat stream"}, {name: "chat tools", keeps: true}}},
		{"LangChain.js", []string{node, filepath.Join(folder, "langchain.mjs")}, []task{{name: "chat stream"},
			{name: "chat tools"}, {name: "responses stream"}, {name: "responses tools", keeps: true}}},
		{"LlamaIndex", python("llamaindex"), []task{{name: "chat stream", temperature: "0.1"},
			{name: "chat tools", temperature: "0.1"}, {name: "responses stream", temperature: "0.1"},
			{name: "responses tools", temperature: "0.1"}}},
		{"Haystack", python("haystack"), []task{{name: "chat stream"}, {name: "chat tools"}, {name: "responses stream"},
			{name: "responses tools", keeps: true}}},
		{"Qwen Code", []string{"bash", filepath.Join(folder, "qwen.sh"), node,
			filepath.Join(packages, "node_modules/.bin/qwen")}, []task{{name: "chat stream"}, {name: "chat tools", keeps: true}}},
		{"Cline", []string{"bash", filepath.Join(folder, "cline.sh"), filepath.Join(lab.Tool(t, "HARMONY_CLINE"), "cline")},
			[]task{{name: "chat stream"}, {name: "chat tools", keeps: true}}},
		{"Inspect", python("inspect"), []task{{name: "chat text"}, {name: "chat tools", keeps: true},
			{name: "responses text"}, {name: "responses tools"}}},
		{"async-openai", rust("async-openai"), []task{{name: "chat stream"}, {name: "chat tools"},
			{name: "responses stream"}, {name: "responses tools", keeps: true}}},
		{"rig", rust("rig"), []task{{name: "chat stream"}, {name: "chat tools", keeps: true},
			{name: "responses stream"}, {name: "responses tools", keeps: true}}},
		{"litellm proxy", python("litellm-proxy"), []task{{name: "chat stream"}, {name: "chat tools", keeps: true},
			{name: "chat tools, openai", keeps: true}, {name: "responses stream"}, {name: "responses tools", keeps: true}}},
		{"lm-eval", python("lm-eval"), []task{{name: "chat text", temperature: "0"}}},
	}
}

// javaPath compiles the programs in Java, and returns the class path.
func javaPath(t *testing.T, packages, folder string) string {
	t.Helper()
	archives, err := os.ReadFile(filepath.Join(packages, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*.java"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	compile := append([]string{"-cp", string(archives), "-parameters", "-d", folder}, programs...)
	if out, err := exec.CommandContext(t.Context(), "javac", compile...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(archives)) + string(os.PathListSeparator) + folder
}

// TestMoreClients: each client's user reads the answer, in a stream and after two calls of a tool, and the model sees
// its own reasoning again where docs/more-clients.md says so. It prints a table.
func TestMoreClients(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	packages := filepath.Join(lab.Tool(t, "HARMONY_MORE_CLIENTS"), "node_modules")
	if err := os.Symlink(packages, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			server, url := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/moreclients/script.jsonl")})
			_, gateway := lab.StartUp(t, "--host", host, "--backend", "vllm="+url, "--model", lab.Model)
			for _, c := range clientsIn(t, folder) {
				for _, k := range c.tasks {
					t.Run(c.name+", "+k.name, func(t *testing.T) { c.run(t, folder, gateway, server, k) })
				}
			}
		})
	}
}

// run runs one task of a client in a folder.
func (c *client) run(t *testing.T, folder, gateway string, server *sim.Server, k task) {
	t.Helper()
	before := len(server.Requests())
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	arguments := append(slices.Clone(c.command[1:]), gateway+"/v1", lab.Model, k.name)
	cmd := exec.CommandContext(ctx, c.command[0], arguments...)
	cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cmd.Dir, "list.txt"), []byte("ledge\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "PYTHONUTF8=1"}
	said, err := cmd.CombinedOutput()
	want := []string{"An edge is a ledge."}
	tools := strings.Contains(k.name, "tools")
	if tools {
		want = []string{"Paris has 21 degrees, Rome has 25.", "The file says ledge."}
	}
	read := strings.TrimSpace(string(said))
	if err != nil || !slices.ContainsFunc(want, func(one string) bool { return strings.HasSuffix(read, one) }) {
		t.Fatalf("%v\n%s", err, said)
	}
	kept, results, temperature := false, 0, ""
	for _, q := range server.Requests()[before:] {
		prompt := lab.Vocabulary.DecodeString(q.PromptIDs)
		var asked struct{ Temperature *float64 }
		if json.Unmarshal(q.Body, &asked) == nil && asked.Temperature != nil && *asked.Temperature != 1 {
			temperature = strconv.FormatFloat(*asked.Temperature, 'g', -1, 64)
		}
		if strings.Contains(prompt, "to=assistant<|channel|>commentary") {
			results++
			kept = kept || strings.Contains(prompt, "<|channel|>analysis<|message|>First I need Paris.<|end|>")
		}
	}
	if (results > 0) != tools || kept != k.keeps || temperature != k.temperature {
		t.Errorf("%d prompts have results of tools, the reasoning is kept: %v, want %v; the temperature is %q, want %q",
			results, kept, k.keeps, temperature, k.temperature)
	}
	fmt.Printf("%-14s %-22s reasoning kept: %-5v temperature: %v\n", c.name, k.name, kept, temperature)
}
