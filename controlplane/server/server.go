package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/watch"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

const (
	// resolveTimeout is how long a configuration waits for names that have not been looked up yet.
	resolveTimeout = 2 * time.Second
	// coalesce is how long the pools' next change waits behind the last: many servers that come at once are one push.
	coalesce = 10 * time.Millisecond
	// saveInterval is the least time between two writes of the last good snapshot.
	saveInterval = time.Second
)

// snapshotFile is the last good snapshot in the state folder.
const snapshotFile = "snapshot.json"

// Options of a Server.
type Options struct {
	// ConfigFile is read, and read again whenever it changes. Empty: Config is what holds, as it is.
	ConfigFile string
	Config     *config.Config
	// Adjust is what a program's flags make of each configuration that is read. Nil: nothing.
	Adjust func(*config.Config) error
	// StateDir is the folder for the last good snapshot. Empty: none is kept.
	StateDir string
	// ModulePath is the filter's module, CAFile the file of trusted certificates, both as Envoy finds them.
	ModulePath, CAFile string
	// ADS is where Envoys connect. HTTP is where status, metrics and readiness are asked for; nil: nowhere.
	ADS, HTTP net.Listener
	// RefuseSecrets is why a configuration that uses secrets is refused: who may connect to ADS is not to have them. Empty:
	// none is.
	RefuseSecrets string
	// MaxEnvoys is how many Envoys may be connected at once; 0 is ads.DefaultMaxEnvoys.
	MaxEnvoys int
	// Version is this program's own.
	Version string
	// Log is told what happens. Nil: nobody is.
	Log *slog.Logger
	// Pools are the settings of the pools' watcher; its Log is the one above.
	Pools pools.Options
	// Reach are the settings of what hears from Envoys which servers they reach.
	Reach reach.Options
}

// Server is a control plane.
type Server struct {
	options Options
	log     *slog.Logger
	started time.Time
	ads     *ads.Server
	pools   *pools.Watcher
	reach   *reach.Tracker
	files   *watch.Files
	metrics *metrics

	ready chan struct{} // closed with the first snapshot
	dirty chan struct{} // there is a snapshot to be saved

	// What only Run's own goroutine uses.
	remembered remembered
	pushedLast time.Time
	told       map[string]string // by pool, what was last said to be wrong with its servers
	onlyUp     []string          // the settings that were last said to mean nothing here

	mu      sync.Mutex
	current *configuration // that in force, nil before the first
	failure error          // why the last one read is not in force
	stuck   error          // why the pools' servers of this moment are not passed on
	loaded  time.Time      // when current was read
	latest  ads.Resources  // what Envoys are given
	pushed  time.Time      // since when
	seen    conditions     // of the servers and pools
	saved   bool           // it is the last good snapshot of another run
	waiting time.Time      // when the first push was made that not all Envoys have accepted; zero: all have
}

// New makes a control plane, which does nothing before Run.
func New(o Options) (*Server, error) {
	if o.ADS == nil {
		return nil, errors.New("the control plane has no address for Envoys")
	}
	if (o.ConfigFile == "") == (o.Config == nil) {
		return nil, errors.New("the control plane wants a configuration, either as a file or in hand")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	tracker := reach.New(o.Reach)
	s := &Server{
		options: o, log: o.Log, started: time.Now(), ads: ads.New(ads.Options{Log: o.Log, Services: tracker.Register, Vary: xds.Vary, MaxEnvoys: o.MaxEnvoys}), reach: tracker,
		told:  map[string]string{},
		ready: make(chan struct{}), dirty: make(chan struct{}, 1),
	}
	s.metrics = newMetrics(s)
	return s, nil
}

// Ready is closed when Envoys are given their first snapshot.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run runs it until ctx ends or something fails that it cannot do without. The listeners are closed then.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.options.Pools.Log = s.log
	s.pools = pools.New(s.options.Pools)
	defer s.pools.Close()
	s.files = watch.New(s.log)
	defer s.files.Close()

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
	part(s.followEnvoys)
	if s.options.StateDir != "" {
		part(s.saveSnapshots)
	}
	if err := s.program(ctx); err != nil {
		cancel(err)
	}
	<-ctx.Done()
	parts.Wait()
	select {
	case <-s.dirty:
		s.save()
	default:
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// program is the one goroutine that decides what Envoys are given.
func (s *Server) program(ctx context.Context) error {
	s.restore()
	if err := s.load(ctx); err != nil {
		select {
		case <-s.ready: // by the last good snapshot
		default:
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.files.Changed():
			_ = s.load(ctx) // told; the last good one stays
		case <-s.pools.Changed():
			if !s.pause(ctx, coalesce-time.Since(s.pushedLast)) {
				return nil
			}
			s.follow()
		case <-s.reach.Changed():
			s.appraise()
		}
	}
}

// pause waits, and reports whether it is to go on.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
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

// restore serves the last good snapshot of another run, so that Envoys need not wait for names and servers.
func (s *Server) restore() {
	if s.options.StateDir == "" {
		return
	}
	r, err := ads.Load(filepath.Join(s.options.StateDir, snapshotFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		_, err = s.push(r, true)
	}
	if err != nil {
		s.log.Error("the last good snapshot cannot be served", "error", err)
		return
	}
	s.remembered = remember(r)
	s.log.Info("the last good snapshot is served until the configuration is built", "versions", s.ads.Versions())
}

// push gives resources to the Envoys.
func (s *Server) push(r ads.Resources, saved bool) (changed bool, err error) {
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
	s.pushed, s.pushedLast = time.Now(), time.Now()
	if s.waiting.IsZero() {
		s.waiting = begin
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
	if !saved && s.options.StateDir != "" {
		select {
		case s.dirty <- struct{}{}:
		default:
		}
	}
	return true, nil
}

// saveSnapshots writes the last good snapshot behind each push, now and then if there are many.
func (s *Server) saveSnapshots(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil // what is left Run saves, when there can be no more
		case <-s.dirty:
			s.save()
			s.pause(ctx, saveInterval)
		}
	}
}

func (s *Server) save() {
	s.mu.Lock()
	r := s.latest
	s.mu.Unlock()
	err := os.MkdirAll(s.options.StateDir, 0o700)
	if err == nil {
		err = ads.Save(filepath.Join(s.options.StateDir, snapshotFile), r)
	}
	s.metrics.saved(err)
	if err != nil {
		s.log.Error("the last good snapshot is not kept: a restart without a good configuration would serve an older one, or none", "error", err)
	}
}

// followEnvoys measures how long Envoys take to accept what is pushed.
func (s *Server) followEnvoys(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ads.Changed():
			s.measure()
		}
	}
}

// measure looks whether all Envoys have accepted everything. A push that one of them refuses is never accepted by all.
func (s *Server) measure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting.IsZero() {
		return
	}
	envoys := s.ads.Envoys()
	current := 0
	for i := range envoys {
		if envoys[i].Current {
			current++
		} else if envoys[i].Refuses() {
			s.waiting = time.Time{}
			return
		}
	}
	if current == len(envoys) {
		if current > 0 {
			s.metrics.accepted(time.Since(s.waiting))
		}
		s.waiting = time.Time{}
	}
}
