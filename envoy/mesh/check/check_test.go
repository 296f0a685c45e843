package check

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// fake is a gateway whose answers a test replaces.
type fake map[string]http.HandlerFunc

func reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func failure(status int, code, message string) http.HandlerFunc {
	return reply(status, fmt.Sprintf(`{"error":{"code":%q,"message":%q}}`, code, message))
}

// right returns a gateway with nothing wrong.
func right() fake {
	return fake{
		"GET /v1/models":          reply(200, `{"data":[{"id":"gpt-oss-120b"}]}`),
		"OPTIONS /v1/completions": failure(404, contract.CodeUnknownURL, ""),
		"POST /v1/chat/completions": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Count(string(body), `"model"`) > 1 {
				failure(400, contract.CodeDuplicateKey, "")(w, r)
				return
			}
			reply(200, "{}")(w, r)
		},
		"GET /config_dump": reply(200, dump(`"allow_on_headers_stop_iteration":true,"failure_policy":"FAIL_RELOAD",`, "")),
	}
}

// dump returns a config_dump with these members of the filter's configuration, and these of its listener.
func dump(filter, listener string) string {
	return `{"configs":[{"dynamic_listeners":[{"name":"l",` + listener + `"active_state":{"typed_config":{` +
		`"@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",` +
		`"merge_slashes":true,"early_header_mutation_extensions":[{"prefix":"x-harmony-internal-"}],` +
		`"http_filters":[{"name":"harmony","config_discovery":{"type_urls":["type.googleapis.com/` +
		`envoy.extensions.filters.http.wasm.v3.Wasm"]}}]}}}]},{"ecds_filters":[{"typed_config":{` +
		`"@type":"type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm","config":{` + filter +
		`"configuration":{"@type":"type.googleapis.com/google.protobuf.StringValue","value":"{\"schema\":1}"}}}}]}]}`
}

// settled is the dump of a gateway with nothing wrong, and another route configuration.
var settled = strings.Replace(dump(`"allow_on_headers_stop_iteration":true,"failure_policy":"FAIL_RELOAD",`, ""),
	`{"configs":[`, `{"configs":[{"dynamic_route_configs":[{"route_config":{"name":"r","virtual_hosts":[`+
		`{"name":"models"},{"name":"shop"}]}}]},`, 1)

// TestGateway has what may be wrong with a gateway, and what is then found, with a word of its detail.
func TestGateway(t *testing.T) {
	for _, c := range []struct {
		name, route string
		handler     http.HandlerFunc
		result      Result
		want        string
	}{
		{"nothing", "", nil, OK, ""},
		{"no filter", "POST /v1/chat/completions", reply(200, "{}"), Fail, "not the filter's answer"},
		{"a dropped setting", "POST /v1/chat/completions",
			failure(500, contract.CodeGatewayMisconfigured, "its proxy must set allow_on_headers_stop_iteration."), Fail,
			"dropped"},
		{"a wrong configuration", "POST /v1/chat/completions", failure(503, contract.CodeGatewayMisconfigured, ""), Fail,
			"log says where"},
		{"a key", "POST /v1/chat/completions", failure(401, "", ""), Unknown, "--key-env"},
		{"a held body", "POST /v1/chat/completions", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client leaves
			<-r.Context().Done()
		}, Fail, "keeps bodies to itself"},
		{"another API", "POST /v1/embeddings", reply(422, "{}"), Warn, "/v1/embeddings (422)"},
		{"another model's list", "POST /v1/load_lora_adapter", reply(200, "{}"), Warn, "route only the paths"},
		{"a path that a server does not have", "POST /v1/rerank", reply(404, `{"detail":"Not Found"}`), OK, ""},
		{"several hosts", "GET /config_dump", reply(200, strings.Replace(settled, `"merge_slashes":true`,
			`"merge_slashes":true,`+
				`"route_config":{"virtual_hosts":[{"name":"models"},{"name":"shop"}]}`, 1)), Warn, "models, shop"},
		{"several hosts by name", "GET /config_dump", reply(200, strings.Replace(settled, `"merge_slashes":true`,
			`"merge_slashes":true,"rds":{"route_config_name":"r"}`, 1)), Warn, "models, shop"},
		{"several hosts, one disabled", "GET /config_dump", reply(200, strings.Replace(settled, `"merge_slashes":true`,
			`"merge_slashes":true,"route_config":{"virtual_hosts":[{"name":"models"},{"name":"shop",`+
				`"typed_per_filter_config":{"harmony":{"disabled":true}}}]}`, 1)), OK, ""},
		{"no models", "GET /v1/models", reply(404, "{}"), Fail, "no list of models"},
		{"an open pool", "OPTIONS /v1/completions", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(contract.PoolHeader) == "gpt-oss-120b" {
				reply(405, "")(w, r)
				return
			}
			failure(404, contract.CodeUnknownURL, "")(w, r)
		}, Fail, "in reach of clients"},
		{"the setting in Envoy", "GET /config_dump", reply(200, dump(`"failure_policy":"FAIL_RELOAD",`, "")), Fail,
			"newer mesh"},
		{"the setting is off", "GET /config_dump",
			reply(200, dump(`"allow_on_headers_stop_iteration":false,"failure_policy":"FAIL_RELOAD",`, "")), Fail, "newer mesh"},
		{"colours", "POST /v1/chat/completions", reply(500, `{"error":{"code":"\u001b[31mred"}}`), Fail, "500  [31mred is not"},
		{"a VM that stays dead", "GET /config_dump", reply(200, dump(`"allow_on_headers_stop_iteration":true,`, "")), Warn,
			"refuses all"},
		{"a filter that fails open", "GET /config_dump", reply(200, dump(`"fail_open":true,`, "")), Fail, "fails open"},
		{"a refused listener", "GET /config_dump", reply(200, dump("", `"error_state":{"details":"no such filter"},`)), Fail,
			"l: no such filter"},
		{"another Envoy", "GET /config_dump", reply(200, `{"configs":[]}`), Fail, "no Wasm filter"},
		{"no Envoy", "GET /config_dump", reply(404, ""), Fail, "--admin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := right()
			if c.route != "" {
				g[c.route] = c.handler
			}
			mux := http.NewServeMux()
			for route, handler := range g {
				mux.HandleFunc(route, handler)
			}
			server := httptest.NewServer(mux)
			defer server.Close()
			checks, err := Gateway(t.Context(), Options{URL: server.URL, Admin: server.URL, Timeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, check := range checks {
				if c.result == OK && check.Result != OK {
					t.Errorf("%+v", check)
				}
				found = found || check.Result == c.result && strings.Contains(check.Detail, c.want)
			}
			if !found {
				t.Errorf("no check is %s with %q: %+v", c.result, c.want, checks)
			}
		})
	}
}

// TestRequests checks that all requests have the host that was asked for, and that only one makes a model answer.
func TestRequests(t *testing.T) {
	var mu sync.Mutex
	answered := 0
	g := right()
	chat := g["POST /v1/chat/completions"]
	mux := http.NewServeMux()
	for route, handler := range g {
		mux.HandleFunc(route, handler)
	}
	mux.HandleFunc("POST api.example.com/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		chat(recorder, r)
		if recorder.Code == http.StatusOK {
			mu.Lock()
			answered++
			mu.Unlock()
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	checks, err := Gateway(t.Context(), Options{URL: server.URL, Host: "api.example.com"})
	mu.Lock()
	defer mu.Unlock()
	if err != nil || answered != 1 {
		t.Errorf("%d answers at the host, %v, %+v", answered, err, checks)
	}
}

// TestNoGateway is an error, and not a check.
func TestNoGateway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if checks, err := Gateway(t.Context(), Options{URL: server.URL}); err == nil {
		t.Errorf("checks of nothing: %+v", checks)
	}
}
