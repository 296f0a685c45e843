package xds

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// These names are visible in Envoy's statistics and its admin interface.
const (
	// ListenerName is the name of the listener that clients connect to, if the configuration sets no other name.
	ListenerName = config.DefaultListener
	// RouteName is the name of the route table, and FilterName the name of the filter's configuration. Envoy discovers
	// both by these names.
	RouteName  = "harmony"
	FilterName = "harmony"
	// UnroutedCluster has no servers. A request on the API's paths that the filter has not claimed is routed to it and
	// answered with 503.
	UnroutedCluster = "harmony-unrouted"
	// PassthroughCluster has the server of requests that the filter does not handle.
	PassthroughCluster = "harmony-passthrough"
	// ResponsesCluster has the responses service.
	ResponsesCluster = "harmony-responses"
	// TracingCluster has the collector of spans.
	TracingCluster = "harmony-tracing"
	poolPrefix     = contract.PoolClusterPrefix
)

// Options are the inputs of [Build] besides the operator's configuration.
type Options struct {
	// ModulePath is the path of the filter's .wasm on Envoy's machine, or a [Reference]. It must be set.
	ModulePath string
	// CAFile is the path of the certificates that https servers are checked against, on Envoy's machine. It must be set if
	// there is an https server.
	CAFile string
	// Servers are the present servers of each pool, by the pool's name. If it is nil, the servers are those in the
	// configuration, Envoy looks their names up itself, and a pool with a servers file is an error.
	Servers map[string][]Server
	// Contexts are the smallest contexts of the servers in tokens, by model. They count where the configuration sets none.
	Contexts map[string]int
	// Structures are the values of structured_outputs that differ from the configuration's, by model.
	Structures map[string]string
	// Clients is the content of the keys file. It must be set if the configuration names one. Deputy is the hash of the
	// key of a responses service that the file does not know, or zero.
	Clients *clients.File
	Deputy  clients.Hash
	// Leaving is a configuration before this one, whose responses service is still reached: an Envoy takes other routes
	// before another configuration of the filter, which chooses among them. Nil: there is none.
	Leaving *config.Resolved
	// Secrets are the values of the configuration's secrets, by name, for Envoys that get them over SDS. If it is nil,
	// Envoy reads the files and the environment itself.
	Secrets map[string]config.SecretValue
}

// Server is one address of a pool.
type Server struct {
	// Endpoint is the server as the operator wrote it. Address is its present address.
	Endpoint config.Endpoint
	Address  netip.AddrPort
	// NotReady reports whether the server gets no new requests.
	NotReady bool
	// Draining reports whether that is because the operator has said so. Its streams are to be moved.
	Draining bool
	// Weight is the server's weight beside the others of its pool. 0 is for a pool without weights, and for a server that
	// gets no requests.
	Weight uint32
}

// Resources are all resources of one Envoy. [github.com/harmonyedge/harmonyedge/envoy.Bootstrap] uses them as they are.
// [Resources.Discovered] divides them into what Envoy discovers over ADS (RATIONALE.md#12).
type Resources struct {
	Listeners []*listenerv3.Listener
	Clusters  []*clusterv3.Cluster
	Secrets   []*tlsv3.Secret
	// Runtime has the limits of the circuit breakers as keys of Envoy's runtime. The limits depend on the number of
	// servers. In the clusters themselves, each change of that number would make Envoy replace a cluster
	// (RATIONALE.md#56).
	Runtime *structpb.Struct
	// Overload belongs in the bootstrap, because Envoy cannot discover it.
	Overload *overloadv3.OverloadManager
	// Prefill are the clusters of servers that only read or render prompts. The filter alone calls them, so no route leads there.
	Prefill []string
	// Replies are the rules of the listeners' local_reply_config, for hosts that cannot evaluate its CEL.
	Replies []LocalReply
}

// Build returns the resources of a configuration. It returns an error if a setting and the options do not fit together.
func Build(c *config.Resolved, o Options) (*Resources, error) {
	if o.ModulePath == "" {
		return nil, errors.New("xds: no path of the filter's module")
	}
	b := newBuilder(c, o)
	r := &Resources{
		Listeners: b.listeners(), Clusters: b.clusters(), Secrets: b.secrets(), Runtime: b.runtime(),
		Replies: localReplies(c.Config), Prefill: b.prefillClusters(),
	}
	overload, err := Overload(&c.Config.Envoy)
	b.fail(err)
	if b.err != nil {
		return nil, b.err
	}
	r.Overload = overload
	return r, r.Check()
}

// PoolCluster returns the name of the cluster of a model's servers.
func PoolCluster(m *config.Model) string { return poolPrefix + m.PoolName() }

// builder builds resources and keeps the first error. Resources that it builds after an error are not used.
type builder struct {
	config   *config.Config
	resolved *config.Resolved
	options  Options
	err      error
}

func newBuilder(c *config.Resolved, o Options) *builder {
	if c.Config.CAFile != "" {
		o.CAFile = c.Config.CAFile
	}
	return &builder{config: c.Config, resolved: c, options: o}
}

func (b *builder) fail(err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("xds: %w", err)
	}
}

func (b *builder) any(m proto.Message) *anypb.Any {
	// Marshalling is deterministic: otherwise the same configuration could give other bytes, and every push would be an
	// update.
	a := &anypb.Any{}
	b.fail(anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}))
	return a
}

// pool returns the pool of a model.
func (b *builder) pool(m *config.Model) *config.ResolvedPool {
	if p := b.resolved.Pool(m.PoolName()); p != nil {
		return p
	}
	return &config.ResolvedPool{} // cannot happen: each model of a resolved configuration has a pool
}

// Envoy's idle timeout is longer than the filter's, because the filter's error says more. Envoy's is never off: nothing
// else ends a request that waits for a VM that has died.
const (
	idleMargin = 30 * time.Second
	idleLimit  = time.Hour
)

func (b *builder) idleTimeout() time.Duration {
	if stall := time.Duration(b.config.StallTimeout); stall > 0 {
		return stall + idleMargin
	}
	return idleLimit
}

// bufferLimit returns how many bytes of a request Envoy lets the filter hold. The body that the filter puts in place of
// the client's counts too, and token ids are longer than text. Without extra room, a body within body_limit could get a
// 413 that no client can explain. So the limit has room for a full context of ids. The filter itself enforces
// body_limit, to the byte.
func (b *builder) bufferLimit() uint32 {
	const (
		bytesPerID = 7 // "200006,"
		margin     = 64 << 10
	)
	// At least the default context counts, because another limit is another listener, and a listener that changes closes
	// its connections. Models may come and go without that.
	context := contract.DefaultContextLength
	for i := range b.config.Models {
		context = max(context, b.config.Models[i].ContextLength)
	}
	return uint32(min(int64(b.config.BodyLimit)+int64(context)*bytesPerID+margin, maxWindow))
}
