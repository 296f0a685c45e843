package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// fakeEnvoy stands in for an Envoy: it asks for everything, and accepts everything except what a test makes it refuse.
type fakeEnvoy struct {
	mu     sync.Mutex
	holds  map[resource.Type]map[string]proto.Message
	refuse resource.Type
}

// startEnvoy connects a fakeEnvoy until the test ends.
func startEnvoy(t *testing.T, address, id string, secrets ...string) *fakeEnvoy {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	e := &fakeEnvoy{holds: map[resource.Type]map[string]proto.Message{}}
	ended := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
		conn.Close()
	})
	ask := func(r *discovery.DeltaDiscoveryRequest) {
		r.Node = &corev3.Node{Id: id, Cluster: "edge"}
		_ = stream.Send(r) // the stream may have ended; Recv returns the error
	}
	for typ, names := range map[resource.Type][]string{
		resource.ClusterType: nil, resource.ListenerType: nil, resource.RouteType: {xds.RouteName},
		resource.ExtensionConfigType: {xds.FilterName}, resource.RuntimeType: {xds.RuntimeName}, resource.SecretType: secrets,
	} {
		if typ == resource.ClusterType || typ == resource.ListenerType || len(names) > 0 {
			ask(&discovery.DeltaDiscoveryRequest{TypeUrl: typ, ResourceNamesSubscribe: names})
		}
	}
	go func() {
		defer close(ended)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			e.handle(r, ask)
		}
	}()
	return e
}

func (e *fakeEnvoy) handle(r *discovery.DeltaDiscoveryResponse, ask func(*discovery.DeltaDiscoveryRequest)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := &discovery.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
	if r.GetTypeUrl() == e.refuse {
		answer.ErrorDetail = &rpcstatus.Status{Message: "not here"}
		ask(answer)
		return
	}
	if e.holds[r.GetTypeUrl()] == nil {
		e.holds[r.GetTypeUrl()] = map[string]proto.Message{}
	}
	var endpoints []string
	for _, one := range r.GetResources() {
		m, err := one.GetResource().UnmarshalNew()
		if err != nil {
			panic(err)
		}
		if c, ok := m.(*clusterv3.Cluster); ok && c.GetType() == clusterv3.Cluster_EDS &&
			e.holds[r.GetTypeUrl()][one.GetName()] == nil {
			endpoints = append(endpoints, one.GetName())
		}
		e.holds[r.GetTypeUrl()][one.GetName()] = m
	}
	for _, name := range r.GetRemovedResources() {
		delete(e.holds[r.GetTypeUrl()], name)
	}
	if len(endpoints) > 0 {
		ask(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNamesSubscribe: endpoints})
	}
	ask(answer)
}

func (e *fakeEnvoy) refuses(typ resource.Type) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = typ
}

// resource returns a resource that the Envoy holds, or nil.
func (e *fakeEnvoy) resource(typ resource.Type, name string) types.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.holds[typ][name]
}

// text returns the bytes of a resource on the wire, to search in.
func (e *fakeEnvoy) text(t *testing.T, typ resource.Type, name string) string {
	t.Helper()
	raw, err := cache.MarshalResource(e.resource(typ, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// startWithEnvoy starts a control plane with a configuration, and an Envoy that it serves.
func startWithEnvoy(t *testing.T, text string) (*testServer, *fakeEnvoy) {
	t.Helper()
	p := start(t, folderWith(t, text))
	return p, startEnvoy(t, p.ads, "one")
}

// modelServer is a server that lists the model m, with a context unless that is 0. While it is away, it answers 503.
// Its path of completions has a status, which is 400 for one that is well: the question whether it is there is no
// request.
type modelServer struct {
	*httptest.Server
	context atomic.Int64
	status  atomic.Int32
	away    atomic.Bool
	asked   atomic.Int64
	// running is how many requests it tells, plus 1. 0: it does not tell its load.
	running atomic.Int64
}

func newModelServer(t *testing.T, tokens int64, status int32) *modelServer {
	t.Helper()
	e := &modelServer{}
	e.context.Store(tokens)
	e.status.Store(status)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.ContentLength != 0 && e.status.Load() == http.StatusBadRequest:
			w.WriteHeader(http.StatusServiceUnavailable) // the question what it does with tags is no matter of these tests
		case r.Method == http.MethodPost:
			w.WriteHeader(int(e.status.Load()))
		case r.URL.Path == "/metrics" && e.running.Load() > 0:
			fmt.Fprintf(w, "vllm:num_requests_running %d\nvllm:num_requests_waiting 0\n", e.running.Load()-1)
		case r.URL.Path != "/v1/models":
			http.NotFound(w, r)
		default:
			e.list(w)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// askedAgain waits until the server has been asked twice more, so that the first of the answers has had its effect.
func (e *modelServer) askedAgain(t *testing.T) {
	t.Helper()
	before := e.asked.Load()
	eventually(t, "asked again", func() bool { return e.asked.Load() >= before+2 })
}

// list answers which models there are.
func (e *modelServer) list(w http.ResponseWriter) {
	e.asked.Add(1)
	switch n := e.context.Load(); {
	case e.away.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case n == 0:
		_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
	default:
		fmt.Fprintf(w, `{"data":[{"id":"m","max_model_len":%d}]}`, n)
	}
}

// takesCompletions answers the question whether there is the path of completions, as servers of the kind vllm do.
func takesCompletions(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/completions" {
		return false
	}
	if r.ContentLength != 0 { // what the server does with tags is not told
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	w.WriteHeader(http.StatusBadRequest)
	return true
}

// newEngine returns a server that lists these models.
func newEngine(t *testing.T, models string) *httptest.Server {
	t.Helper()
	return newEngineAt(t, "127.0.0.1:0", models)
}

func newEngineAt(t *testing.T, address, models string) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if takesCompletions(w, r) {
			return
		}
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"data":[` + models + `]}`))
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// eventually polls until ok reports true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not %s", what)
		}
	}
}
