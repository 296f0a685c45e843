package pools

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
)

// serviceWatcher returns a Watcher with the Service models/vllm in the pool p, beside a server.
func serviceWatcher(t *testing.T, port string) (*Watcher, *logLines) {
	t.Helper()
	log := &logLines{}
	w := New(Options{ServiceRetry: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(w.Close)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://10.0.9.9:1"), Service: Service{Namespace: "models",
		Name: "vllm", Port: port}}}))
	return w, log
}

func awaitProblem(t *testing.T, w *Watcher, want string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the problem is %s", w.Servers()["p"].Problem)
		}
	}()
	eventually(t, "the problem "+want, func() bool { return w.Servers()["p"].Problem == want })
}

const own = " 10.0.9.9:1"

// TestService follows endpoints that come, become unready, terminate and go, in several slices.
func TestService(t *testing.T) {
	a := newAPIServer(t)
	a.put(slice("vllm-a", discoveryv1.AddressTypeIPv4, "10.0.0.2", "10.0.0.1"))
	w, log := serviceWatcher(t, "http")
	must(t, w.Resolved(t.Context()))
	if got := addresses(w); got != "10.0.0.1:8000 10.0.0.2:8000"+own {
		t.Fatalf("got %s, %+v:\n%s", got, w.Servers()["p"], log)
	}
	if s := w.Servers()["p"]; s.Problem != "" || s.Unlisted != nil ||
		s.Servers[0].Endpoint.String() != "http://vllm.models.svc:8000" {
		t.Errorf("got %+v", s)
	}
	a.awaitWatch(t)
	a.put(slice("vllm-b", discoveryv1.AddressTypeIPv4, "10.0.0.2", "10.0.0.3"))
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.2:8000 10.0.0.3:8000"+own)

	yes, no := true, false
	unready := slice("vllm-a", discoveryv1.AddressTypeIPv4, "10.0.0.2", "10.0.0.1")
	unready.Endpoints[1].Conditions.Ready = &no
	a.put(unready)
	awaitAddresses(t, w, "10.0.0.2:8000 10.0.0.3:8000"+own)
	terminating := slice("vllm-b", discoveryv1.AddressTypeIPv4, "10.0.0.2", "10.0.0.3")
	// So it is with publishNotReadyAddresses.
	terminating.Endpoints[1].Conditions = discoveryv1.EndpointConditions{Ready: &yes, Terminating: &yes}
	a.put(terminating)
	awaitAddresses(t, w, "10.0.0.2:8000"+own)
	a.delete("vllm-a")
	a.put(slice("vllm-b", discoveryv1.AddressTypeIPv4, "10.0.0.4"))
	awaitAddresses(t, w, "10.0.0.4:8000"+own)
	a.delete("vllm-b")
	awaitAddresses(t, w, strings.TrimSpace(own))
	awaitProblem(t, w, "Service models/vllm: there is no EndpointSlice of it; check its name and its namespace")
	if a.lists != 1 {
		t.Errorf("%d lists for one watch:\n%s", a.lists, log)
	}
}

// TestServiceSlices has what a slice may be like.
func TestServiceSlices(t *testing.T) {
	udp, name := slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1"), "dns"
	udp.Ports[0].Name = &name
	two := slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1")
	two.Ports = append(two.Ports, udp.Ports...)
	other := int32(9000)
	two.Ports[1].Port = &other
	none := slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1")
	none.Ports = nil
	placeholder := slice("s", discoveryv1.AddressTypeIPv4)
	placeholder.Ports = nil
	v6 := slice("six", discoveryv1.AddressTypeIPv6, "fd00::1")
	for name, c := range map[string]struct {
		port      string
		slices    []*discoveryv1.EndpointSlice
		addresses string
		problem   string
	}{
		"the only port": {"", []*discoveryv1.EndpointSlice{slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1")},
			"10.0.0.1:8000", ""},
		"a number":     {"9000", []*discoveryv1.EndpointSlice{two}, "10.0.0.1:9000", ""},
		"no ports":     {"9000", []*discoveryv1.EndpointSlice{none}, "10.0.0.1:9000", ""},
		"no endpoints": {"http", []*discoveryv1.EndpointSlice{placeholder}, "", ""},
		"IPv6":         {"http", []*discoveryv1.EndpointSlice{v6}, "[fd00::1]:8000", ""},
		"two families": {"http", []*discoveryv1.EndpointSlice{slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1"), v6},
			"10.0.0.1:8000", ""},
		"an empty family": {"http", []*discoveryv1.EndpointSlice{placeholder, v6}, "[fd00::1]:8000", ""},
		"other name": {"grpc", []*discoveryv1.EndpointSlice{two}, "",
			"the EndpointSlice s is left out: it has no TCP port grpc; its ports: 8000 http, 9000 dns"},
		"other number": {"80", []*discoveryv1.EndpointSlice{two}, "",
			"the EndpointSlice s is left out: it has no TCP port 80; its ports: 8000 http, 9000 dns"},
		"several ports": {"", []*discoveryv1.EndpointSlice{two}, "",
			"the EndpointSlice s is left out: it has several ports; " +
				"write one of them as the service's port: 8000 http, 9000 dns"},
		"no port, no number": {"", []*discoveryv1.EndpointSlice{none}, "", "the EndpointSlice s is left out: it has no TCP " +
			"port; write the number of the servers' port as the service's port"},
		"names": {"http", []*discoveryv1.EndpointSlice{slice("n", discoveryv1.AddressTypeFQDN, "gpu.example.com"),
			slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1")}, "10.0.0.1:8000",
			"the EndpointSlice n is left out: its addresses are of the type FQDN"},
		"no address": {"http", []*discoveryv1.EndpointSlice{slice("s", discoveryv1.AddressTypeIPv4, "gpu", "10.0.0.1")},
			"10.0.0.1:8000", `the EndpointSlice s has the address "gpu", which is left out`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPIServer(t)
			for _, s := range c.slices {
				a.put(s.DeepCopy())
			}
			w, log := serviceWatcher(t, c.port)
			want := strings.TrimSpace(c.addresses + own)
			if strings.HasPrefix(c.addresses, "[") { // IPv6 is sorted after IPv4
				want = strings.TrimSpace(own) + " " + c.addresses
			}
			awaitAddresses(t, w, want)
			if c.problem == "" {
				awaitProblem(t, w, "")
				return
			}
			awaitProblem(t, w, "Service models/vllm: "+c.problem)
			if n := log.count("a Service cannot be followed, or not in full"); n != 1 {
				t.Errorf("it is logged %d times:\n%s", n, log)
			}
		})
	}
}

// TestServiceFails checks that whatever the API server does, the last known servers stay, and that the cause is shown
// and logged once, as its end is.
func TestServiceFails(t *testing.T) {
	const kept = "; known servers that stay in use: 1"
	hangUp := func(w http.ResponseWriter, _ bool) bool { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		problem string
		rude    func(w http.ResponseWriter, watch bool) bool
	}{
		"no role": {"the API server answers 403: the control plane may not list endpointslices in the namespace models; " +
			"give its service account the Role of docs/control-plane.md",
			func(w http.ResponseWriter, watch bool) bool {
				refuse(w, map[bool]int{true: 410, false: 403}[watch])
				return true
			}},
		"no verb watch": {"the API server answers 403: the control plane may not watch endpointslices in the namespace " +
			"models; give its service account the Role of docs/control-plane.md",
			func(w http.ResponseWriter, watch bool) bool {
				if watch {
					refuse(w, http.StatusForbidden)
				}
				return watch
			}},
		"old token": {"the API server answers 401: it does not accept the control plane's credentials",
			func(w http.ResponseWriter, _ bool) bool { refuse(w, http.StatusUnauthorized); return true }},
		"broken": {"the API server answers 500", func(w http.ResponseWriter, _ bool) bool {
			refuse(w,
				500)
			return true
		}},
		"hangs up":   {"the API server: it closes the connection without an answer", hangUp},
		"no JSON":    {"the API server: its answer cannot be read", malformed(`{"items": [`)},
		"other JSON": {"the API server: its answer cannot be read", malformed(`{"kind": "Pod", "apiVersion": "v1"}`)},
		"many endpoints": {"more than 10000 endpoints", func(w http.ResponseWriter, watch bool) bool {
			if watch {
				refuse(w, http.StatusGone)
			} else {
				_, _ = w.Write(manyEndpoints)
			}
			return true
		}},
		"a huge list": {"more than 10000 endpoints", func(w http.ResponseWriter, watch bool) bool {
			if watch {
				refuse(w, http.StatusGone)
				return true
			}
			for piece := make([]byte, 1<<20); ; {
				if _, err := w.Write(piece); err != nil {
					return true
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPIServer(t)
			a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1"))
			w, log := serviceWatcher(t, "http")
			awaitAddresses(t, w, "10.0.0.1:8000"+own)
			a.awaitWatch(t)
			a.setRude(c.rude)
			awaitProblem(t, w, "Service models/vllm: "+c.problem+kept)
			if got := addresses(w); got != "10.0.0.1:8000"+own {
				t.Errorf("got %s", got)
			}
			a.setRude(nil)
			a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.2"))
			awaitAddresses(t, w, "10.0.0.2:8000"+own)
			awaitProblem(t, w, "")
			if bad, good := log.count("a Service cannot be followed, or not in full"),
				log.count("a Service is followed again"); bad != 1 || good != 1 {
				t.Errorf("told %d and %d times, want once each:\n%s", bad, good, log)
			}
			if strings.Contains(log.String(), "a text of the API server") {
				t.Errorf("the log has what the API server sent:\n%s", log)
			}
		})
	}
}

func malformed(answer string) func(w http.ResponseWriter, watch bool) bool {
	return func(w http.ResponseWriter, watch bool) bool {
		if watch {
			refuse(w, http.StatusGone)
		} else {
			_, _ = w.Write([]byte(answer))
		}
		return true
	}
}

// manyEndpoints is a list with one endpoint too many.
var manyEndpoints = func() []byte {
	var b strings.Builder
	b.WriteString(`{"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1", "metadata": {"resourceVersion": "9"}, ` +
		`"items": [{"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [`)
	for i := range apiserver.MaxEndpoints + 1 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"addresses": ["10.1.%d.%d"]}`, i>>8, i&255)
	}
	b.WriteString("]}]}")
	return []byte(b.String())
}()

// TestServiceWatch checks what may happen to a watch: an end, a version that is forgotten, a line that is not JSON.
func TestServiceWatch(t *testing.T) {
	a := newAPIServer(t)
	a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1"))
	w, log := serviceWatcher(t, "http")
	awaitAddresses(t, w, "10.0.0.1:8000"+own)
	for i, disturb := range []func(){
		a.endWatches,
		func() { a.mu.Lock(); defer a.mu.Unlock(); a.send("ERROR", status(http.StatusGone)) },
		func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.version++
			a.send("BOOKMARK", slice("", discoveryv1.AddressTypeIPv4))
		},
	} {
		a.awaitWatch(t)
		disturb()
		a.put(slice("s", discoveryv1.AddressTypeIPv4, fmt.Sprintf("10.0.1.%d", i)))
		awaitAddresses(t, w, fmt.Sprintf("10.0.1.%d:8000%s", i, own))
		if p := w.Servers()["p"].Problem; p != "" {
			t.Errorf("disturbance %d is a problem: %s", i, p)
		}
	}
	a.awaitWatch(t)
	a.mu.Lock()
	a.sendLine(`{"type": "ADDED", "object": [}`)
	a.mu.Unlock()
	a.endWatches() // after the line: only an event of a watch that follows ends the problem
	awaitProblem(t, w, "Service models/vllm: the API server: its answer cannot be read; known servers that stay in use: 1")
	a.awaitWatch(t)
	a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.7"))
	awaitAddresses(t, w, "10.0.0.7:8000"+own)
	awaitProblem(t, w, "")
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error(log)
	}
}

// TestServiceLate starts before the API server can be reached. The pool has its other servers, and its Service is
// unlisted until the first list.
func TestServiceLate(t *testing.T) {
	a := newAPIServer(t)
	a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1"))
	a.setRude(func(w http.ResponseWriter, _ bool) bool { refuse(w, http.StatusForbidden); return true })
	w, _ := serviceWatcher(t, "http")
	must(t, w.Resolved(t.Context()))
	if s := w.Servers()["p"]; addresses(w) != strings.TrimSpace(own) ||
		!slices.Equal(s.Unlisted, []string{"vllm.models.svc"}) || !strings.Contains(s.Problem, "403") {
		t.Errorf("got %s, %+v", addresses(w), s)
	}
	a.setRude(nil)
	awaitAddresses(t, w, "10.0.0.1:8000"+own)
	if s := w.Servers()["p"]; s.Unlisted != nil {
		t.Errorf("it is listed: %+v", s)
	}
	// Another port is another list of servers. After the pool has no Service, all watches end.
	must(t, w.Set([]Pool{{Name: "p", Service: Service{Namespace: "models", Name: "vllm", Port: "8000"}}}))
	awaitAddresses(t, w, "10.0.0.1:8000")
	must(t, w.Set([]Pool{{Name: "p"}}))
	eventually(t, "the end of the watches", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.watches) == 0
	})
}

// TestServiceRefused has what a pool with a Service needs.
func TestServiceRefused(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	w, _ := watcher(t, nil)
	for want, s := range map[string]Service{
		"write service.namespace":  {Name: "vllm"},
		"or set KUBECONFIG to the": {Name: "vllm", Namespace: "models"},
	} {
		if err := w.Set([]Pool{{Name: "p", Service: s}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	if err := w.Set([]Pool{{Name: "p", Service: Service{Name: "vllm", Namespace: "models"}}}); err == nil {
		t.Error("a kubeconfig that is not there is accepted")
	}
}

// TestServiceTwice counts an address once that a server and a Service have. The server's name counts.
func TestServiceTwice(t *testing.T) {
	a := newAPIServer(t)
	a.put(slice("s", discoveryv1.AddressTypeIPv4, "10.0.0.1", "10.0.0.2"))
	w, _ := watcher(t, nil)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://10.0.0.1:8000"),
		Service: Service{Namespace: "models", Name: "vllm", TLS: true}}}))
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.2:8000")
	s := w.Servers()["p"].Servers
	if s[0].Endpoint.Host != "10.0.0.1" || s[1].Endpoint.String() != "https://vllm.models.svc:8000" ||
		s[1].Address != netip.MustParseAddrPort("10.0.0.2:8000") {
		t.Errorf("got %+v", s)
	}
}
