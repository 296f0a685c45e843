//go:build e2e

package responses

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// tenantHeader names the tenant in requests to a fleet.
const tenantHeader = "x-tenant"

// replica is a run of harmony responses. It can be killed, and started again at the same address.
type replica struct {
	*lab.Program
	t   *testing.T
	url string
	// arguments are of the command line, and environment is added to the test's.
	arguments, environment []string
}

// begin starts the program and waits until it listens.
func (r *replica) begin() {
	r.t.Helper()
	r.Program = lab.RunHarmony(r.t, r.environment, r.arguments...)
	r.Announced(r.t, `(?m)^serving Envoys on (\S+)$`)
}

// ready waits until the program has reached its database.
func (r *replica) ready() {
	r.t.Helper()
	url, client := r.Announced(r.t, `(?m)^ready: (\S+)$`), lab.HTTP1(r.t)
	for end := time.Now().Add(lab.ReadyLimit); ; time.Sleep(20 * time.Millisecond) {
		a := lab.Do(client, http.MethodGet, url, nil, nil)
		if a.Status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("not ready: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
}

// launch starts the program and waits until it is ready.
func (r *replica) launch() {
	r.t.Helper()
	r.begin()
	r.ready()
}

// interrupt ends the program as an operator does.
func (r *replica) interrupt() {
	r.t.Helper()
	if err := r.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if !r.Ended(lab.StopLimit) {
		r.t.Fatalf("it still runs %s after the signal", lab.StopLimit)
	}
	if code := r.ExitCode(r.t); code != 0 {
		r.t.Errorf("exit status %d", code)
	}
	r.NothingLeft(r.t, false)
}

// restart kills the program and starts it again.
func (r *replica) restart() {
	r.t.Helper()
	r.Kill(r.t)
	r.launch()
}

// useStore names another database for the next launch.
func (r *replica) useStore(from, to string) {
	r.t.Helper()
	file := r.arguments[slices.Index(r.arguments, "--config")+1]
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// fleet is a gateway in an Envoy of its own, and replicas of the service that share a database. Envoy knows the first.
type fleet struct {
	*gateway
	replicas []*replica
}

// startFleet starts a gateway and so many replicas. settings are YAML for their responses_service.
func startFleet(t *testing.T, host, database, settings string, replicas int, o sim.Options) *fleet {
	t.Helper()
	server, serverURL := lab.RunSim(t, o)
	if database == "" {
		database = filepath.Join(t.TempDir(), "responses.db")
	}
	folder := t.TempDir()
	write := func(name, settings string) string {
		path := filepath.Join(folder, name)
		text := fmt.Sprintf("responses_service:\n%s\nseal: { tenant_header: %s }\nmodels: [{ name: %s, servers: [%q] }]\n",
			settings, tenantHeader, lab.Model, "vllm="+serverURL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	addresses := make([]string, replicas)
	for i := range addresses {
		addresses[i] = lab.FreeAddress(t)
	}
	up := write("gateway.yaml", "  url: http://"+addresses[0]+"\n  hosted_tools: false")
	f := &fleet{gateway: &gateway{&service.Gateway{T: t, Client: lab.HTTP1(t), Sim: server, Schemas: grammar.LoadSchemas(t)}}}
	f.Program, f.URL = lab.StartUpWith(t, nil, "--host", host, "--concurrency", "1", "--config", up)
	for i, address := range addresses {
		file := write(fmt.Sprintf("service%d.yaml", i), fmt.Sprintf("  store: %s\n  listen: %s\n  gateway: %s\n%s", database,
			address, f.URL, settings))
		r := &replica{t: t, url: "http://" + address, environment: []string{service.StoreKeys}, arguments: []string{"responses",
			"--config", file, "--status", "127.0.0.1:0", "--drain-time", "100ms"}}
		r.launch()
		f.replicas = append(f.replicas, r)
	}
	return f
}

// at returns a client of a replica's own address, in place of the gateway's.
func (f *fleet) at(i int) *gateway {
	return &gateway{f.At(f.replicas[i].url)}
}
