package store

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestResponsesShow prints a stored response and its chain, and no other tenant's.
func TestResponsesShow(t *testing.T) {
	t.Setenv(store.KeysVariable, "")
	t.Setenv("NO_COLOR", "1")
	database := filepath.Join(t.TempDir(), "r.db")
	file := clitest.WriteFile(t, "c.yaml", oneModel+"responses_service: {store: '"+database+"'}\n")
	s, err := store.Open(t.Context(), store.Options{URL: database})
	if err != nil {
		t.Fatal(err)
	}
	past := &store.Past{}
	for _, turn := range []struct{ id, object, input, output string }{
		{"resp_1", `{"id":"resp_1","model":"m","status":"completed"}`,
			`{"id":"msg_1","type":"message","role":"user","content":[{"type":"input_text","text":"Hi \u001b[2J"}]}`,
			`{"id":"rs_1","type":"reasoning","summary":[],"content":[],"harmony_text":"Thoughts."}`},
		{"resp_2", `{"id":"resp_2","model":"m","status":"failed","previous_response_id":"resp_1"}`,
			`{"id":"msg_2","type":"message","role":"user","content":[{"type":"input_text","text":"Time?"}]}`,
			`{"id":"mcp_1","type":"mcp_call","server_label":"time","name":"now","arguments":"{}","output":"12:00",` +
				`"harmony_sampled_ids":"AIABgoCAAQ"}`},
	} {
		err := s.Insert(t.Context(), store.TenantOf("acme"), &store.Record{Retention: time.Hour, Past: past,
			Input:    []store.Item{{ID: turn.id + "i", Type: "message", Body: []byte(turn.input)}},
			Output:   []store.Item{{ID: turn.id + "o", Type: "message", Body: []byte(turn.output)}},
			Response: store.Response{ID: turn.id, Status: "completed", Object: []byte(turn.object)}})
		if err == nil {
			past, err = s.Chain(t.Context(), store.TenantOf("acme"), turn.id, store.AtMost(1<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	const first = "== resp_1  m  completed\n#1 user  [msg_1]\n  | Hi \\x1b[2J\n#2 assistant  type reasoning  [rs_1]\n" +
		"  harmony_text, which clients do not see:\n  | Thoughts.\n"
	const second = "== resp_2  m  failed\n#N request  continues resp_1\n#N user  [msg_2]\n  | Time?\n" +
		"#N assistant  type mcp_call  to time.now  [mcp_1]\n" +
		"  | {}\n  output:\n  | 12:00\n  harmony_sampled_ids:\n  | 3 ids, as the model sampled them\n"
	numbered := func(text string, numbers ...string) string {
		for _, n := range numbers {
			text = strings.Replace(text, "#N", "#"+n, 1)
		}
		return text
	}
	flags := strings.NewReplacer("CONFIG", "--config "+file, "STORE", "--store "+database)
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"CONFIG resp_1 --tenant acme", 0, first, ""},
		{"CONFIG resp_2 --tenant acme", 0, numbered(second, "1", "2", "3"), ""},
		{"CONFIG resp_2 --tenant acme --chain", 0, first + numbered(second, "3", "4", "5"), ""},
		{"STORE resp_1 --tenant acme --json", 0, `{"input":[{"id":"msg_1","type":"message","role":"user","content":[{"type":` +
			`"input_text","text":"Hi \u001b[2J"}]}],"output":[{"id":"rs_1","type":"reasoning","summary":[],"content":[],` +
			`"harmony_text":"Thoughts."}],"response":{"id":"resp_1","model":"m","status":"completed"}}` + "\n", ""},
		{"CONFIG resp_1 --tenant acme --store x.db", cli.ExitUsage, "", "--store and --config exclude each other"},
		{"resp_1 --tenant acme --store absent.db", cli.ExitUsage, "", "--store: stat absent.db: no such file"},
		{"CONFIG resp_1 --no-tenant", cli.ExitFailed, "", `"resp_1" is not stored for this tenant`},
		{"CONFIG resp_3 --tenant acme --chain", cli.ExitFailed, "", `"resp_3" is not stored for this tenant`},
		{"CONFIG --tenant acme", cli.ExitUsage, "", "0 ids are given; write the id of one response"},
		{"CONFIG a b --tenant acme", cli.ExitUsage, "", "2 ids are given"},
		{"CONFIG resp_1", cli.ExitUsage, "", "write --client NAME for a client with a key, --tenant VALUE, or --no-tenant"},
		{"CONFIG resp_1 --tenant acme --color some", cli.ExitUsage, "", "--color some is not known"},
	} {
		args := append([]string{"responses", "show"}, strings.Fields(flags.Replace(tt.args))...)
		code, stdout, stderr := command(t, t.Context(), args...)
		if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
			t.Errorf("%s: exit %d, %s\ngot\n%swant\n%s", tt.args, code, stderr, stdout, tt.stdout)
		}
	}
}
