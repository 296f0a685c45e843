//go:build e2e

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// misconfiguredBody is what a client receives.
const misconfiguredBody = `{"error":{"message":"The gateway is misconfigured. Its operator finds the reason in its ` +
	`log.",` +
	`"type":"server_error","param":null,"code":"gateway_misconfigured"}}`

// wrongConfigurations are mistakes in hand-written configurations, each with the reason that is logged.
var wrongConfigurations = []struct{ name, mode, text, reason string }{
	{"an unknown key", contract.ModeFull, `{"schema":1,"models":[{"name":"gpt-oss-120b","answers":{"colour":"red"}}]}`,
		"models[0].answers.colour: unknown key"},
	{"a newer schema", contract.ModeFull, `{"schema":2,"models":[{"name":"gpt-oss-120b"}]}`,
		"schema: must be 1; this filter reads no other"},
	{"no JSON", contract.ModeFull, "schema: 1\n", "not JSON: "},
	{"nothing", contract.ModeFull, "", "there is none; it must be JSON such as "},
	{"an unknown key, reduced", contract.ModeReduced,
		`{"schema":1,"mode":"reduced","models":[{"name":"gpt-oss-120b","x":1}]}`, "models[0].x: unknown key"},
	{"the wrong mode", contract.ModeReduced, `{"schema":1,"mode":"reduce","models":[{"name":"gpt-oss-120b"}]}`,
		`mode: must be one of "full", "reduced"`},
}

// handWritten replaces the filter's configuration by a hand-written one.
func handWritten(text string) lab.Change {
	return func(t *testing.T, r *xds.Resources) {
		lab.EditPlugin(t, r, func(c *wasmv3.PluginConfig) {
			c.Configuration = lab.Pack(t, wrapperspb.String(text))
			delete(c.GetVmConfig().GetEnvironmentVariables().GetKeyValues(), contract.ErrorVariable)
		})
	}
}

// TestMisconfigured: a gateway whose configuration is wrong from the start lets nothing of the API through, and says
// so: to clients that it is so, to the log once where, and it is counted.
func TestMisconfigured(t *testing.T) {
	for _, host := range []struct {
		name  string
		start func(*testing.T, *config.Config, lab.Change) (h *hosts.Host, log func() string)
	}{{"envoy", misconfiguredEnvoy}, {"wazero", misconfiguredWazero}} {
		for _, wrong := range wrongConfigurations {
			t.Run(host.name+"/"+wrong.name, func(t *testing.T) {
				gpu, url := lab.RunSim(t, sim.Options{})
				others, othersURL := lab.RunSim(t, sim.Options{Models: []string{"other"}})
				c := lab.OneModel(url)
				c.Mode, c.Passthrough, c.Envoy.Concurrency = wrong.mode, othersURL, 2
				h, log := host.start(t, c, handWritten(wrong.text))
				for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
					misconfigured(t, client, h.URL)
					// not the filter's, but the route's
					lab.WantRefused(t, lab.Do(client, "GET", h.URL+"/metrics", nil, nil), 404, "unknown_url")
				}
				if n := len(gpu.Requests()) + len(others.Requests()); n != 0 {
					t.Errorf("%d requests reached a server", n)
				}
				said := slices.DeleteFunc(strings.Split(log(), "\n"),
					func(line string) bool { return !strings.Contains(line, "harmony: ") })
				if len(said) != 1 || !strings.Contains(said[0], "harmony: filter configuration: "+wrong.reason) {
					t.Errorf("the log has\n%s\nwant one line with %s", strings.Join(said, "\n"), wrong.reason)
				}
				awaitCounts(t, h, map[string]int{"harmony_config_errors_total": 1,
					"harmony_requests_total.model.other.api.chat.status.503": 4})
			})
		}
	}
}

// misconfigured asks for everything that a gateway may have to do with.
func misconfigured(t *testing.T, client *http.Client, url string) {
	t.Helper()
	internal := http.Header{"X-Harmony-Internal-Pool": {lab.Model}}
	for _, q := range []struct{ method, path, body string }{
		{"POST", lab.ChatPath, lab.ChatBody(lab.Model, "Hi")}, {"POST", lab.ResponsesPath, lab.ResponsesBody("other", "Hi")},
		{"POST", lab.RawPath, `{"model":"` + lab.Model + `","prompt":"Hi"}`},
		{"POST", lab.RawPath, `{"model":"other","prompt":"Hi"}`},
		{"GET", "/v1/models", ""}, {"POST", "/v1/embeddings", `{"model":"other","input":"Hi"}`},
		{"GET", "/v1/responses/resp_1", ""},
		{"POST", "/tokenize", `{"prompt":"Hi"}`}, {"POST", lab.ChatPath, strings.Repeat(" ", 100_000)},
	} {
		a := lab.Do(client, q.method, url+q.path, internal, strings.NewReader(q.body))
		if a.Err != nil || a.Status != http.StatusServiceUnavailable || a.Body != misconfiguredBody ||
			a.ErrorCode() != "gateway_misconfigured" {
			t.Errorf("%s %s: got %+v", q.method, q.path, a)
		}
	}
	misconfiguredForAnthropic(t, client, url)
}

// misconfiguredForAnthropic asks for everything of Anthropic's API.
func misconfiguredForAnthropic(t *testing.T, client *http.Client, url string) {
	t.Helper()
	header := http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Request-Id": {"id-1"}}
	for _, q := range []struct{ method, path string }{
		{"POST", contract.MessagesPath}, {"POST", contract.MessagesPath + "?beta=true"}, {"POST", contract.CountTokensPath},
		{"GET", contract.ModelsPath + "?limit=1000"}, {"GET", contract.ModelsPath + "/other"},
	} {
		a := lab.Do(client, q.method, url+q.path, header, strings.NewReader(`{"model":"other","max_tokens":1}`))
		const want = `{"type":"error","error":{"type":"api_error",` +
			`"message":"The gateway is misconfigured. Its operator finds the reason in its log."},"request_id":"id-1"}`
		var got, wanted any
		err := json.Unmarshal([]byte(a.Body), &got)
		if failure := json.Unmarshal([]byte(want), &wanted); failure != nil {
			t.Fatal(failure)
		}
		if a.Err != nil || a.Status != http.StatusServiceUnavailable || err != nil || !reflect.DeepEqual(got, wanted) ||
			a.Header.Get("request-id") != "id-1" || a.Header.Get("content-type") != "application/json" {
			t.Errorf("%s %s: got %+v", q.method, q.path, a)
		}
	}
}

// awaitCounts waits for counters to have these values: a client has its answer a moment before its request is over.
func awaitCounts(t *testing.T, h *hosts.Host, want map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	for {
		counts := lab.Counters(t, h)
		maps.DeleteFunc(counts, func(name string, _ int) bool { return want[name] == 0 })
		if maps.Equal(counts, want) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("counted are %v, want %v", counts, want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func misconfiguredEnvoy(t *testing.T, c *config.Config, wrong lab.Change) (*hosts.Host, func() string) {
	t.Helper()
	setup := hosts.Setup{Config: c}
	r, err := hosts.Resources(setup)
	if err != nil {
		t.Fatal(err)
	}
	wrong(t, r)
	h, err := hosts.EnvoyWith(setup, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h, func() string { return h.Process.Log(1000) }
}

func misconfiguredWazero(t *testing.T, c *config.Config, wrong lab.Change) (*hosts.Host, func() string) {
	t.Helper()
	r, err := hosts.Resources(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	wrong(t, r)
	var mu sync.Mutex
	var said []string
	h, err := hosts.WazeroWith(r, inprocess.Options{
		Workers: c.Envoy.Concurrency, Log: func(_ wasmhost.Level, text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, text)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(said, "\n")
	}
}

// TestMisconfiguredRefused: where the configuration is a control plane's, or the operator wants it so, nothing starts
// with a wrong one, and the place is the last that is said.
func TestMisconfiguredRefused(t *testing.T) {
	const place = "harmony: filter configuration: models[0].colour: unknown key"
	setup := hosts.Setup{Config: lab.OneModel("http://127.0.0.1:1")}
	r, err := hosts.Resources(setup)
	if err != nil {
		t.Fatal(err)
	}
	lab.EditPlugin(t, r, func(c *wasmv3.PluginConfig) {
		c.Configuration = lab.Pack(t, wrapperspb.String(`{"schema":1,"models":[{"name":"m","colour":"red"}]}`))
	})
	if h, err := hosts.EnvoyWith(setup, r); err == nil {
		h.Stop()
		t.Error("Envoy serves")
	} else if !strings.Contains(err.Error(), place) {
		t.Errorf("Envoy: %v", err)
	}
	said := ""
	h, err := hosts.WazeroWith(r, inprocess.Options{
		Workers: 1, Log: func(_ wasmhost.Level, text string) { said += text + "\n" }})
	if err == nil {
		h.Stop()
	}
	if !errors.Is(err, wasmhost.ErrRefused) || !strings.Contains(said, place) {
		t.Errorf("wazero: %v\n%s", err, said)
	}
}
