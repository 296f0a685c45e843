//go:build e2e

package books

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
)

// proxy is an Envoy whose rate limit filter speaks the service's protocol, as the control plane programs it, without our
// filter: clients say in headers what the filter would find.
type proxy struct {
	envoy   *envoy.Process
	address string
	log     string // the path of its access log
}

// requests returns how many requests it got.
func (p *proxy) requests(t *testing.T) int64 {
	t.Helper()
	return requestsOf(t, p.envoy, "clients")
}

// requestsOf returns how many requests a listener of an Envoy got.
func requestsOf(t *testing.T, e *envoy.Process, listener string) int64 {
	t.Helper()
	stats, err := e.Get(t.Context(), "/stats?filter=^http."+listener+".downstream_rq_total$")
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := strings.Cut(strings.TrimSpace(string(stats)), ": ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", stats, err)
	}
	return n
}

// startProxy runs an Envoy before servers and replicas, all by address.
func startProxy(t *testing.T, servers, replicas []string) proxy {
	t.Helper()
	endpoints := func(addresses []string) string {
		var all []string
		for _, address := range addresses {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf(`{endpoint: {address: {socket_address: {address: %s, port_value: %s}}}}`, host, port))
		}
		return strings.Join(all, ", ")
	}
	log := filepath.Join(t.TempDir(), "access.log")
	p := lab.StartEnvoy(t, []byte(strings.NewReplacer("SERVERS", endpoints(servers), "REPLICAS", endpoints(replicas),
		"LOG", log).Replace(proxyConfig)))
	address, err := p.Listener(t.Context(), "clients")
	if err != nil {
		t.Fatal(err)
	}
	return proxy{p, address, log}
}

const proxyConfig = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
  - name: clients
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: clients
          access_log:
          - name: file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: LOG
              log_format: {text_format_source: {inline_string: "%REQ(x-client)% %REQ(x-id)% %REQ(x-reserve)% %REQ(x-used)% %RESPONSE_CODE% %UPSTREAM_HOST% %RESPONSE_FLAGS%\n"}}
          http_filters:
          - name: used
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config
              on_request_headers:
              - object_key: used
                factory_key: envoy.string
                format_string: {text_format_source: {inline_string: "%REQ(x-used)%"}}
          - name: limits
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: harmony
              timeout: 20s # a settlement that takes longer is lost
              rate_limit_service:
                transport_api_version: V3
                grpc_service:
                  envoy_grpc: {cluster_name: limits}
                  retry_policy:
                    retry_on: "connect-failure,refused-stream,reset,unavailable"
                    num_retries: 3
                    retry_back_off: {base_interval: 0.010s, max_interval: 0.100s} # a second, by default
                    host_selection_retry_max_attempts: 3
                    retry_host_predicate:
                    - name: envoy.retry_host_predicates.previous_hosts
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: server, timeout: 0s}
                typed_per_filter_config:
                  limits:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute
                    rate_limits:
                    - actions:
                      - request_headers: {header_name: x-client, descriptor_key: client}
                      - request_headers: {header_name: x-model, descriptor_key: model}
                      - request_headers: {header_name: x-id, descriptor_key: reservation}
                      hits_addend: {format: "%REQ(x-reserve)%"}
                    - actions:
                      - request_headers: {header_name: x-client, descriptor_key: client}
                      - request_headers: {header_name: x-model, descriptor_key: model}
                      - request_headers: {header_name: x-id, descriptor_key: settle}
                      hits_addend: {format: "%FILTER_STATE(used:PLAIN)%"}
                      apply_on_stream_done: true
  clusters:
  - name: server
    connect_timeout: 5s
    load_assignment: {cluster_name: server, endpoints: [{lb_endpoints: [SERVERS]}]}
  - name: limits
    connect_timeout: 1s
    # By default an Envoy gives up retries beyond three at once. Then a replica that dies takes settlements with it.
    circuit_breakers: {thresholds: [{max_requests: 100000, max_pending_requests: 100000, max_retries: 100000}]}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment: {cluster_name: limits, endpoints: [{lb_endpoints: [REPLICAS]}]}
`

// send sends a request with an id that reserves some tokens and has used others at its end.
func send(t *testing.T, address, client, id, reserve, used string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(request(t.Context(), address, client, id, reserve, used))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func request(ctx context.Context, address, client, id, reserve, used string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		panic(err) // the address is one of ours
	}
	for name, value := range map[string]string{"x-client": client, "x-model": lab.Model, "x-id": id, "x-reserve": reserve,
		"x-used": used} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", lab.Patience, what)
		}
	}
}
