package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// soundStatus returns the status of a fleet in which nothing is unwise.
func soundStatus() server.Status {
	s := goodStatus()
	s.Configuration.File, s.ExpectedEnvoys = "", 2
	one := s.Pools[0].Servers[0]
	s.Pools[0].Servers = []server.PoolServer{one, one}
	return s
}

// TestAnalyzeFleet plants follies in a running fleet, one by one.
func TestAnalyzeFleet(t *testing.T) {
	now := time.Now()
	full := 0.99
	for want, plant := range map[string]func(*server.Status){
		"": func(*server.Status) {},
		"2 Envoys are connected, and one that goes would not be missed": func(s *server.Status) { s.ExpectedEnvoys = 0 },
		"there is one Envoy":                  func(s *server.Status) { s.Envoys, s.ExpectedEnvoys = s.Envoys[:1], 0 },
		"1 Envoy of 3 missing (envoy.expect)": func(s *server.Status) { s.ExpectedEnvoys = 3 },
		"Envoys run 2 versions of Envoy":      func(s *server.Status) { s.Envoys[0].Version = "1.37.0" },
		"expires on": func(s *server.Status) {
			s.Certificates = []server.CertificateStatus{{File: "c.pem", Expires: now.Add(time.Hour)}}
		},
		"stores conversations as clear text": func(s *server.Status) {
			s.Services = []server.ServiceStatus{{Name: server.ResponsesService, URL: "http://10.0.0.4:8081", ClearStore: true}}
		},
		`http://gpu:1 does not serve "a"`: func(s *server.Status) {
			s.Pools[0].Servers[0].State, s.Pools[0].Servers[0].Reason = pools.NotReady, `does not serve "a"; it serves "b"`
		},
		"the pool h200 has one server and no spare": func(s *server.Status) { s.Pools[0].Servers = s.Pools[0].Servers[:1] },
		"run 2 programs or versions":                func(s *server.Status) { s.Pools[0].Servers[0].Program = "vLLM 0.10.2" },
		"have contexts of 2 sizes":                  func(s *server.Status) { s.Pools[0].Servers[0].Context = 4096 },
		"the cache of every server of the pool h200 is full": func(s *server.Status) {
			for i := range s.Pools[0].Servers {
				s.Pools[0].Servers[i].Load = &server.ServerLoad{Cache: &full}
			}
		},
		"structured_outputs of a is none": func(s *server.Status) {
			s.Pools[0].StructuredOutputs = map[string]string{"a": "none"}
		},
	} {
		s := soundStatus()
		plant(&s)
		got := analyzeFleet(&s, now)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, want) ||
			got[0].Write == "") {
			t.Errorf("%q: got %+v", want, got)
		}
	}
	for reason, want := range map[string]string{
		`does not serve "a"; it serves "b/c"`:    `server_model: "b/c", or start`,
		`does not serve "a"; it serves "b", "c"`: "server_model: the name that it has there, or start",
		`does not serve "a"; it serves nothing`:  "server_model: the name that it has there, or start",
	} {
		if got := nameThere(reason); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", reason, got)
		}
	}
	s := soundStatus()
	s.Host, s.Envoys, s.ExpectedEnvoys = cli.HostWazero, []ads.Envoy{}, 0
	if got := analyzeFleet(&s, now); len(got) > 0 {
		t.Errorf("harmony up: %+v", got)
	}
}

// TestAnalyze runs the command on files, and on what runs by a file of this machine.
func TestAnalyze(t *testing.T) {
	file := clitest.WriteFile(t, "h.yaml", "stall_timeout: 0s\nmodels: [{name: m, pool: p}]\n"+
		"pools:\n- {name: p, servers: ['http://h:1', 'http://h:2'], tries: 1}\n")
	good := clitest.WriteFile(t, "good.yaml", "models: [{name: m, servers: ['vllm=http://h:1']}]\n")
	var got []finding
	code, failed := runJSON(t, &got, "analyze", file, good)
	if code != cli.ExitFailed || len(got) != 2 || got[0].Setting != "stall_timeout" || got[0].Line != 1 ||
		got[1].Line != 4 || got[1].Write != "tries: 5" || !strings.Contains(failed, "2 findings") {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
	got = nil
	if code, failed = runJSON(t, &got, "analyze", good); code != 0 || failed != "" || got == nil {
		t.Errorf("%d, %s\n%+v", code, failed, got)
	}
	s := soundStatus()
	s.ExpectedEnvoys, s.Configuration.File = 0, file
	from := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) }))
	defer from.Close()
	got = nil
	if code, _ = runJSON(t, &got, "analyze", "--address", from.Listener.Addr().String()); code != cli.ExitFailed ||
		len(got) != 3 || got[0].Write != "envoy: { expect: 2 }" || got[1].File != file {
		t.Errorf("%d\n%+v", code, got)
	}
	wrong := clitest.WriteFile(t, "wrong.yaml", "mode: half\n")
	var out strings.Builder
	if code := run(t.Context(), []string{"analyze", wrong}, &out, &out); code != cli.ExitUsage {
		t.Errorf("a wrong file: %d, %s", code, &out)
	}
	out.Reset()
	if code := run(t.Context(), []string{"analyze", file}, &out, &out); code != cli.ExitFailed ||
		!strings.Contains(out.String(), "h.yaml:1:16: stall_timeout: a server that has fallen silent keeps its requests "+
			"for ever\n    write: stall_timeout: 5m\n") {
		t.Errorf("%d, %s", code, &out)
	}
}
