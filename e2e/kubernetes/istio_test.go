//go:build e2e && kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The gateway's pod has an address at which nothing is: its Envoy runs on this machine and listens on all addresses.
const (
	gatewayAddress = "10.0.0.3"
	gatewayPort    = 80
	gatewayLabel   = "gateway.networking.k8s.io/gateway-name: harmony"
	gatewayURL     = "http://127.0.0.1:80"

	pickerStatus = "127.0.0.1:18005"

	istioXDS  = "127.0.0.1:15010"
	istioHTTP = "127.0.0.1:15080"

	// pickerConfiguration is what harmony picker reads.
	pickerConfiguration = `
models: [{name: gpt-oss-120b, pool: h200}]
pools:
  - name: h200
    inference_pool: {name: vllm}
    policy: picker
    picker: {url: "http://` + first + ":" + pickerPort + `"}
    load: {interval: 500ms}
`
)

// mesh is a cluster with Istio, a gateway of it, two servers of an InferencePool and the pool's endpoint picker.
type mesh struct {
	*cluster
	servers []*sim.Server
	picker  *lab.Program
	log     string // the access log
}

// startMesh starts all of it, with what harmony mesh istio prints.
func startMesh(t *testing.T) *mesh {
	t.Helper()
	m := &mesh{cluster: startCluster(t)}
	m.log = filepath.Join(m.folder, "access.log")
	m.kinds()
	for _, name := range []string{namespace, "istio-system"} {
		m.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	}
	m.create("/api/v1/namespaces/"+namespace+"/serviceaccounts",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+"}\n")
	m.istiod()

	for i, address := range []string{first, second} {
		s := sim.New(sim.Options{Models: []string{lab.Model}})
		t.Cleanup(s.Close)
		_, err := s.Start(address + ":8000")
		m.must(err)
		m.servers = append(m.servers, s)
		m.pod(fmt.Sprintf("vllm-%d", i), "vllm", address, "True")
	}
	m.create(poolPath, pickedPool("FailClose"))
	m.service("picker", "{app: picker}", "{name: grpc, port: "+pickerPort+", appProtocol: kubernetes.io/h2c}")
	m.endpoints("picker", "grpc", pickerPort, first)
	m.becomePod(namespace, account)
	m.grant()
	m.startPicker()

	m.apply(m.printed(m.log, lab.Tool(t, "HARMONY_WASM")))
	// What Istio makes of the Gateway where its controller for deployments runs. There its pods have this label.
	m.service("harmony-istio", "{"+gatewayLabel+"}",
		"{name: http-harmony, port: 80, appProtocol: http}")
	m.endpoints("harmony-istio", "http-harmony", "80", gatewayAddress)
	m.pod("harmony-istio-1", "gateway, "+gatewayLabel, gatewayAddress, "True") // Istio goes by the pod's labels
	m.awaitRoute()
	m.endpoints(m.shadow(), "http-0", "8000", first, second)
	return m
}

// istiod starts Istio's control plane. Its controller for deployments is off: here nothing would make pods of them.
func (m *mesh) istiod() {
	m.Helper()
	m.write("mesh.yaml", []byte(`{enableAutoMtls: false, enablePrometheusMerge: false, enableTracing: false,
  ingressControllerMode: "OFF", defaultProviders: {}}`))
	m.write("kubeconfig", []byte(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://`+first+":"+apiPort+`", certificate-authority: `+
		filepath.Join(m.folder, "certs/apiserver.crt")+`}}]
users: [{name: test, user: {token: `+adminToken+`}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`))
	cmd := exec.Command(lab.Tool(m.T, "HARMONY_ISTIO"), "-kubeconfig", filepath.Join(m.folder, "kubeconfig"),
		"-mesh-config", filepath.Join(m.folder, "mesh.yaml"), "-xds", istioXDS, "-http", istioHTTP)
	cmd.Dir = m.TempDir()
	// Without the first two, gateways have filters of Istio's own Envoy.
	cmd.Env = append(os.Environ(), "PILOT_ENABLE_METADATA_EXCHANGE=false", "PILOT_ENABLE_ALPN_FILTER=false",
		"PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER=false", "ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true")
	lab.Run(m.T, cmd)
	m.eventually("Istio is ready", func() bool {
		response, err := http.Get("http://" + istioHTTP + "/ready")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func (m *mesh) startPicker() {
	m.Helper()
	m.write("picker.yaml", []byte(pickerConfiguration))
	m.picker = lab.Run(m.T, exec.Command(lab.Tool(m.T, "HARMONY_BIN"), "picker", "--config",
		filepath.Join(m.folder, "picker.yaml"), "--listen", first+":"+pickerPort, "--status", pickerStatus))
	m.eventually("the picker knows both servers", func() bool { return len(m.load()) == 2 })
}

// load returns how many requests each server says that it has, as the picker knows it.
func (m *mesh) load() map[string]float64 {
	m.Helper()
	response, err := http.Get("http://" + pickerStatus + "/status")
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var s struct {
		Pools []struct {
			Servers []struct {
				Address  string
				Requests *float64
			}
		}
	}
	m.must(json.NewDecoder(response.Body).Decode(&s))
	all := map[string]float64{}
	for _, p := range s.Pools {
		for _, one := range p.Servers {
			if one.Requests != nil {
				all[one.Address] = *one.Requests
			}
		}
	}
	return all
}

// service creates a Service.
func (m *mesh) service(name, selector, port string) {
	m.Helper()
	m.create("/api/v1/namespaces/"+namespace+"/services", fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %s}
spec: {selector: %s, ports: [%s]}
`, name, selector, port))
}

// endpoints creates the EndpointSlice of a Service.
func (m *mesh) endpoints(service, port, number string, addresses ...string) {
	m.Helper()
	var all []string
	for _, a := range addresses {
		all = append(all, fmt.Sprintf("{addresses: [%q], conditions: {ready: true}}", a))
	}
	m.create(slicePath, fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s-1, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: %s, port: %s}]
endpoints: [%s]
`, service, port, number, strings.Join(all, ", ")))
}

// awaitRoute waits until Istio has accepted every HTTPRoute and the InferencePool.
func (m *mesh) awaitRoute() {
	m.Helper()
	var routes, pool []byte
	defer func() {
		if m.Failed() {
			m.Logf("HTTPRoutes: %s\nInferencePool: %s", routes, pool)
		}
	}()
	m.eventually("the HTTPRoute and the InferencePool are accepted", func() bool {
		_, routes = m.send(http.MethodGet, "/apis/gateway.networking.k8s.io/v1/namespaces/"+namespace+"/httproutes", nil)
		_, pool = m.send(http.MethodGet, poolPath+"/vllm", nil)
		var list struct{ Items []json.RawMessage }
		if json.Unmarshal(routes, &list) != nil || len(list.Items) == 0 {
			return false
		}
		for _, one := range list.Items {
			if !holds(one, "Accepted", "ResolvedRefs") {
				return false
			}
		}
		return holds(pool, "Accepted", "ResolvedRefs")
	})
}

// shadow returns the name of the Service that Istio makes of the InferencePool.
func (m *mesh) shadow() string {
	m.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	m.eventually("Istio has made a Service of the InferencePool", func() bool {
		_, answer := m.send(http.MethodGet, "/api/v1/namespaces/"+namespace+
			"/services?labelSelector=istio.io/inferencepool-name%3Dvllm", nil)
		return json.Unmarshal(answer, &list) == nil && len(list.Items) == 1
	})
	return list.Items[0].Metadata.Name
}

// gateway runs the gateway's Envoy.
func (m *mesh) gateway() *hosts.Host {
	m.Helper()
	return lab.RunIstioPod(m.T, hosts.IstioPod{Name: "harmony-istio-1", Namespace: namespace, Address: gatewayAddress,
		Labels: map[string]string{"gateway.networking.k8s.io/gateway-name": "harmony"}}, istioXDS, gatewayPort)
}

// served returns how many prompts each server has got.
func (m *mesh) served() []int {
	return []int{len(lab.Completions(m.servers[0])), len(lab.Completions(m.servers[1]))}
}

// TestIstio: a gateway of Istio, which reads what harmony mesh istio prints from an API server, asks harmony picker for
// each request, after our filter has made a prompt of ids of it.
func TestIstio(t *testing.T) {
	m := startMesh(t)
	h := m.gateway()
	client := lab.HTTP1(t)
	t.Run("filters", func(t *testing.T) { m.filters(t, h) })
	t.Run("choice", func(t *testing.T) { m.choice(t, client) })
	t.Run("stream", func(t *testing.T) {
		a := lab.Ask(client, gatewayURL+lab.ChatPath,
			`{"model":"gpt-oss-120b","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
		if a.Err != nil || a.Status != http.StatusOK || !strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
			t.Errorf("got %d %s (%v)", a.Status, a.Body, a.Err)
		}
	})
	t.Run("other routes", func(t *testing.T) {
		for path, want := range map[string]int{"/health": 200, "/v1/models": 200, "/nothing": 404} {
			if a := lab.Do(client, http.MethodGet, gatewayURL+path, nil, nil); a.Status != want {
				t.Errorf("%s: got %d %s (%v), want %d", path, a.Status, a.Body, a.Err, want)
			}
		}
		before := m.served()
		forged := http.Header{"X-Harmony-Internal-Pool": {lab.Model}}
		lab.WantRefused(t, lab.Do(client, http.MethodPost, gatewayURL+lab.RawPath, forged,
			strings.NewReader(`{"model":"gpt-oss-120b","prompt":"Hi"}`)), http.StatusForbidden, "raw_prompt_not_allowed")
		if after := m.served(); !slices.Equal(before, after) {
			t.Errorf("the servers have got %v requests, and before %v", after, before)
		}
	})
	t.Run("check", func(t *testing.T) {
		p := lab.RunHarmony(t, nil, "mesh", "check", gatewayURL, "--admin", "http://"+h.Process.Admin())
		if !p.Ended(lab.ProgramLimit) || p.ExitCode(t) != 0 {
			t.Errorf("harmony mesh check: %s%s", &p.Stdout, &p.Stderr)
		}
	})
	t.Run("log", func(t *testing.T) { m.logged(t) })
	t.Run("dead picker", func(t *testing.T) { m.withoutPicker(t, client) })
}

// logged: the access log has the servers that the picker has chosen.
func (m *mesh) logged(t *testing.T) {
	for _, address := range []string{first, second} {
		m.eventually("the log has "+address, func() bool {
			text, err := os.ReadFile(m.log)
			return err == nil && strings.Contains(string(text), `"upstream":"`+address+`:8000"`)
		})
	}
}

// withoutPicker: a picker that refuses connections is 503. So is a Service without an endpoint, unless the pool says
// FailOpen.
func (m *mesh) withoutPicker(t *testing.T, client *http.Client) {
	m.picker.Kill(t)
	lab.WantRefused(t, lab.AskChat(client, gatewayURL), http.StatusServiceUnavailable, "server_unavailable")
	m.done(http.MethodDelete, slicePath+"/picker-1", "")
	lab.WantRefused(t, lab.AskChat(client, gatewayURL), http.StatusServiceUnavailable, "server_unavailable")
	m.change(poolPath+"/vllm", pickedPool("FailOpen"))
	before := m.served()
	m.eventually("without a picker the servers take turns", func() bool {
		_ = lab.AskChat(client, gatewayURL) // 503 until Envoy has both changes
		after := m.served()
		return after[0] > before[0] && after[1] > before[1]
	})
}

// filters: ours is before Istio's filter for endpoint pickers.
func (m *mesh) filters(t *testing.T, h *hosts.Host) {
	dump, err := h.Process.Get(t.Context(), "/config_dump?resource=dynamic_listeners")
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.Index(string(dump), `"name": "harmony"`)
	picker := strings.Index(string(dump), `"name": "envoy.filters.http.ext_proc"`)
	if ours < 0 || picker < ours {
		t.Errorf("our filter is at %d, and Istio's at %d, of:\n%s", ours, picker, dump)
	}
}

// choice: all requests go to the server that is not busy, which the picker names, and then to the other one. They are
// prompts of ids, without headers of the gateway's own.
func (m *mesh) choice(t *testing.T, client *http.Client) {
	addresses := []string{first + ":8000", second + ":8000"}
	for busy := range 2 {
		m.servers[busy].SetLoad(&sim.Load{Running: 40, Waiting: 20})
		m.servers[1-busy].SetLoad(&sim.Load{})
		m.eventually("the picker knows the load", func() bool {
			l := m.load()
			return l[addresses[busy]] > 30 && l[addresses[1-busy]] < 1
		})
		before := m.served()
		for range 5 {
			if a := lab.AskChat(client, gatewayURL, "Authorization", "Bearer secret"); a.Err != nil ||
				a.Status != http.StatusOK || !strings.Contains(a.Body, `"object":"chat.completion"`) {
				t.Errorf("got %d %s (%v)", a.Status, a.Body, a.Err)
			}
		}
		if after := m.served(); after[busy] != before[busy] || after[1-busy] != before[1-busy]+5 {
			t.Errorf("the servers have got %v requests, and before %v", after, before)
		}
	}
	for _, r := range lab.Completions(m.servers[0]) {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Harmony-Internal") || name == "Authorization" {
				t.Errorf("a server has got %v", r.Header)
			}
		}
	}
}
