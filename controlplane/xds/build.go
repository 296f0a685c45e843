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

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Names that stand in Envoy's statistics and admin interface.
const (
	// ListenerName is the listener that clients connect to, if the configuration gives it no other name.
	ListenerName = config.DefaultListener
	// RouteName and FilterName are the route table and the filter's configuration, as they are discovered.
	RouteName  = "harmony"
	FilterName = "harmony"
	// UnroutedCluster has no servers. Requests on the API's paths that no filter has claimed lead here: 503.
	UnroutedCluster = "harmony-unrouted"
	// PassthroughCluster is the server for everything that is not ours.
	PassthroughCluster = "harmony-passthrough"
	// ResponsesCluster is the responses service.
	ResponsesCluster = "harmony-responses"
	poolPrefix       = "harmony-pool-"
)

// Options are what the resources depend on and the operator's configuration does not say.
type Options struct {
	// ModulePath is the filter's .wasm as Envoy finds it.
	ModulePath string
	// CAFile holds the certificates that https servers are checked against; needed when there is one.
	CAFile string
	// Servers are those of each pool at this moment, by the pool's name. Nil: those that the configuration writes out, whose
	// names Envoy then looks up itself. Servers files are an error then.
	Servers map[string][]Server
	// Secrets are the values of the configuration's secrets, by name, for Envoys that get them over SDS. Nil: Envoy reads
	// the files and the environment itself.
	Secrets map[string]SecretValue
}

// Server is one address of a pool.
type Server struct {
	// Endpoint is the server as it is written, Address where it is.
	Endpoint config.Endpoint
	Address  netip.AddrPort
	// NotReady keeps new requests away.
	NotReady bool
}

// Resources are what one Envoy needs, all in one piece: Bootstrap (package envoy) takes them as they are, Discovered
// parts them into what is discovered over ADS.
type Resources struct {
	Listeners []*listenerv3.Listener
	Clusters  []*clusterv3.Cluster
	Secrets   []*tlsv3.Secret
	// Runtime are the circuit breakers' limits, as runtime keys: they follow the number of servers, and a cluster that
	// changed with it would begin anew at each.
	Runtime *structpb.Struct
	// Overload is for the bootstrap: it cannot be discovered.
	Overload *overloadv3.OverloadManager
	// Replies are the listeners' local_reply_config once more, for who cannot evaluate its CEL.
	Replies []LocalReply
}

// Build makes the resources of a configuration.
func Build(c *config.Resolved, o Options) (*Resources, error) {
	if o.ModulePath == "" {
		return nil, errors.New("xds: no path of the filter's module")
	}
	b := newBuilder(c, o)
	r := &Resources{
		Listeners: b.listeners(), Clusters: b.clusters(), Secrets: b.secrets(), Runtime: b.runtime(), Replies: localReplies(c.Config),
	}
	overload, err := Overload(&c.Config.Envoy)
	b.fail(err)
	if b.err != nil {
		return nil, b.err
	}
	r.Overload = overload
	return r, r.Check()
}

// PoolCluster is the name of the cluster of a model's servers.
func PoolCluster(m *config.Model) string { return poolPrefix + m.PoolName() }

// builder keeps the first error; what is built after it is thrown away.
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
	// Deterministic: the same configuration must give the same bytes, or every push is an update.
	a := &anypb.Any{}
	b.fail(anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}))
	return a
}

// pool finds the pool of a model.
func (b *builder) pool(m *config.Model) *config.ResolvedPool {
	if p := b.resolved.Pool(m.PoolName()); p != nil {
		return p
	}
	return &config.ResolvedPool{} // every model has one, once it is resolved
}

// Envoy's own timers stand behind the filter's, which answers with more to say; so they wait a little longer. They are
// never off: a request that waits on a VM that has died is ended by nothing else.
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

// heldLimit is how much of a request Envoy lets the filter hold. What the filter puts in its place counts too, and ids
// are longer than text: a body within the limit whose ids were not would be refused with a 413 that nobody understands.
// So there is room for a whole context of ids on top; body_limit itself is enforced by the filter, to the byte.
func (b *builder) heldLimit() uint32 {
	const (
		bytesPerID = 7 // "200006,"
		around     = 64 << 10
	)
	// A model may come and go without a change of the listener, whose connections would be closed by it.
	context := contract.DefaultContextLength
	for i := range b.config.Models {
		context = max(context, b.config.Models[i].ContextLength)
	}
	return uint32(min(int64(b.config.BodyLimit)+int64(context)*bytesPerID+around, maxWindow))
}
