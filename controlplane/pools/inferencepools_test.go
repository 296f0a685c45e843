package pools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// poolServer is an API server that has one InferencePool and pods of the namespace models, and speaks list and watch.
// Every change ends the watches of its kind, and their versions are forgotten: the client lists again.
type poolServer struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]map[string]any // by resource, by name
	changed map[string]chan struct{}  // by resource; closed when it changes
	version int
	queries map[string]url.Values // the last list of a resource
	// rude answers a request instead of the server and returns true, or returns false.
	rude func(w http.ResponseWriter, resource string) bool
}

func newPoolServer(t *testing.T) *poolServer {
	t.Helper()
	p := &poolServer{objects: map[string]map[string]any{"inferencepools": {}, "pods": {}}, version: 1,
		changed: map[string]chan struct{}{"inferencepools": make(chan struct{}), "pods": make(chan struct{})},
		queries: map[string]url.Values{}}
	p.Server = startAPIServer(t, p, func() {
		for resource := range p.objects {
			p.change(resource, func() {})
		}
	})
	return p
}

var poolPaths = map[string]string{
	"/apis/inference.networking.k8s.io/v1/namespaces/models/inferencepools": "inferencepools",
	"/api/v1/namespaces/models/pods":                                        "pods",
}

func (p *poolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource, query := poolPaths[r.URL.Path], r.URL.Query()
	if resource == "" || r.Header.Get("Authorization") != "Bearer test" ||
		resource == "inferencepools" && query.Get("fieldSelector") != "metadata.name=vllm" {
		refuse(w, http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rude != nil && p.rude(w, resource) {
		return
	}
	if query.Get("watch") == "true" {
		changed := p.changed[resource]
		if query.Get("resourceVersion") != strconv.Itoa(p.version) {
			refuse(w, http.StatusGone)
			return
		}
		w.(http.Flusher).Flush()
		p.mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-changed:
		}
		p.mu.Lock()
		return
	}
	p.list(w, resource, query)
}

// list writes a page of a list. It takes pods by the labels of the query.
func (p *poolServer) list(w http.ResponseWriter, resource string, query url.Values) {
	p.queries[resource] = query
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.objects[resource])) {
		if resource == "pods" {
			if labels := p.objects[resource][name].(map[string]any)["metadata"].(map[string]any)["labels"]; labels !=
				query.Get("labelSelector") {
				continue
			}
		}
		names = append(names, name)
	}
	metadata := map[string]any{"resourceVersion": strconv.Itoa(p.version)}
	begin, _ := strconv.Atoi(query.Get("continue"))
	names = names[min(begin, len(names)):]
	limit, _ := strconv.Atoi(query.Get("limit"))
	if query.Get("resourceVersion") == "" && limit > 0 && len(names) > limit {
		names, metadata["continue"] = names[:limit], strconv.Itoa(begin+limit)
	}
	items := []any{}
	for _, name := range names {
		object := maps.Clone(p.objects[resource][name].(map[string]any))
		if resource == "pods" { // the fake's labels are a selector's text
			m := maps.Clone(object["metadata"].(map[string]any))
			delete(m, "labels")
			object["metadata"] = m
		}
		items = append(items, object)
	}
	kind := map[string]string{"pods": "PodList", "inferencepools": "InferencePoolList"}[resource]
	group := map[string]string{"pods": "v1", "inferencepools": "inference.networking.k8s.io/v1"}[resource]
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": group, "metadata": metadata, "items": items})
}

// change changes objects of a kind, and ends its watches.
func (p *poolServer) change(resource string, apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	apply()
	p.version++
	close(p.changed[resource])
	p.changed[resource] = make(chan struct{})
}

// setPool creates or replaces the InferencePool. spec is JSON; "" deletes it.
func (p *poolServer) setPool(spec string) {
	p.change("inferencepools", func() {
		delete(p.objects["inferencepools"], "vllm")
		if spec != "" {
			p.objects["inferencepools"]["vllm"] = map[string]any{
				"metadata": map[string]any{"name": "vllm", "namespace": "models"}, "spec": json.RawMessage(spec)}
		}
	})
}

// pod creates or replaces a pod. more is put into its metadata.
func (p *poolServer) pod(name, labels, ip, ready string, more map[string]any) {
	metadata := map[string]any{"name": name, "namespace": "models", "labels": labels}
	maps.Copy(metadata, more)
	p.change("pods", func() {
		p.objects["pods"][name] = map[string]any{"metadata": metadata, "spec": map[string]any{"containers": []any{}},
			"status": map[string]any{"podIP": ip, "conditions": []any{
				map[string]any{"type": "PodScheduled", "status": "True"},
				map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-29T00:00:00Z"}}}}
	})
}

const twoPorts = `{"selector": {"matchLabels": {"app": "vllm"}}, "targetPorts": [{"number": 8000}, {"number": 8001}],
	"endpointPickerRef": {"name": "epp", "port": {"number": 9002}}}`

func poolWatcher(t *testing.T) (*Watcher, *logLines) {
	t.Helper()
	log := &logLines{}
	w := New(Options{ServiceRetry: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(w.Close)
	must(t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://10.0.9.9:1"),
		InferencePool: InferencePool{Namespace: "models", Name: "vllm"}}}))
	return w, log
}

// TestInferencePool follows pods that come, become unready, terminate and go, and an InferencePool that changes its
// ports and its selector, goes and comes back.
func TestInferencePool(t *testing.T) {
	a := newPoolServer(t)
	a.setPool(twoPorts)
	a.pod("a", "app=vllm", "10.0.0.1", "True", nil)
	a.pod("other", "app=other", "10.0.0.3", "True", nil)
	w, log := poolWatcher(t)
	must(t, w.Resolved(t.Context()))
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001"+own)
	if s := w.Servers()["p"]; s.Problem != "" || s.Unlisted != nil ||
		s.Servers[0].Endpoint.String() != "http://vllm.models.inferencepool:8000" {
		t.Errorf("got %+v\n%s", s, log)
	}
	a.pod("b", "app=vllm", "10.0.0.2", "False", nil)
	a.pod("c", "app=vllm", "10.0.0.4", "True", map[string]any{"deletionTimestamp": "2026-11-29T00:00:00Z"})
	a.pod("d", "app=vllm", "10.0.0.5", "True", map[string]any{"annotations": map[string]any{
		"inference.networking.k8s.io/active-ports": "8001, 9"}})
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001 10.0.0.5:8001"+own)
	a.pod("b", "app=vllm", "10.0.0.2", "True", nil)
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001 10.0.0.2:8000 10.0.0.2:8001 10.0.0.5:8001"+own)
	a.change("pods", func() { delete(a.objects["pods"], "a"); delete(a.objects["pods"], "d") })
	awaitAddresses(t, w, "10.0.0.2:8000 10.0.0.2:8001"+own)
	a.setPool(`{"selector": {"matchLabels": {"app": "vllm"}}, "targetPorts": [{"number": 9000}], "appProtocol": "http"}`)
	awaitAddresses(t, w, "10.0.0.2:9000"+own)
	a.setPool(`{"selector": {"matchLabels": {"app": "other"}}, "targetPorts": [{"number": 9000}]}`)
	awaitAddresses(t, w, "10.0.0.3:9000"+own)
	awaitProblem(t, w, "")
	a.setPool("")
	awaitAddresses(t, w, strings.TrimSpace(own))
	awaitProblem(t, w, "InferencePool models/vllm: there is no such InferencePool; check its name and its namespace")
	a.setPool(twoPorts)
	awaitAddresses(t, w, "10.0.0.2:8000 10.0.0.2:8001"+own)
	awaitProblem(t, w, "")
	if n := log.count("an InferencePool cannot be followed, or not in full"); n != 1 {
		t.Errorf("its end is logged %d times:\n%s", n, log)
	}
}

// TestInferencePoolProblems has InferencePools without servers, and what is said of each. A selector that is empty
// would select every pod of the namespace.
func TestInferencePoolProblems(t *testing.T) {
	for spec, want := range map[string]string{
		`{"targetPorts": [{"number": 8000}]}`: "its selector is empty",

		`{"selector": {"matchLabels": {}}, "targetPorts": [{"number": 8000}]}`:           "its selector is empty",
		`{"selector": {"matchLabels": {"a": "!"}}, "targetPorts": [{"number": 8000}]}`:   "its selector is not valid",
		`{"selector": {"matchLabels": {"app": "vllm"}}}`:                                 "it has 0 target ports, and may have 1 to 8",
		`{"selector": {"matchLabels": {"app": "vllm"}}, "targetPorts": [{"number": 0}]}`: "its target port 0 is no port",
		`{"selector": {"matchLabels": {"app": "vllm"}}, "targetPorts": [{"number": 8000}], "appProtocol": "kubernetes.io/h2c"}`: `its ` +
			`appProtocol is "kubernetes.io/h2c", and the gateway's servers speak HTTP/1.1`,
	} {
		a := newPoolServer(t)
		a.pod("a", "app=vllm", "10.0.0.1", "True", nil)
		a.setPool(spec)
		w, _ := poolWatcher(t)
		awaitProblem(t, w, "InferencePool models/vllm: "+want)
		if got := addresses(w); got != strings.TrimSpace(own) {
			t.Errorf("%s: got %s", spec, got)
		}
		a.setPool(twoPorts)
		awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001"+own)
		awaitProblem(t, w, "")
	}
}

// TestInferencePoolFails checks that the last known servers stay whatever the API server does with pools or with pods.
func TestInferencePoolFails(t *testing.T) {
	const kept = "; known servers that stay in use: 2"
	const role = "; give its service account the Role of docs/control-plane.md"
	for name, c := range map[string]struct {
		resource string
		status   int
		problem  string
	}{
		"pools": {"inferencepools", 403,
			"the API server answers 403: the control plane may not list inferencepools in the namespace models" + role},
		"pods": {"pods", 403,
			"the API server answers 403: the control plane may not list pods in the namespace models" + role},
		"no CRD": {"inferencepools", 404, "the API server answers 404: it does not know InferencePools of " +
			"inference.networking.k8s.io/v1; install the Inference Extension's custom resources"},
		"broken": {"pods", 500, "the API server answers 500"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newPoolServer(t)
			a.setPool(twoPorts)
			a.pod("a", "app=vllm", "10.0.0.1", "True", nil)
			w, log := poolWatcher(t)
			awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001"+own)
			a.change(c.resource, func() {
				a.rude = func(w http.ResponseWriter, resource string) bool {
					if resource == c.resource {
						refuse(w, c.status)
					}
					return resource == c.resource
				}
			})
			awaitProblem(t, w, "InferencePool models/vllm: "+c.problem+kept)
			if got := addresses(w); got != "10.0.0.1:8000 10.0.0.1:8001"+own {
				t.Errorf("got %s", got)
			}
			a.change(c.resource, func() { a.rude = nil })
			a.pod("a", "app=vllm", "10.0.0.2", "True", nil)
			awaitAddresses(t, w, "10.0.0.2:8000 10.0.0.2:8001"+own)
			awaitProblem(t, w, "")
			if strings.Contains(log.String(), "a text of the API server") {
				t.Errorf("the log has what the API server sent:\n%s", log)
			}
		})
	}
}

// TestInferencePoolLate starts before the API server answers for pods. The InferencePool is unlisted until then.
func TestInferencePoolLate(t *testing.T) {
	a := newPoolServer(t)
	a.setPool(twoPorts)
	a.pod("a", "app=vllm", "10.0.0.1", "True", nil)
	a.rude = func(w http.ResponseWriter, resource string) bool {
		if resource == "pods" {
			refuse(w, http.StatusForbidden)
		}
		return resource == "pods"
	}
	w, _ := poolWatcher(t)
	must(t, w.Resolved(t.Context()))
	if s := w.Servers()["p"]; !slices.Equal(s.Unlisted, []string{"vllm.models.inferencepool"}) {
		t.Errorf("got %+v", s)
	}
	a.change("pods", func() { a.rude = nil })
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001"+own)
	if s := w.Servers()["p"]; s.Unlisted != nil {
		t.Errorf("it is listed: %+v", s)
	}
}

// TestInferencePoolIsLarge reads many pods in pages, and keeps what it knows if they are too many.
func TestInferencePoolIsLarge(t *testing.T) {
	a := newPoolServer(t)
	a.setPool(`{"selector": {"matchLabels": {"app": "vllm"}}, "targetPorts": [{"number": 8000}]}`)
	fill := func(n int) {
		a.change("pods", func() {
			for i := range n {
				a.objects["pods"][fmt.Sprint("p", i)] = map[string]any{
					"metadata": map[string]any{"name": fmt.Sprint("p", i), "labels": "app=vllm"},
					"status": map[string]any{"podIP": fmt.Sprintf("10.1.%d.%d", i>>8, i&255),
						"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}
			}
		})
	}
	fill(1200)
	w, _ := poolWatcher(t)
	servers := func() int { return len(w.Servers()["p"].Servers) }
	eventually(t, "1200 pods", func() bool { return servers() == 1201 })
	a.mu.Lock()
	if a.queries["pods"].Get("continue") == "" {
		t.Errorf("the pods were not read in pages: %v", a.queries["pods"])
	}
	a.mu.Unlock()
	var many strings.Builder
	many.WriteString(`{"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [{}`)
	many.WriteString(strings.Repeat(",{}", 10000) + "]}")
	a.change("pods", func() {
		a.rude = func(w http.ResponseWriter, resource string) bool {
			if resource == "pods" {
				_, _ = w.Write([]byte(many.String()))
			}
			return resource == "pods"
		}
	})
	awaitProblem(t, w, "InferencePool models/vllm: more than 10000 endpoints; known servers that stay in use: 1200")
	a.setPool(twoPorts) // and with another port, as the pods that are known stay
	eventually(t, "both ports", func() bool { return servers() == 2401 })
}

// TestInferencePoolEnds ends all watches when the pool has no InferencePool any more.
func TestInferencePoolEnds(t *testing.T) {
	a := newPoolServer(t)
	a.setPool(twoPorts)
	a.pod("a", "app=vllm", "10.0.0.1", "True", nil)
	w, _ := poolWatcher(t)
	awaitAddresses(t, w, "10.0.0.1:8000 10.0.0.1:8001"+own)
	must(t, w.Set([]Pool{{Name: "p"}}))
	awaitAddresses(t, w, "")
	a.setPool("")
	w.Close() // waits for all goroutines
}
