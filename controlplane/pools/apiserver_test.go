package pools

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer is an API server of Kubernetes that has EndpointSlices of the namespace models, and speaks list and watch.
type apiServer struct {
	*httptest.Server
	mu      sync.Mutex
	slices  map[string]*discoveryv1.EndpointSlice
	version int
	lists   int
	watches map[chan string]bool // the lines to send; closed to end the watch
	// rude answers a request instead of the server and returns true, or returns false.
	rude func(w http.ResponseWriter, watch bool) bool
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{slices: map[string]*discoveryv1.EndpointSlice{}, watches: map[chan string]bool{}, version: 1}
	a.Server = startAPIServer(t, a, a.endWatches)
	return a
}

// startAPIServer serves h over TLS, and names it in KUBECONFIG with the token test. end ends its watches.
func startAPIServer(t *testing.T, h http.Handler, end func()) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		end()
		s.Close()
	})
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: test\n"+
		"clusters: [{name: test, cluster: {server: %s, certificate-authority-data: %s}}]\nusers: [{name: test, user: {token: test}}]\n"+
		"contexts: [{name: test, context: {cluster: test, user: test}}]\n", s.URL, base64.StdEncoding.EncodeToString(authority)), 0o600))
	t.Setenv("KUBECONFIG", config)
	return s
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	watching := query.Get("watch") == "true"
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/apis/discovery.k8s.io/v1/namespaces/models/endpointslices" ||
		query.Get("labelSelector") != "kubernetes.io/service-name=vllm" || r.Header.Get("Authorization") != "Bearer test" {
		refuse(w, http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	rude := a.rude
	a.mu.Unlock()
	if rude != nil && rude(w, watching) {
		return
	}
	if watching {
		a.watch(w, r, query.Get("resourceVersion"))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	list := discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1",
		Kind: "EndpointSliceList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	for _, name := range slices.Sorted(maps.Keys(a.slices)) {
		list.Items = append(list.Items, *a.slices[name])
	}
	_ = json.NewEncoder(w).Encode(list)
}

// watch sends what changes. It has forgotten all versions but the present one.
func (a *apiServer) watch(w http.ResponseWriter, r *http.Request, version string) {
	a.mu.Lock()
	if version != strconv.Itoa(a.version) {
		a.mu.Unlock()
		refuse(w, http.StatusGone)
		return
	}
	lines := make(chan string, 100)
	a.watches[lines] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.watches, lines)
		a.mu.Unlock()
	}()
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line, ok := <-lines:
			if !ok {
				return
			}
			_, _ = w.Write([]byte(line + "\n"))
			w.(http.Flusher).Flush()
		}
	}
}

func refuse(w http.ResponseWriter, code int) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status(code))
}

func status(code int) metav1.Status {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Message: "a text of the API server"}
	if code == http.StatusGone {
		s.Reason = metav1.StatusReasonExpired
	}
	return s
}

// put creates or replaces a slice, and delete deletes one. Both send an event to every watch.
func (a *apiServer) put(s *discoveryv1.EndpointSlice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	event := "ADDED"
	if a.slices[s.Name] != nil {
		event = "MODIFIED"
	}
	a.version++
	s.ResourceVersion = strconv.Itoa(a.version)
	a.slices[s.Name] = s
	a.send(event, s)
}

func (a *apiServer) delete(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.slices[name].DeepCopy()
	delete(a.slices, name)
	a.version++
	s.ResourceVersion = strconv.Itoa(a.version)
	a.send("DELETED", s)
}

// send sends an event to all watches. The caller holds a.mu.
func (a *apiServer) send(event string, object any) {
	line, _ := json.Marshal(map[string]any{"type": event, "object": object})
	a.sendLine(string(line))
}

func (a *apiServer) sendLine(line string) {
	for lines := range a.watches {
		lines <- line
	}
}

// endWatches closes the watches, as an API server does every few minutes.
func (a *apiServer) endWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for lines := range a.watches {
		close(lines)
		delete(a.watches, lines)
	}
}

// setRude sets a.rude, and ends the watches.
func (a *apiServer) setRude(rude func(w http.ResponseWriter, watch bool) bool) {
	a.mu.Lock()
	a.rude = rude
	a.mu.Unlock()
	a.endWatches()
}

// awaitWatch waits until there is a watch.
func (a *apiServer) awaitWatch(t *testing.T) {
	t.Helper()
	eventually(t, "a watch", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.watches) > 0
	})
}

// slice returns an EndpointSlice with the port http of the number 8000, and ready endpoints.
func slice(name string, family discoveryv1.AddressType, addresses ...string) *discoveryv1.EndpointSlice {
	port, portName := int32(8000), "http"
	s := &discoveryv1.EndpointSlice{
		TypeMeta:   metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "models"}, AddressType: family,
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return s
}
