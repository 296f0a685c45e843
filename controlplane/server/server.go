package server

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/pushed"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

const (
	// resolveTimeout is how long a new configuration waits for the first lookups of its names.
	resolveTimeout = 2 * time.Second
	// coalesce is the shortest time between two pushes of changed servers, so that many servers that are added at once are
	// one push.
	coalesce = 10 * time.Millisecond
	// holdRemovals is how long Envoys keep clusters to which nothing refers any more, and the way to a responses service
	// that no configuration has any more. They take other routes before another configuration of the filter, and their
	// workers need tens of milliseconds to take a change that the Envoy has accepted, and more on a busy machine.
	holdRemovals = 5 * time.Second
	// saveInterval is the shortest time between two writes of the last good snapshot.
	saveInterval = time.Second
)

// snapshotFile is the name of the last good snapshot in the state folder.
const snapshotFile = "snapshot.json"

// Options are the settings of a [Server].
type Options struct {
	// ConfigFile is the path of the configuration, for the status. It is empty if there is none.
	ConfigFile string
	// OwnEnvoy reports whether the program runs the Envoy itself, so that the settings for it are in force.
	OwnEnvoy bool
	// Deputy is the hash of the key of the program's own responses service, or zero. No keys file has it.
	Deputy clients.Hash
	// StateDir is the folder for the last good snapshot and the last hour of the history. If it is empty, neither is saved.
	StateDir string
	// ModuleFile is the path of the filter's module. Envoys get its content from here, and get the new content when the
	// file changes. Module is the content of a module that stays the same. ModulePath is a path on the Envoys' machines,
	// where they find the module themselves. Exactly one of the three must be set.
	ModuleFile string
	Module     []byte
	ModulePath string
	// CAFile is the path of the trusted certificates on the Envoys' machines.
	CAFile string
	// Control is the listener for commands, at a Unix socket that only those can connect to who may give them. It may be
	// nil: then there are no rollouts.
	Control net.Listener
	// ADS is the listener for Envoys. HTTP is the listener for the page, status, metrics and the readiness check. HTTP may
	// be nil.
	ADS, HTTP net.Listener
	// Gateway, TapKey and PageNames are for [page.Source].
	Gateway, TapKey string
	PageNames       []string
	// History gets what the status says of servers and Envoys, and what Envoys push. If it is nil, nothing is kept, and
	// the page has no plots.
	History *history.History
	// MaxEnvoys is how many Envoys may be connected at once. 0 means [ads.DefaultMaxEnvoys].
	MaxEnvoys int
	// Version is the version of this program, for the status and the metrics.
	Version string
	// Tracer makes spans of what changes. Nil: there are none.
	Tracer trace.Tracer
	// Log receives the events of the control plane. If it is nil, nothing is logged.
	Log *slog.Logger
	// Certificates are the files of the program's own certificates and authorities, for the status.
	Certificates []string
	// Collectors are metrics of the program's other parts, which are served with the control plane's own.
	Collectors []prometheus.Collector
	// Pools are the settings of the [pools.Watcher]. Their Log is replaced by the one above.
	Pools pools.Options
	// Reach are the settings of the [reach.Tracker].
	Reach reach.Options
	// WeightInterval is the shortest time between two pushes of servers' weights. 0 means 5s.
	WeightInterval time.Duration
	// HoldRemovals is how long Envoys keep what their filter may still choose when a configuration does not have it any
	// more: clusters, and the way to the responses service. 0 means 5s.
	HoldRemovals time.Duration
	// ContextHold is how long the smallest context of a model's servers stays in force after its server has gone. 0 means
	// 10m.
	ContextHold time.Duration
}

// Server is a control plane, a [follow.Part]. [New] makes one, and [Server.Run] runs it.
type Server struct {
	options  Options
	log      *slog.Logger
	started  time.Time
	ads      *ads.Server
	pools    *pools.Watcher
	reach    *reach.Tracker
	receiver *pushed.Receiver // nil without a history
	watch    *rollout.Watch   // what a rollout is judged by
	commands chan command
	modules  *modules
	metrics  *metrics
	traces   traces
	beside   services // beside the inference servers
	queues   queues
	// moduleFiles watches the filter's file alone, so that a change of it does not read the configuration again.
	moduleFiles *watch.Files

	ready   chan struct{} // closed by the first snapshot
	read    chan struct{} // closed when the first configuration is in force or refused
	begun   chan struct{} // closed when the last good snapshot is served, or there is none
	unsaved chan struct{} // holds a value while a snapshot waits to be saved

	// Only the goroutine of Run uses these.
	remembered     remembered
	weighing       weighing
	pushedLast     time.Time
	failing        map[string]int    // by pool, the failed attempts at the last look
	loggedProblems map[string]string // by pool, the problem logged last
	letGo          <-chan time.Time  // ends configuration.leaving; nil if there is none
	hadService     bool              // a configuration has had the program's own responses service

	keptErr error // why the history was not kept; only the goroutine that records it uses this

	// Only the goroutine that reads the configuration uses these.
	firstRead    sync.Once
	warnedOnlyUp []string // the settings for harmony up that were logged last

	mu              sync.Mutex
	current         *configuration // the configuration in force; nil before the first
	loadErr         error          // why the configuration read last is not in force
	module          module         // the filter that Envoys get from here; only the goroutine of Run changes it
	rollout         savedRollout   // the last rollout; only the goroutine of Run changes it
	moduleErr       error          // why the filter that was read last is not in force
	pushErr         error          // why the pools' present servers are not sent to Envoys
	loaded          time.Time      // when current was read
	latest          ads.Resources  // the resources that Envoys get
	pushed          time.Time      // when latest was pushed
	conditions      conditions     // conditions of the servers and pools at the last update
	weights         weights        // only the goroutine of Run changes it
	structures      structures     // only the goroutine of Run changes it
	contexts        contexts       // only the goroutine of Run changes it
	saved           bool           // latest is the last good snapshot of an earlier run
	unacceptedSince time.Time      // the first push that not all Envoys have accepted; zero if they all have
}

// New returns a control plane. It does nothing before [Server.Run].
func New(o Options) (*Server, error) {
	if o.ADS == nil {
		return nil, errors.New("the control plane has no address for Envoys")
	}
	modulesSet := 0
	for _, set := range []bool{o.ModuleFile != "", o.Module != nil, o.ModulePath != ""} {
		if set {
			modulesSet++
		}
	}
	if modulesSet != 1 {
		return nil, errors.New("the control plane needs one of Options.ModuleFile, Module and ModulePath")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	inFlight := maxFilters
	if o.ModulePath != "" {
		inFlight = 0 // the filter's configuration is small
	}
	handedOut := &modules{}
	s := &Server{
		options: o, log: o.Log, started: time.Now(), beside: newServices(),
		modules: handedOut, traces: traces{tracer: o.Tracer},
		reach:          reach.New(o.Reach),
		loggedProblems: map[string]string{},
		ready:          make(chan struct{}), unsaved: make(chan struct{}, 1),
		begun: make(chan struct{}), read: make(chan struct{}),
		watch: rollout.NewWatch(2 * cmp.Or(o.MaxEnvoys, ads.DefaultMaxEnvoys)), commands: make(chan command),
	}
	if o.History != nil {
		s.receiver = pushed.New(o.History, s.watch, func(ctx context.Context, name string) (string, error) {
			return s.ads.EnvoyOf(ctx, name)
		})
		s.restoreHistory()
		addRefused(o.History, s.started, 0) // a refusal in the first interval is a gain too
	}
	s.ads = ads.New(ads.Options{Log: o.Log, Services: s.services, Vary: handedOut.vary,
		Answered: s.traces.answered, MaxEnvoys: o.MaxEnvoys, MaxInFlight: inFlight, HoldRemovals: cmp.Or(o.HoldRemovals, holdRemovals)})
	s.metrics = newMetrics(s)
	return s, nil
}

// services registers what Envoys find beside ADS.
func (s *Server) services(ctx context.Context, g grpc.ServiceRegistrar) {
	s.reach.Register(ctx, g)
	if s.receiver != nil {
		s.receiver.Register(ctx, g)
		s.receiver.RegisterLoads(ctx, g)
	}
}

// Ready returns a channel that is closed when Envoys get their first snapshot.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run runs the control plane until ctx ends, and then returns nil. It returns an error if a necessary part fails: a
// listener, or the filter. The listeners are closed when it returns.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.options.Pools.Log = s.log
	s.pools = pools.New(s.options.Pools)
	defer s.pools.Close()
	begun := sync.OnceFunc(func() { close(s.begun) })
	defer begun()
	s.moduleFiles = watch.New(s.log)
	defer s.moduleFiles.Close()

	var parts sync.WaitGroup
	part := func(run func(context.Context) error) {
		parts.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	part(func(ctx context.Context) error { return s.ads.Serve(ctx, s.options.ADS) })
	part(s.serveHTTP)
	part(s.serveControl)
	part(s.measureEnvoys)
	part(s.followServices)
	part(s.followQueues)
	part(s.warnOfCertificates)
	if s.options.History != nil {
		part(s.recordHistory)
	}
	if s.options.StateDir != "" {
		part(s.saveSnapshots)
	}
	if err := s.loop(ctx, begun); err != nil {
		cancel(err)
	}
	<-ctx.Done()
	parts.Wait()
	select {
	case <-s.unsaved:
		s.save()
	default:
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Restored waits until the control plane has begun, and reports whether it serves the last good snapshot of an earlier
// run: it can then do without a configuration.
func (s *Server) Restored() bool {
	<-s.begun
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// loop runs the only goroutine that decides which resources Envoys get. It calls begun when it takes configurations.
func (s *Server) loop(ctx context.Context, begun func()) error {
	s.restoreRollout()
	s.restore()
	if _, err := s.loadModule(); err != nil && s.module.SHA256 == "" {
		return err // there is no filter that Envoys could get
	} else if err == nil {
		s.ownModuleChanged()
	}
	begun()
	weights := time.NewTicker(cmp.Or(s.options.WeightInterval, weightInterval))
	defer weights.Stop()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-weights.C:
			s.pushContexts(ctx)
			s.pushWeights()
		case c := <-s.commands:
			c.done <- c.do(ctx)
		case <-look.C:
			s.lookAtRollout(ctx)
			s.logFailing()
		case <-s.moduleFiles.Changed():
			s.changeModule(ctx)
		case <-s.letGo:
			s.letServiceGo(ctx)
		case <-s.pools.Changed():
			if !s.wait(ctx, coalesce-time.Since(s.pushedLast)) {
				return nil
			}
			s.pushServers(ctx)
		case <-s.reach.Changed():
			s.updateConditions()
		}
	}
}

// wait waits for d, and reports whether ctx has not ended meanwhile.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// restore serves the last good snapshot of an earlier run, so that Envoys need not wait for names and servers.
func (s *Server) restore() {
	if s.options.StateDir == "" {
		return
	}
	r, err := ads.Load(filepath.Join(s.options.StateDir, snapshotFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.restoreModule(r)
	}
	if err == nil {
		_, err = s.push(context.Background(), r, true)
	}
	if err != nil {
		s.log.Error("the last good snapshot cannot be served", "error", err)
		return
	}
	s.remembered = remember(r)
	s.mu.Lock()
	s.contexts, s.structures = rememberContexts(r), rememberStructures(r)
	s.mu.Unlock()
	s.log.Info("the last good snapshot is served until the configuration is built", "versions", s.ads.Versions())
}

// push gives resources to the ADS server, and reports whether their content has changed.
func (s *Server) push(ctx context.Context, r ads.Resources, saved bool) (changed bool, err error) {
	// The span begins before any Envoy can answer.
	pushed := s.traces.push(ctx)
	defer func() { pushed.end(changed, err, s.ads.Versions()) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	begin := time.Now()
	if changed, err = s.ads.Set(r); err != nil {
		return false, err
	}
	s.saved = saved
	s.latest = r
	if !changed {
		return false, nil
	}
	s.pushed, s.pushedLast = begin, time.Now()
	if s.unacceptedSince.IsZero() {
		s.unacceptedSince = begin
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
	if !saved && s.options.StateDir != "" {
		select {
		case s.unsaved <- struct{}{}:
		default:
		}
	}
	return true, nil
}

// saveSnapshots saves the last good snapshot after each push, at most once in each saveInterval.
func (s *Server) saveSnapshots(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil // Run saves the rest after the last push
		case <-s.unsaved:
			s.save()
			s.wait(ctx, saveInterval)
		}
	}
}

func (s *Server) save() {
	s.mu.Lock()
	r := s.latest
	s.mu.Unlock()
	err := os.MkdirAll(s.options.StateDir, 0o700)
	sum := referenced(r)
	if err == nil {
		err = s.saveModule(sum) // first, because the snapshot refers to it
	}
	if err == nil {
		err = ads.Save(filepath.Join(s.options.StateDir, snapshotFile), r)
	}
	if err == nil {
		s.dropModules(sum)
	}
	s.metrics.saved(err)
	if err != nil {
		s.log.Error("the last good snapshot is not saved: a restart without a good configuration would serve an older one, "+
			"or none", "error", err)
	}
}

// measureEnvoys measures how long Envoys take to accept what is pushed.
func (s *Server) measureEnvoys(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ads.Changed():
			s.measureAcceptance()
		}
	}
}

// measureAcceptance checks whether all Envoys have accepted everything. If one of them refuses a push, its time is not
// measured.
func (s *Server) measureAcceptance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unacceptedSince.IsZero() {
		return
	}
	envoys := s.ads.Envoys()
	current := 0
	for i := range envoys {
		if envoys[i].Current {
			current++
		} else if envoys[i].Refuses() {
			s.unacceptedSince = time.Time{}
			return
		}
	}
	if current == len(envoys) {
		if current > 0 {
			s.metrics.accepted(time.Since(s.unacceptedSince))
		}
		s.unacceptedSince = time.Time{}
	}
}
