package look

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

var update = flag.Bool("update", false, "write what the commands of docs/inspect.md print into it")

// asCommand is the environment variable that makes the test program run as the command, for the shell lines of a
// document.
const asCommand = "HARMONY_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestInspectExitCodes(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	ids := clitest.WriteFile(t, "ids", "[200008,13225,200002]")
	bad := clitest.WriteFile(t, "bad", "{\"text\":\"a\"}\nnope\n")
	events := clitest.WriteFile(t, "events", "data: {\"choices\":[{\"token_ids\":[200008,13225]}]}\n\ndata: "+
		"{\"error\":{\"message\":\"out of memory\"}}\n\n")
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", 0, "harmony inspect [command]", ""},
		{"nonsense", cli.ExitUsage, "", `harmony inspect has no command "nonsense"; see harmony inspect --help`},
		{"tokenize " + bad, cli.ExitFailed, `{"ids":[64]}`, "1 of 2 lines were not valid input; their answers say why"},
		{"tokenize nowhere", cli.ExitUsage, "", "name a file with JSON lines"},
		{"parse --typed " + clitest.WriteFile(t, "lines", `{"text":"Hi"}`), 0,
			`{"content":[{"type":"text","text":"Hi"}],"recoveries":{"implicit_final":1}}`, ""},
		{"parse a b", cli.ExitUsage, "", `"b" is one file too many`},
		{"explain " + ids, 0, "| Hello", ""},
		{"explain --color always " + ids, 0, "\x1b[1m#1 assistant", ""},
		{"explain --no-ids --role assistant --width 30 " + ids, 0, "  | Hello", ""},
		{"explain --role none " + ids, 0, "!missing_start", ""},
		{"explain --sse " + events, cli.ExitFailed, "| Hello", `event 2 is an error, "out of memory"`},
		{"explain --sse " + ids, cli.ExitFailed, "", "no events found"},
		{"explain " + bad, cli.ExitFailed, "", "is not a token id; for Harmony text use --text"},
		{"explain --text --sse " + ids, cli.ExitUsage, "", "--text and --sse exclude each other"},
		{"explain --color sometimes " + ids, cli.ExitUsage, "",
			"--color sometimes is not known; write always, never or auto"},
		{"explain --role user " + ids, cli.ExitUsage, "", "--role user is not known; write assistant, none or auto"},
		{"explain --width 5 " + ids, cli.ExitUsage, "", "--width 5 is too narrow; write at least 20"},
		{"diff " + bad, cli.ExitUsage, "", "two files are compared, not 1; see harmony inspect diff --help"},
		{"diff - -", cli.ExitUsage, "", "only one of the two may be -"},
		{"diff --block 0 a b", cli.ExitUsage, "", "--block 0 is no number of tokens; write 1 or more"},
		{"diff --api completions a b", cli.ExitUsage, "", "--api completions is not known; write chat, responses or"},
		{"diff nowhere " + ids, cli.ExitUsage, "", "name a file with the body of a request, or its record"},
		{"diff " + ids + " " + bad, cli.ExitFailed, "", "bad: it is not JSON, or more than one object"},
		{"diff " + ids + " " + ids, 0, "no difference: A begins with all of B", ""},
		{"diff --json " + ids + " " + ids, 0, `{"reason":"none","a_tokens":3,"a_generated":0,"b_tokens":3,"common":3,`, ""},
		{"explain --colour", cli.ExitUsage, "", "see harmony inspect explain --help"},
	} {
		code, stdout, stderr := command(t, t.Context(), append([]string{"inspect"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) ||
			tt.stderr == "" && stderr != "" {
			t.Errorf("inspect %s: exit %d\n%s\n%s", tt.args, code, stdout, stderr)
		}
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// TestInspectDocs runs every command of docs/inspect.md in a shell, and compares its output with the document.
func TestInspectDocs(t *testing.T) {
	const path = "../../../docs/inspect.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for kind := range (harmony.Recoveries{}) {
		k := harmony.Recovery(kind)
		if row := "| `" + k.String() + "` | " + explain.Meaning(k) + " |"; !strings.Contains(string(doc), row) {
			t.Errorf("%s lacks the row %s", path, row)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "harmony")); err != nil {
		t.Fatal(err)
	}
	blocks := 0
	fresh := consoleBlock.ReplaceAllStringFunc(string(doc), func(block string) string {
		blocks++
		var out strings.Builder
		out.WriteString("```console\n")
		lines := strings.SplitAfter(consoleBlock.FindStringSubmatch(block)[1], "\n")
		for i := 0; i < len(lines); i++ {
			command, ok := strings.CutPrefix(lines[i], "$ ")
			if !ok {
				continue
			}
			out.WriteString(lines[i])
			for strings.HasSuffix(lines[i], "|\n") || strings.HasSuffix(lines[i], "\\\n") {
				i++
				command += lines[i]
				out.WriteString(lines[i])
			}
			c := exec.Command("sh", "-c", command)
			c.Dir = folder
			c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), asCommand+"=1")
			printed, _ := c.CombinedOutput()
			out.Write(printed)
		}
		return out.String() + "```"
	})
	if blocks < 4 {
		t.Fatalf("%s has %d examples", path, blocks)
	}
	if *update {
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if fresh != string(doc) {
		t.Errorf("%s shows other output than this; go test ./cmd/harmony/look -run Docs -update\n%s", path, fresh)
	}
}
