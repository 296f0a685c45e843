package fleet

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// runJSON runs a command that prints JSON, which it reads into v. It returns the exit status and the errors.
func runJSON(t *testing.T, v any, args ...string) (code int, failed string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append(args, "--json"), &out, &errs)
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() {
		t.Fatalf("%v: %v, %s", args, err, &errs)
	}
	return code, errs.String()
}

func TestProbeJSON(t *testing.T) {
	s := sim.New(sim.Options{Models: []string{"openai/gpt-oss-120b"}, MaxModelLen: 4096})
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var got probeJSON
	code, failed := runJSON(t, &got, "probe", url)
	if code != 0 || failed != "" || !got.Usable || got.Kind != "vllm" || got.Context != 4096 || got.URL != url ||
		got.Asked != "openai/gpt-oss-120b" || len(got.Kinds) == 0 || got.Texts.Same != 50 {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
	if c, err := config.Parse("printed", []byte(got.Configuration)); err != nil || c.Models[0].Name != "gpt-oss-120b" {
		t.Errorf("%v: %s", err, got.Configuration)
	}
	other := sim.New(sim.Options{OtherVocabulary: true})
	t.Cleanup(other.Close)
	if url, err = other.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	got = probeJSON{}
	if code, failed = runJSON(t, &got, "probe", url); code != cli.ExitFailed || got.Usable || got.Problem == "" ||
		!strings.Contains(failed, "cannot use") {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
}

func TestValidateJSON(t *testing.T) {
	right := clitest.WriteFile(t, "right.yaml", "admin: 127.0.0.1:1\nmodels: [{name: m, servers: ['vllm=http://h:1']}]\n")
	wrong := clitest.WriteFile(t, "wrong.yaml", "lisen: x\nmode: half\n")
	var got []fileResult
	code, failed := runJSON(t, &got, "controlplane", "validate", right, wrong)
	if code != cli.ExitUsage || strings.Count(failed, "error: ") != 2 || len(got) != 2 || !got[0].Right || got[0].Servers != 1 ||
		len(got[0].Notes) != 1 || got[0].Notes[0].Setting != "admin" || got[0].Notes[0].Line != 1 || got[1].Right ||
		len(got[1].Mistakes) != 2 || got[1].Mistakes[1].Line != 2 || got[1].Mistakes[1].Setting != "mode" {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
	got = nil
	if code, failed = runJSON(t, &got, "controlplane", "validate", right); code != 0 || failed != "" {
		t.Errorf("%d, %s", code, failed)
	}
}

func TestKeysCheckJSON(t *testing.T) {
	file := clitest.WriteFile(t, "keys.yaml", "clients: [{name: a}]\n")
	var got checkedKeys
	if code, failed := runJSON(t, &got, "keys", "check", file); code != 0 || failed != "" || got.Clients != 1 ||
		len(got.Notes) != 1 || got.Warnings == nil {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
}

func TestRolloutJSON(t *testing.T) {
	s := goodStatus()
	from := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) }))
	defer from.Close()
	address := from.Listener.Addr().String()
	var got *server.Rollout
	if code, failed := runJSON(t, &got, "rollout", "--address", address); code != 0 || got != nil {
		t.Errorf("none: %d, %s, %+v", code, failed, got)
	}
	s.Rollout = &server.Rollout{State: rollout.TakenBack, Reason: "worse", Ended: time.Now()}
	if code, failed := runJSON(t, &got, "rollout", "--address", address, "--wait"); code != cli.ExitFailed || got == nil ||
		got.Reason != "worse" || !strings.Contains(failed, "taken back") {
		t.Errorf("taken back: %d, %s, %+v", code, failed, got)
	}
}
