package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
)

// TestUsageErrors checks that every command exits with 2 for a wrong command line, before it starts anything, and
// prints what may have been meant.
func TestUsageErrors(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_BASE", "")
	misspelt := clitest.WriteFile(t, "misspelt.yaml", "models:\n- name: m\n  server: [\"vllm=http://127.0.0.1:1\"]\n")
	for line, want := range map[string]string{
		"upp --model m":               `harmony has no command "upp"; did you mean up?`,
		"controlplan":                 `did you mean controlplane?`,
		"serve":                       `harmony has no command "serve"; did you mean harmony up?`,
		"validate x.yaml":             `did you mean harmony controlplane validate?`,
		"config":                      `did you mean harmony controlplane validate?`,
		"tokenize":                    `did you mean harmony inspect tokenize?`,
		"help nope":                   `harmony has no command "nope"; see harmony --help`,
		"help controlplane nope":      `harmony controlplane has no command "nope"`,
		"unheardof":                   `harmony has no command "unheardof"; see harmony --help`,
		"controlplane validte x.yaml": `harmony controlplane has no command "validte"; did you mean validate?`,
		"inspect tokenise --x":        `did you mean tokenize?`,
		"up --modle m":                "unknown flag: --modle; did you mean --model?",
		"up --body_limit 1MB":         "did you mean --body-limit?",
		"up -x":                       "unknown shorthand flag",
		"up --colour red":             "unknown flag: --colour; see harmony up --help",
		"up m":                        `"m" is not expected here`,
		"up c.yaml": `"c.yaml" is not expected here; did you mean --config c.yaml? ` +
			"Or see harmony up --help",
		"up gpu:8000":         `"gpu:8000" is not expected here; did you mean http://gpu:8000?`,
		"controlplane c.yaml": `"c.yaml" is not expected here; did you mean --config c.yaml?`,
		"up":                  "no server is given",
		"up --model m":        "no server is given",
		"up --model m --backend http://127.0.0.1:1":                       "--backend",
		"up --model m --backend vllm=http://127.0.0.1:1 --host x":         "--host x is not known",
		"up --config " + misspelt:                                         "did you mean servers?",
		"up --config /no/such.yaml":                                       "cannot be read",
		"up --drain-time soon":                                            "is not a duration",
		"controlplane":                                                    "no configuration is given",
		"controlplane --config x --log-format xml":                        "--log-format xml is not known",
		"controlplane bootstrap --admin 0.0.0.0:9901":                     "--admin: 0.0.0.0:9901 is not on loopback",
		"controlplane bootstrap --stats nowhere":                          "--stats: ",
		"controlplane bootstrap --stats 0.0.0.0:9902 --admin 127.0.0.1:0": "give --admin a port of its own",
		"up --model m --backend vllm=http://127.0.0.1:1 --stats nowhere":  "--stats: ",
		"up --model m --backend vllm=http://127.0.0.1:1 -v":               "add --watch",
		"up --model m --print-bootstrap --watch":                          "leave --record and --watch out",
		"sim --front-end go":                                              "--front-end: ",
		"sim --kind tgi":                                                  "--kind: ",
		"controlplane bootstrap --admin nowhere":                          "--admin: ",
		"controlplane bootstrap --node n -o /":                            "/ is a folder; name a file in it",
		"drain --admin 10.0.0.1:9901":                                     "--admin: 10.0.0.1:9901 is not on loopback",
		"controlplane validate":                                           "no FILE is given",
		"controlplane validate --config " + misspelt:                      "did you mean servers?",
		"analyze --config /no/such.yaml":                                  "cannot be read",
		"controlplane validate " + misspelt: "models[0].server: server is not a " +
			"setting; did you mean servers?",
		"status now":                    `"now" is not expected here; an address is, such as 127.0.0.1:18001`,
		"status https://a:1":            `"https://a:1" is not expected here`,
		"status --address https://a:1":  "https is not served; the page and the status are plain HTTP",
		"status --address a:1 b:1":      `"b:1" is a second address beside --address`,
		"status a:1 b:1":                `"b:1" is not expected here`,
		"analyze http://a:1 c.yaml":     "cannot be read",
		"bug-report now":                `"now" is not expected here`,
		"keys new":                      "one NAME of a client is expected; see harmony keys new --help",
		"keys check":                    "one FILE is expected; see harmony keys check --help",
		"status --adress x":             "did you mean --address?",
		"sim now":                       `"now" is not expected here`,
		"sim --fault often":             "--fault: ",
		"sim --tokens-per-chunk few":    "--tokens-per-chunk: ",
		"sim --script /no/such.jsonl":   "--script: ",
		"sim --listen nowhere":          "--listen: ",
		"inspect parse a b":             "one file too many",
		"inspect parse /no/such":        "name a file with",
		"inspect explain --role nobody": "role",
	} {
		var out, errOutput bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), &out, &errOutput); code != cli.ExitUsage ||
			!strings.Contains(errOutput.String(), want) || out.Len() > 0 {
			t.Errorf("harmony %s: exit status %d, want %d\n%s%s\nwant %q", line, code, cli.ExitUsage, &out, &errOutput, want)
		}
	}
	for _, line := range []string{"", "help", "help up", "help controlplane validate", "help inspect", "up --help",
		"--version", "inspect", "completion bash", "__complete u"} {
		var out, errOutput bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), &out, &errOutput); code != 0 || out.Len() == 0 {
			t.Errorf("harmony %s: exit status %d\n%s", line, code, &errOutput)
		}
	}
}

// TestHelp checks that the program's help has an example first, and every command in a group.
func TestHelp(t *testing.T) {
	var out, errOutput bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &out, &errOutput); code != 0 {
		t.Fatal(&errOutput)
	}
	text := out.String()
	if example := strings.Index(text, "  harmony up http://"); example < 0 ||
		example > strings.Index(text, "Run a gateway:") {
		t.Errorf("the example is not first:\n%s", text)
	}
	if strings.Contains(text, "Additional Commands") {
		t.Errorf("a command is in no group:\n%s", text)
	}
}

// TestCompletions checks that values of flags are completed.
func TestCompletions(t *testing.T) {
	file := clitest.WriteFile(t, "c.yaml", "models:\n- {name: first}\n- {name: second}\n")
	for line, want := range map[string]string{
		"up --host ":                        "auto\nenvoy\nwazero\n:4",
		"up --mode ":                        "full\nreduced\n:4",
		"up --config " + file + " --model ": "first\nsecond\n:4",
		"up --config /none --model ":        ":4",
		"up --config ":                      "yaml\nyml\n:8",
		"controlplane --config ":            "yaml\nyml\n:8",
		"controlplane --log-format ":        "text\njson\n:4",
		"responses show --config ":          "yaml\nyml\n:8",
		"sim --kind s":                      "sglang\n",
		"chat --effort ":                    "low\nmedium\nhigh\n:4",
		"chat --color ":                     "auto\nalways\nnever\n:4",
		"up --backend vllm":                 "vllm=http://\n",
		"up ":                               ":4",
		"probe ":                            ":4",
		"status ":                           ":4",
		"controlplane validate ":            "yaml\nyml\n:8",
		"analyze ":                          "yaml\nyml\n:8",
		"keys check ":                       ":0",
		"inspect diff ":                     ":0",
	} {
		var out, errOutput bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		if code := run(t.Context(), args, &out, &errOutput); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("harmony %s: %d, %s\nwant %s", line, code, &out, want)
		}
	}
}
