package store

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

const oneModel = "models: [{name: m, servers: ['vllm=http://h:1']}]\n"

// TestResponsesUsage has command lines and configurations that are wrong.
func TestResponsesUsage(t *testing.T) {
	t.Setenv(store.KeysVariable, "")
	none := clitest.WriteFile(t, "none.yaml", oneModel)
	folder := t.TempDir()
	stored := func(more string) string {
		return clitest.WriteFile(t, "c.yaml", oneModel+
			"responses_service: {store: '"+filepath.Join(folder, "r.db")+"'"+more+"}\n")
	}
	encrypted := clitest.WriteFile(t, "tls.yaml", oneModel+"listeners: [{address: '127.0.0.1:1', tls: c}]\n"+
		"secrets: [{name: c, certificate: c, key: k}]\nresponses_service: {store: r.db}\n")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"no configuration is given", nil},
		{"has no responses_service.store", []string{"--config", none}},
		{"no such file", []string{"--config", filepath.Join(folder, "absent.yaml")}},
		{"responses_service.access_log: ", []string{"--config", stored(", access_log: " + folder)}},
		{"the first listener has TLS", []string{"--config", encrypted}},
		{"write --client NAME for a client with a key", []string{"export", "--config", none}},
		{"write --client NAME for a client with a key", []string{"delete", "--config", none, "--tenant", "a", "--no-tenant"}},
		{"has no responses_service.store", []string{"export", "--config", none, "--no-tenant"}},
		{"write --to VERSION", []string{"migrate", "--config", none}},
		{"no version 99", []string{"migrate", "--config", stored(""), "--to", "99"}},
	} {
		var out, failed bytes.Buffer
		if code := run(t.Context(), append([]string{"responses"}, tt.args...), &out, &failed); code != cli.ExitUsage ||
			!strings.Contains(failed.String(), tt.want) {
			t.Errorf("%q: status %d, %s, want %s", tt.args, code, &failed, tt.want)
		}
	}
	t.Setenv(store.KeysVariable, "a:short")
	var out, failed bytes.Buffer
	code := run(t.Context(), []string{"responses", "export", "--config", stored(""), "--no-tenant"}, &out, &failed)
	if text := failed.String(); code != cli.ExitUsage || !strings.Contains(text, store.KeysVariable+": key 1 (a)") ||
		strings.Contains(text, "short") {
		t.Errorf("status %d, %s", code, text)
	}
}

// TestResponsesData exports and deletes what a tenant has, and takes the tables away and back.
func TestResponsesData(t *testing.T) {
	t.Setenv(store.KeysVariable, "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	database := filepath.Join(t.TempDir(), "r.db")
	file := clitest.WriteFile(t, "c.yaml", oneModel+"responses_service: {store: '"+database+"'}\n")
	o, err := storeOf(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	item := store.Item{ID: "msg_1", Type: "message", Body: []byte(`{"id":"msg_1"}`)}
	for _, name := range []string{"acme", "other"} {
		tenant := store.TenantOf(name)
		err := s.Insert(t.Context(), tenant, &store.Record{Input: []store.Item{item}, Retention: time.Hour,
			Response: store.Response{ID: "resp_1", Status: "completed", Object: []byte(`{"of":"` + name + `"}`)}})
		if err == nil {
			err = s.CreateConversation(t.Context(), tenant, &store.Conversation{ID: "conv_1", CreatedAt: time.Unix(5, 0),
				Metadata: []byte(`{"of":"` + name + `"}`)}, []store.Item{item})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	command := func(args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		args = append(append([]string{"responses"}, args...), "--config", file)
		if code := run(t.Context(), args, &out, &failed); code != 0 {
			t.Fatalf("%q: status %d, %s", args, code, &failed)
		}
		return out.String()
	}
	lines := strings.Split(strings.TrimSpace(command("export", "--tenant", "acme")), "\n")
	want := []string{
		`{"response":{"of":"acme"},"input":[{"id":"msg_1"}],"output":[]}`,
		`{"conversation":{"id":"conv_1","created_at":5,"metadata":{"of":"acme"}},"items":[{"id":"msg_1"}]}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i := range want {
		var got, wanted any
		if json.Unmarshal([]byte(lines[i]), &got) != nil || json.Unmarshal([]byte(want[i]), &wanted) != nil ||
			string(mustJSON(t, got)) != string(mustJSON(t, wanted)) {
			t.Errorf("got  %s\nwant %s", lines[i], want[i])
		}
	}
	if got := command("export", "--no-tenant"); got != "" {
		t.Errorf("without a tenant: %s", got)
	}
	if got := command("delete", "--tenant", "acme"); got != "removed 1 response, 1 conversation and 2 items\n" {
		t.Error(got)
	}
	if got := command("export", "--tenant", "acme"); got != "" {
		t.Errorf("after it was deleted: %s", got)
	}
	if got := command("export", "--tenant", "other"); strings.Count(got, "\n") != 2 {
		t.Errorf("the other tenant has %s", got)
	}
	if got := command("migrate", "--to", "0"); got != "the store had version 1 and has version 0\n" {
		t.Error(got)
	}
	if got := command("export", "--tenant", "other"); got != "" { // opening has made the tables again
		t.Errorf("after the tables were removed: %s", got)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGatewayOf finds where the service asks the models.
func TestGatewayOf(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"0.0.0.0:8080":   "http://127.0.0.1:8080",
		":8081":          "http://127.0.0.1:8081",
		"10.0.0.1:80":    "http://10.0.0.1:80",
		"[::1]:8080":     "http://[::1]:8080",
	} {
		c := config.Default()
		c.Listen = listen
		if got, err := gatewayOf(c); err != nil || got != want {
			t.Errorf("%s: %s, %v", listen, got, err)
		}
	}
	c := config.Default()
	c.Listen = "127.0.0.1:0"
	if got, err := gatewayOf(c); err == nil {
		t.Errorf("a port that is not known is %s", got)
	}
}
