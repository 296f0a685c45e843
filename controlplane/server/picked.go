package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// feedInterval is the time between two looks at the servers' states and loads.
const feedInterval = time.Second

// PickerOptions are the settings of [FeedPicker].
type PickerOptions struct {
	// ConfigFile is the path of the configuration, which is read again whenever it changes.
	ConfigFile string
	// Picker gets the servers.
	Picker *picker.Picker
	// Log receives changes and errors. If it is nil, nothing is logged.
	Log *slog.Logger
	// Fed is called when the picker has its first servers. It may be nil.
	Fed func()
	// Pools are the settings of the [pools.Watcher]. Their Log is replaced by the one above.
	Pools pools.Options
}

// FeedPicker follows the servers of the pools that have a picker, and gives them to it until ctx ends. It then returns
// nil. It returns an error if there is no configuration to begin with.
func FeedPicker(ctx context.Context, o PickerOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Pools.Log = o.Log
	f := feed{o: o, pools: pools.New(o.Pools), files: watch.New(o.Log)}
	defer f.pools.Close()
	defer f.files.Close()
	if err := f.load(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, resolveTimeout)
	_ = f.pools.Resolved(wait) // a name that takes longer adds its servers later
	cancel()
	f.set()
	if o.Fed != nil {
		o.Fed()
	}
	ticks := time.NewTicker(feedInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.files.Changed():
			if err := f.load(); err != nil {
				o.Log.Error("the configuration is refused; the last good one stays in force", "error", err)
			} else {
				o.Log.Info("the configuration is in force")
			}
		case <-f.pools.Changed():
		case <-ticks.C:
		}
		f.set()
	}
}

// feed is what [FeedPicker] works with.
type feed struct {
	o       PickerOptions
	pools   *pools.Watcher
	files   *watch.Files
	current *configuration
}

// load reads the configuration and puts it in force.
func (f *feed) load() error {
	files := []string{f.o.ConfigFile}
	defer func() { f.files.Set(files) }()
	f.files.Set(files) // before it is read, so that no change is missed
	c, err := config.Load(f.o.ConfigFile)
	if err != nil {
		return err
	}
	resolved, err := c.Resolve()
	if err != nil {
		return config.Locate(err, f.o.ConfigFile)
	}
	next := &configuration{Resolved: resolved, secrets: map[string]xds.SecretValue{}}
	watched := map[string]bool{}
	for i := range resolved.Pools {
		watched[resolved.Pools[i].Name] = resolved.Pools[i].Asked()
	}
	// Only the secrets of servers are read. Secrets of listeners may not be on this machine.
	for i := range c.Secrets {
		secret := &c.Secrets[i]
		for j := range resolved.Pools {
			if p := &resolved.Pools[j]; !watched[p.Name] || p.Authorization != secret.Name {
				continue
			}
			files = append(files, secret.File)
			value, field, err := readSecret(secret)
			if err != nil {
				return config.Locate(&config.Error{Field: fmt.Sprintf("secrets[%d]%s", i, field), Reason: err.Error()},
					f.o.ConfigFile)
			}
			next.secrets[secret.Name] = value
		}
	}
	var all []pools.Pool
	for _, p := range next.watchedPools() {
		if !watched[p.Name] {
			continue
		}
		if p.LoadInterval == 0 {
			p.LoadInterval = config.DefaultLoadInterval
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return config.Locate(&config.Error{Field: "pools",
			Reason: "no pool has policy: picker with a url; there is nothing to choose here"}, f.o.ConfigFile)
	}
	if err := f.pools.Set(all); err != nil {
		return asConfigError(err)
	}
	f.current = next
	return nil
}

// set gives the picker the present servers.
func (f *feed) set() {
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
		}
		servers = append(servers, one)
	}
	return servers
}
