package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/wake"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// feedInterval is the time between two looks at the servers' states and loads.
const feedInterval = time.Second

// FeedOptions are the settings of a [Feed].
type FeedOptions struct {
	// Picker gets the servers.
	Picker *picker.Picker
	// Log receives changes and errors. If it is nil, nothing is logged.
	Log *slog.Logger
	// Pools are the settings of the [pools.Watcher]. Their Log is replaced by the one above.
	Pools pools.Options
}

// Feed follows the servers of the pools that have a picker, and gives them to it. It is a [follow.Part].
type Feed struct {
	o     FeedOptions
	pools *pools.Watcher
	wake  *wake.Caller
	// ctx is the program's. Calls for servers end with it.
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	current *configuration // nil before the first
}

// NewFeed returns a feed. The caller must call [Feed.Run].
func NewFeed(o FeedOptions) *Feed {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Pools.Log = o.Log
	f := &Feed{o: o, pools: pools.New(o.Pools), wake: wake.New(o.Log)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// PickersSecret is the [follow.Needs] of a program with a [Feed]: the secrets of servers. Secrets of listeners may not
// be on its machine.
func PickersSecret(r *config.Resolved, name string) bool {
	return slices.ContainsFunc(r.Pools, func(p config.ResolvedPool) bool {
		return p.Asked() && (p.Authorization == name || p.Queue.WakeAuthorization == name)
	})
}

// Run gives the picker the servers until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	defer f.pools.Close()
	defer f.wake.Wait()
	defer f.stop()
	ticks := time.NewTicker(feedInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.pools.Changed():
		case <-ticks.C:
		}
		f.set()
	}
}

// Drain implements [follow.Part]. The feed begins nothing that lasts.
func (f *Feed) Drain() {}

// Check implements [follow.Part].
func (f *Feed) Check(_ context.Context, v *follow.Version) error {
	if len(f.watched(v)) == 0 {
		return &config.Error{Field: "pools",
			Reason: "no pool has policy: picker with a url; there is nothing to choose here"}
	}
	if err := f.pools.Check(f.watched(v)); err != nil {
		return config.AsError(err)
	}
	return nil
}

// Apply implements [follow.Part]. When it returns, the picker has the servers of the configuration.
func (f *Feed) Apply(ctx context.Context, v *follow.Version) error {
	if err := f.pools.Set(f.watched(v)); err != nil {
		return config.AsError(err)
	}
	wait, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_ = f.pools.Resolved(wait) // a name that takes longer adds its servers later
	f.mu.Lock()
	f.current = &configuration{Resolved: v.Resolved, secrets: v.Secrets}
	f.mu.Unlock()
	f.o.Picker.SetQueues(f.queues(v))
	f.set()
	return nil
}

// watched returns the pools that have a picker.
func (f *Feed) watched(v *follow.Version) []pools.Pool {
	next := &configuration{Resolved: v.Resolved, secrets: v.Secrets}
	var all []pools.Pool
	for _, p := range next.watchedPools() {
		if !v.Resolved.Pool(p.Name).Asked() {
			continue
		}
		if p.LoadInterval == 0 {
			p.LoadInterval = config.DefaultLoadInterval
		}
		all = append(all, p)
	}
	return all
}

// set gives the picker the present servers.
func (f *Feed) set() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == nil {
		return
	}
	states, now := f.pools.Servers(), time.Now()
	all := map[string][]picker.Server{}
	for i := range f.current.Pools {
		p := &f.current.Pools[i]
		if !p.Asked() {
			continue
		}
		fit, _ := f.current.serversOf(p, states[p.Name])
		all[p.Name] = pickedServers(p, fit, now)
	}
	f.o.Picker.Set(all)
}

// pickedServers returns the servers of a pool that a picker may choose: those that Envoys get new requests for.
func pickedServers(p *config.ResolvedPool, fit []pools.Server, now time.Time) []picker.Server {
	servers := make([]picker.Server, 0, len(fit))
	for i := range fit {
		s := &fit[i]
		condition := conditionOf(s, reach.Count{})
		if getsNothing(p, s) {
			continue
		}
		one := picker.Server{Address: s.Address, Doubtful: !condition.usable(), Requests: -1}
		if s.Load.Known(now) {
			one.Requests = max(s.Load.Running, 0) + max(s.Load.Waiting, 0)
			one.Working, one.Waiting = float64(s.Load.Last.Running), float64(s.Load.Last.Waiting)
			one.Sampled = s.Load.Sampled
		}
		servers = append(servers, one)
	}
	return servers
}
