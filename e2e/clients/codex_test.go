//go:build e2e

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
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

// hiddenModel is the model whose reasoning is hidden.
const hiddenModel = "secretive"

// codexModels is the configuration of the gateway: one model as it comes, and one whose reasoning travels sealed alone.
const codexModels = `
models:
  - name: ` + lab.Model + `
    servers: [vllm=SERVER]
  - name: ` + hiddenModel + `
    server_model: ` + lab.Model + `
    servers: [vllm=SERVER]
    answers: { hide_reasoning: true }
`

// TestCodex lets Codex work in front of harmony up, in Envoy and without it: a text turn, and a session in which the
// model runs two commands, answers, and is asked again. Without keys the reasoning travels as text, with keys sealed as
// well, and where it is hidden sealed alone.
func TestCodex(t *testing.T) {
	for _, host := range triedHosts() {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, serverURL := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/clients/codex/script.jsonl")})
			config := lab.WriteConfig(t, strings.ReplaceAll(codexModels, "SERVER", serverURL))
			for _, gateway := range []struct {
				name, keys string
				models     []string
			}{
				{"no keys", "", []string{lab.Model}},
				{"keys", lab.SealKey, []string{lab.Model, hiddenModel}},
			} {
				up, url := lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + gateway.keys}, "--host", host, "--config",
					config)
				for _, model := range gateway.models {
					t.Run(gateway.name+" "+model, func(t *testing.T) { newCodex(t, url, model).work(t, server, gateway.keys != "") })
				}
				if host == "wazero" {
					lab.StopWazero(t, up)
				} else {
					up.Stop(t, syscall.SIGINT)
				}
			}
		})
	}
}

// codex is an installation of Codex with a configuration and a folder to work in.
type codex struct {
	model, home, folder, temp string
	// call is the header of a call in later prompts.
	call string
	// limit is how long it may run.
	limit time.Duration
}

// The header of a call, as the model writes it and as its template does.
const (
	writtenCall   = "<|channel|>commentary to=functions.exec_command <|constrain|>json<|message|>"
	templatedCall = " to=functions.exec_command<|channel|>commentary json<|message|>"
)

// newCodex configures Codex as clients/codex shows it.
func newCodex(t *testing.T, url, model string) *codex {
	t.Helper()
	root := t.TempDir()
	c := &codex{model, filepath.Join(root, "home"), filepath.Join(root, "work"), filepath.Join(root, "tmp"),
		writtenCall, lab.ProgramLimit}
	for _, folder := range []string{c.home, c.folder, c.temp} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.configure(t, "config.toml", "http://127.0.0.1:8080", url, lab.Model, model, `env_key = "GATEWAY_KEY"`, firstFailure)
	c.write(t, "models.json", "models.json", lab.Model, model)
	return c
}

// firstFailure is a part of the configuration by which Codex shows the first failure.
const firstFailure = `env_key = "GATEWAY_KEY"
request_max_retries = 0
stream_max_retries = 0`

// configure makes a file of clients/codex the configuration. changes are texts, and what replaces them.
func (c *codex) configure(t *testing.T, from string, changes ...string) {
	t.Helper()
	c.write(t, from, "config.toml", changes...)
}

func (c *codex) write(t *testing.T, from, name string, changes ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("codex", from))
	if err == nil {
		changed := strings.NewReplacer(changes...).Replace(string(text))
		err = os.WriteFile(filepath.Join(c.home, name), []byte(changed), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// codexEvent is a line of codex exec --json. Failed turns have types of their own, as warnings have among the items.
type codexEvent struct {
	Type string
	Item struct {
		Type, Text, Status string
		Query              string // a search's, or the URL of a page
		Output             string `json:"aggregated_output"`
	}
	Usage struct {
		Input     int `json:"input_tokens"`
		Reasoning int `json:"reasoning_output_tokens"`
	}
}

// exec runs codex exec and returns what it shows: a line for each message and for each command's output. It fails the
// test unless the turn ends well, with nothing that Codex warns of.
func (c *codex) exec(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := c.command(t, args...)
	var said, warned bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &warned
	err := cmd.Run()
	if warning := strings.TrimPrefix(warned.String(), "Reading additional input from stdin...\n"); err != nil ||
		warning != "" {
		t.Fatalf("%v\n%s%s", err, &said, &warned)
	}
	var types, shown []string
	for line := range strings.Lines(said.String()) {
		var e codexEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch e.Item.Type {
		case "":
			types = append(types, e.Type)
			if e.Type == "turn.completed" && (e.Usage.Input == 0 || e.Usage.Reasoning == 0) {
				t.Errorf("usage counts nothing: %s", line)
			}
			continue
		case "command_execution", "agent_message":
		case "web_search":
			e.Item.Text = e.Item.Query
		default:
			t.Errorf("an item of another kind: %s", line)
		}
		if e.Type == "item.completed" {
			shown = append(shown, e.Item.Type+": "+e.Item.Text+strings.TrimSpace(e.Item.Output))
		}
	}
	if want := []string{"thread.started", "turn.started", "turn.completed"}; !slices.Equal(types, want) {
		t.Errorf("the turn is %q, want %q\n%s", types, want, &said)
	}
	return shown
}

// command is codex exec, which the test's end or its limit ends.
func (c *codex) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), c.limit)
	t.Cleanup(cancel)
	packages := lab.Tool(t, "HARMONY_CLIENTS")
	cmd := exec.CommandContext(ctx, filepath.Join(packages, "node"), append([]string{
		filepath.Join(packages, "node_modules/@openai/codex/bin/codex.js"), "exec", "--json", "--skip-git-repo-check",
		"--dangerously-bypass-approvals-and-sandbox", // a sandbox of Codex's is not to be had in every container
	}, args...)...)
	// The program that runs in node must not outlive it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = c.folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "CODEX_HOME=" + c.home, "TMPDIR=" + c.temp,
		"GATEWAY_KEY=none", "CODEX_API_KEY=none"}
	return cmd
}

// work is a day's work: what Codex shows, what the commands have done, what the model reads, and what Codex keeps.
func (c *codex) work(t *testing.T, server *sim.Server, keys bool) {
	want := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("Codex shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	want(c.exec(t, "What is an edge?"), "agent_message: A line where two faces meet.")
	before := len(lab.Completions(server))
	want(c.exec(t, "Write a note and read it aloud."), "command_execution: 9 note.txt",
		"agent_message: The note is written.",
		"command_execution: TWO WORDS", "agent_message: The note says TWO WORDS.")
	want(c.exec(t, "resume", "--last", "Who wrote it?"), "agent_message: You did.")
	if note, err := os.ReadFile(filepath.Join(c.folder, "note.txt")); err != nil || string(note) != "two words" {
		t.Errorf("the note is %q, %v", note, err)
	}
	c.checkPrompts(t, lab.Completions(server)[before:])
	c.checkUsage(t, lab.Completions(server)[before:])
	c.checkKept(t, keys)
}

// checkUsage compares the sizes of requests that Codex keeps with what the server counts: Codex compacts a session by
// them alone. They are of the last session.
func (c *codex) checkUsage(t *testing.T, requests []sim.Request) {
	t.Helper()
	var want, got []int
	for i := range requests {
		want = append(want, len(requests[i].PromptIDs)+len(requests[i].SampledIDs))
	}
	for line := range strings.Lines(c.lastSession(t)) {
		var kept struct {
			Payload struct {
				Type string
				Info struct {
					Last struct {
						Total int `json:"total_tokens"`
					} `json:"last_token_usage"`
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &kept); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		total := kept.Payload.Info.Last.Total
		if kept.Payload.Type == "token_count" && total > 0 && (len(got) == 0 || got[len(got)-1] != total) {
			got = append(got, total)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("Codex counts %v tokens, and the server %v", got, want)
	}
}

// codexReport is what Codex writes before a command's output.
var codexReport = regexp.MustCompile(`Chunk ID: (?s:.*?)\nOutput:\n`)

// checkPrompts looks at what the model reads in each step: the reasoning that led to each call and each command's
// output, until the answer has been given.
func (c *codex) checkPrompts(t *testing.T, requests []sim.Request) {
	t.Helper()
	const (
		assistant = "<|start|>assistant"
		analysis  = assistant + "<|channel|>analysis<|message|>"
		result    = "<|start|>functions.exec_command to=assistant<|channel|>commentary<|message|>"

		question = "Write a note and read it aloud.<|end|>"
		thought1 = analysis + "First I write it.<|end|>"
		thought2 = analysis + "Now I read it aloud.<|end|>"
		answer   = assistant + "<|channel|>final<|message|>The note says TWO WORDS.<|end|>"
		more     = "<|start|>user<|message|>Who wrote it?<|end|>"
	)
	step1 := assistant + c.call + `{"cmd":"printf 'two %s' words >note.txt; wc -c note.txt"}<|call|>` + result +
		"9 note.txt\n<|end|>"
	step2 := assistant + "<|channel|>commentary<|message|>The note is written.<|end|>" +
		assistant + c.call + `{"cmd":"tr a-z A-Z <note.txt"}<|call|>` + result + "TWO WORDS<|end|>"
	wants := []string{
		question,
		question + thought1 + step1,
		question + thought1 + step1 + thought2 + step2,
		question + step1 + step2 + answer + more,
	}
	if len(requests) != len(wants) {
		t.Fatalf("%d completions have reached the server, want %d", len(requests), len(wants))
	}
	for i, r := range requests {
		prompt := codexReport.ReplaceAllString(lab.Vocabulary.DecodeString(r.PromptIDs), "")
		if !strings.HasSuffix(prompt, "<|start|>user<|message|>"+wants[i]+assistant) {
			t.Errorf("step %d: the prompt is\n%s\nand does not end with\n%s", i+1, prompt, wants[i]+assistant)
		}
	}
}

// lastSession returns what Codex has written of its last session: a line for each event.
func (c *codex) lastSession(t *testing.T) string {
	t.Helper()
	last := ""
	if err := filepath.WalkDir(filepath.Join(c.home, "sessions"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".jsonl" {
			last = max(last, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkKept looks at what Codex has kept of the session: sealed reasoning if there are keys, and no other where it is
// hidden.
func (c *codex) checkKept(t *testing.T, keys bool) {
	t.Helper()
	sealed, open := 0, 0
	if err := filepath.WalkDir(c.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		sealed += bytes.Count(text, []byte(`"encrypted_content":"`))
		open += bytes.Count(text, []byte("First I write it."))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if sealed > 0 != keys || open > 0 != (c.model != hiddenModel) {
		t.Errorf("Codex has kept %d sealed texts, and the reasoning %d times as it was", sealed, open)
	}
}
