package pools

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Pool is a pool as the operator describes it.
type Pool struct {
	Name string
	// Servers are addresses or names. A name may have many addresses, each of which is a server.
	Servers []config.Endpoint
	// Drain are the servers that are to get no new requests. Each is written as in Servers, or with an address.
	Drain []config.Endpoint
	// File is the path of a file with more servers. It is read again when it changes. "" means no file.
	File string
	// Service is a Service of Kubernetes whose ready endpoints are more servers. A zero Name means no Service.
	Service Service
	// InferencePool is an InferencePool of Kubernetes whose ready pods are more servers. A zero Name means none.
	InferencePool InferencePool
	// Models are the models that every server of the pool must serve. If there are none, the servers are not asked for
	// them.
	Models []string
	// APIPath is the path of the servers' API ([contract.Model.APIPath]), below which they list their models. "" is its
	// default.
	APIPath string
	// TokenIDs reports whether the servers get or return token ids. Then their vocabulary must be the gateway's.
	TokenIDs bool
	// Authorization is the Authorization header of the requests to the servers. It is not used for anything else, and is
	// not logged.
	Authorization string
	// AuthorizationName is the operator's name for the authorization. Logs and reasons use it when a server refuses the
	// authorization.
	AuthorizationName string
	// CAFile is the path of a PEM file with the authorities that https servers' certificates are checked against. It is
	// read again when it changes. "" means the system's authorities.
	CAFile string
	// Path is the path on which the servers get requests. Each is asked whether it serves the path, and takes the pool's
	// authorization there. "" means that they are not asked.
	Path string
	// ClientsKeys reports whether servers get the clients' own keys. Their answers without one then do not show
	// whether they refuse requests.
	ClientsKeys bool
	// Kind is the kind of the servers. It says what tells their load, where they are not recognised as a program.
	Kind string
	// AsksIDs reports whether each server is asked if it takes and returns token ids, and AsksTags if it holds answers to
	// structural tags.
	AsksIDs, AsksTags bool
	// AnyModels reports whether servers get requests although they do not list Models.
	AnyModels bool
	// LoadInterval is the time between two questions to a server for its load. 0 means that it is not asked.
	LoadInterval time.Duration
}

// State is the state of a server: whether it serves all models of its pool.
type State string

// The states of a server (RATIONALE.md#58).
const (
	// Unknown is the state of a server that has not listed its models. It may serve them: the Envoys decide whether it is
	// reachable.
	Unknown State = "unknown"
	// Ready is the state of a server that has listed all models of its pool.
	Ready State = "ready"
	// NotReady is the state of a server that has listed its models, and one of the pool's is missing, or that has another
	// vocabulary, or that refuses all requests ([Server.Refusal]).
	NotReady State = "not_ready"
)

// NotAsked is the [Server] Reason of a server that will be asked and has not been asked yet. Its first answer counts as
// a change.
const NotAsked = "not asked yet"

// Server is one address of a pool.
type Server struct {
	// Endpoint is the server as the operator wrote it. Its host is the name for TLS and for the Host header.
	Endpoint config.Endpoint
	Address  netip.AddrPort
	State    State
	// Reason is why the server is not ready, or why the last probe brought no list of models.
	Reason string
	// Since is when State last changed.
	Since time.Time
	// Draining is since when the server gets no new requests because the operator has said so. It is zero if it does.
	Draining time.Time
	// Silent is the time since which the server has not answered at all, for the reason in Reason. It is zero if the last
	// probe was answered, or if there was none.
	Silent time.Time
	// Program is the server's program with its version. It is "" before the server has listed its models, and after that
	// "unknown" if the server does not tell it.
	Program string
	// Engine is that program, or nil if it is unknown.
	Engine *engine.Engine
	// Context is the model's context in tokens, or 0 if the server has not told it.
	Context int
	// Vocabulary is what the comparison of the server's vocabulary has shown. VocabularyExample describes a text that has
	// other ids there, if one was found.
	Vocabulary        Vocabulary
	VocabularyExample string
	// Refusal is why the server refuses all requests, or "".
	Refusal Refusal
	// Tags is what the server does with structural tags. It stays while the server is away.
	Tags Tags
	// Load is the server's load, if it is asked for it and tells it. It changes without a notice of
	// [Watcher.Changed].
	Load load.Load
}

// PoolState is the state of a pool at one moment.
type PoolState struct {
	// Servers are sorted by address. Each address occurs once.
	Servers []Server
	// Unresolved are the names for which no address has been found since the [Watcher] was made. Which servers they stood
	// for earlier is not known, so no server should be removed because of them.
	Unresolved []string
	// Unlisted are the hosts of the servers of the pool's Service and InferencePool, of each if the API server has not
	// listed them since the [Watcher] was made.
	Unlisted []string
	// Problem is why Servers may be out of date: an error of a file, of a name or of the API server. "" means that they
	// are up to date.
	Problem string
}

// Options are the settings of a [Watcher]. The zero value of each field is its default.
type Options struct {
	Log           *slog.Logger  // default: nothing is logged
	DNSInterval   time.Duration // between two lookups of a name; default: 5s
	ReadyInterval time.Duration // between two probes to a server; default: 5s
	// Lookup finds the addresses of a name. network is "ip". The default is [net.Resolver.LookupNetIP] of the system's
	// resolver.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// Kubernetes connects to the API server that lists endpoints. It is called when a pool first has a Service or an
	// InferencePool. The default is [apiserver.Connect].
	Kubernetes func() (*apiserver.Client, error)
	// Namespace is the namespace of Services and InferencePools without one. The default is the pod's, if the program
	// runs in one.
	Namespace string
	// ServiceRetry is the wait after the API server's first failure; default: 500ms. It grows with each further one.
	ServiceRetry time.Duration
}

const (
	defaultInterval = 5 * time.Second
	maxLookups      = 32 // at once
	maxProbes       = 64 // at once
)

// Watcher watches pools. Its methods may be called by several goroutines at once.
type Watcher struct {
	log     *slog.Logger
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	files   *watch.Files
	lookups *scheduler[string]
	probes  *scheduler[*member]
	samples *scheduler[*member]
	sampler *sampler
	changed chan struct{}
	// turns holds a value for each server that is being asked for its abilities.
	turns   chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	connect      func() (*apiserver.Client, error)
	namespace    string
	serviceRetry time.Duration

	// filesMu is held while files are read and their content is stored in lists and roots.
	filesMu    sync.Mutex
	kubernetes *apiserver.Client // nil before a pool has a Service or an InferencePool

	mu    sync.Mutex // never held while files are read or servers are asked
	pools map[string]*pool
	names map[string]*name
	lists map[string]source[list]           // by path
	roots map[string]source[*x509.CertPool] // by path
	// origins has what names the pools' servers in Kubernetes.
	origins map[origin]*followed
}

// pool is a [Pool] and its members.
type pool struct {
	Pool
	probe   *probe
	members []*member // sorted by address
}

// New returns a [Watcher] without pools. The caller must call [Watcher.Close].
func New(o Options) *Watcher {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupNetIP
	}
	if o.DNSInterval <= 0 {
		o.DNSInterval = defaultInterval
	}
	if o.ReadyInterval <= 0 {
		o.ReadyInterval = defaultInterval
	}
	if o.Kubernetes == nil {
		o.Kubernetes = apiserver.Connect
	}
	if o.ServiceRetry <= 0 {
		o.ServiceRetry = apiserver.DefaultRetry
	}
	w := &Watcher{log: o.Log, lookup: o.Lookup, files: watch.New(o.Log), changed: make(chan struct{}, 1),
		turns:   make(chan struct{}, maxAbilities),
		connect: o.Kubernetes, namespace: o.Namespace, serviceRetry: o.ServiceRetry,
		pools: map[string]*pool{}, names: map[string]*name{}}
	w.lookups = newScheduler(always[string](o.DNSInterval), maxLookups, w.resolve)
	w.probes = newScheduler(always[*member](o.ReadyInterval), maxProbes, w.probe)
	w.sampler = newSampler()
	w.samples = newScheduler(w.sampler.interval, maxSamples, w.sample)
	w.samples.spread = true
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.running.Go(func() { w.lookups.run(w.ctx) })
	w.running.Go(func() { w.probes.run(w.ctx) })
	w.running.Go(func() { w.samples.run(w.ctx) })
	w.running.Go(w.watchFiles)
	return w
}

// Set replaces the pools. Servers that stay keep their state. A file that was not watched before must be valid:
// otherwise Set returns an error that names it, and changes nothing. If a file becomes invalid later, its last valid
// content stays in force, and the error is in [PoolState].
func (w *Watcher) Set(pools []Pool) error {
	w.filesMu.Lock()
	defer w.filesMu.Unlock()
	next, err := w.byName(pools)
	if err != nil {
		return err
	}
	lists, roots, err := w.sources(next)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.pools
	w.pools, w.lists, w.roots = next, lists, roots
	for name, p := range next {
		if old := before[name]; old != nil {
			p.members = old.members
			if old.probe.equal(p.probe) {
				p.probe = old.probe
			}
		}
	}
	for name, old := range before {
		if next[name] == nil {
			w.dismiss(old.members)
			notify(w.changed)
		}
	}
	w.followOrigins()
	w.refresh()
	return nil
}

// Check returns the error with which [Watcher.Set] would refuse pools, and changes nothing.
func (w *Watcher) Check(pools []Pool) error {
	w.filesMu.Lock()
	defer w.filesMu.Unlock()
	next, err := w.byName(pools)
	if err != nil {
		return err
	}
	return w.checkSources(next)
}

// byName returns new pools, or why they are refused. The caller holds w.filesMu.
func (w *Watcher) byName(pools []Pool) (map[string]*pool, error) {
	next := make(map[string]*pool, len(pools))
	for _, p := range pools {
		if next[p.Name] != nil {
			return nil, errors.New("two pools have the name " + strconv.Quote(p.Name))
		}
		if !httpguts.ValidHeaderFieldValue(p.Authorization) {
			return nil, errors.New("pool " + strconv.Quote(p.Name) + ": its authorization is not a valid header value")
		}
		if err := w.checkOrigins(&p); err != nil {
			return nil, err
		}
		p.Servers, p.Drain, p.Models = slices.Clone(p.Servers), slices.Clone(p.Drain), slices.Clone(p.Models)
		next[p.Name] = &pool{Pool: p, probe: probeOf(p)}
	}
	return next, nil
}

// Servers returns the state of every pool, by name.
func (w *Watcher) Servers() map[string]PoolState {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]PoolState, len(w.pools))
	for name, p := range w.pools {
		s := PoolState{Servers: make([]Server, len(p.members))}
		for i, m := range p.members {
			s.Servers[i] = m.Server
		}
		s.Unresolved, s.Problem = w.problems(p)
		s.Unlisted, _ = w.originState(p)
		all[name] = s
	}
	return all
}

// problems returns the pool's names without an address, and all errors of its files, its names and its objects in
// Kubernetes.
func (w *Watcher) problems(p *pool) (unresolved []string, problem string) {
	var problems []string
	if err := w.lists[p.File].err; err != nil {
		problems = append(problems, err.Error())
	}
	if err := w.roots[p.CAFile].err; err != nil {
		problems = append(problems, err.Error())
	}
	for _, host := range w.hosts(p) {
		n := w.names[host]
		if len(n.addresses) == 0 {
			unresolved = append(unresolved, host)
		}
		if n.problem != "" {
			problems = append(problems, host+": "+n.problem)
		}
	}
	_, more := w.originState(p)
	return unresolved, strings.Join(append(problems, more...), "; ")
}

// Changed returns a channel that receives a value when servers are added or removed, or change their state.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Resolved waits until every name of the pools has been looked up once, and every Service and InferencePool has been
// listed once, with or without success. It returns an error if ctx ends first, or if the [Watcher] is closed.
func (w *Watcher) Resolved(ctx context.Context) error {
	w.mu.Lock()
	var lookups []<-chan struct{}
	for _, n := range w.names {
		lookups = append(lookups, n.lookedUp)
	}
	for _, s := range w.origins {
		lookups = append(lookups, s.asked)
	}
	w.mu.Unlock()
	for _, c := range lookups {
		select {
		case <-c:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	return nil
}

// Close stops watching. After it, [Watcher.Servers] returns the last state.
func (w *Watcher) Close() {
	w.cancel()
	w.files.Close()
	w.running.Wait()
	w.sampler.transport.CloseIdleConnections()
}
