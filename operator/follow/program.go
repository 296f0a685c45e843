package follow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Part is one of the things that a program runs, all under one lifecycle. A program is a list of parts.
type Part interface {
	// Check returns why the part cannot take a version. It has no effect. An error about a setting is a [*config.Error].
	Check(ctx context.Context, v *Version) error
	// Apply puts a version in force that Check has accepted. If it returns an error, the version before it is in force.
	Apply(ctx context.Context, v *Version) error
	// Run serves until ctx ends, and then ends what runs, within the part's own time for that. It returns an error if the
	// part has failed.
	Run(ctx context.Context) error
	// Drain begins nothing new that lasts. Run goes on.
	Drain()
}

// Program runs parts by the versions of one file.
type Program struct {
	// Follower reads the file. The program closes it.
	Follower *Follower
	// Parts run while the program does. The first is the ground on which the others stand: a version reaches the last part
	// first, and the last part ends first.
	Parts []Part
	// NextStart returns why the second version cannot follow the first while the program runs, or nil. It may be nil.
	NextStart func(before, after *Version) error
	// Began is what the program has read of the file before it runs, for NextStart: the first version may differ from it
	// already. Nil: it has read nothing.
	Began *Version
	// Reading is called before each reading. Parts get the context that it returns. done is called with what has become of
	// the version, before it is logged: changed are the settings that differ from the version before, and err is why it is
	// refused. Reading may be nil.
	Reading func(ctx context.Context) (inner context.Context, done func(v *Version, changed []string, err error))
	// Without reports whether the program can run although its first version is refused. Nil: it cannot.
	Without func() bool
	// Ready is called when the first version is in force, or refused and the program runs all the same. It may be nil.
	Ready func()
	// Log receives what comes into force, and what is refused. If it is nil, nothing is logged.
	Log *slog.Logger

	current *Version
	// failed reports whether a part could not apply what no part had refused, and told is the refusal that was logged last.
	failed bool
	told   string
	pause  time.Duration // in place of retryPause, in tests
}

// retryPause is how long after a part has failed to apply a version it is tried again: nothing says when a port is free
// again, or a folder is there.
const retryPause = 5 * time.Second

// Run runs the parts until ctx ends. It returns the error of a part that has failed, or of the first version if the
// program cannot run without one.
func (p *Program) Run(ctx context.Context) error {
	defer p.Follower.Close()
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := p.start(ctx, cancel)
	p.follow(ctx, cancel)
	<-ctx.Done()
	err := end()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// start runs each part. end drains them, ends one after the other, and returns the error of the first that then fails.
func (p *Program) start(ctx context.Context, failed context.CancelCauseFunc) (end func() error) {
	stops := make([]context.CancelFunc, len(p.Parts))
	ended := make([]chan struct{}, len(p.Parts))
	var mu sync.Mutex
	var first error
	for i, part := range p.Parts {
		// A part does not end with ctx, but when those that stand on it have ended.
		running, stop := context.WithCancel(context.WithoutCancel(ctx))
		stops[i], ended[i] = stop, make(chan struct{})
		go func() {
			defer close(ended[i])
			if err := part.Run(running); err != nil {
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				failed(err)
			}
		}()
	}
	return func() error {
		for _, part := range p.Parts {
			part.Drain()
		}
		for i := range slices.Backward(p.Parts) {
			stops[i]()
			<-ended[i]
		}
		mu.Lock()
		defer mu.Unlock()
		return first
	}
}

// follow puts versions in force until ctx ends.
func (p *Program) follow(ctx context.Context, failed context.CancelCauseFunc) {
	if err := p.next(ctx); err != nil && !p.goesOn() {
		failed(err)
		return
	}
	if p.Ready != nil && ctx.Err() == nil {
		p.Ready()
	}
	for {
		var again <-chan time.Time
		if p.failed {
			again = time.After(cmp.Or(p.pause, retryPause))
		}
		select {
		case <-ctx.Done():
			return
		case <-p.Follower.Changed():
			p.told = "" // what is refused now is told, even if the reason is the same
		case <-again:
		}
		_ = p.next(ctx) // it is logged, and the last good version stays in force
	}
}

// goesOn reports whether the program runs although a version is refused.
func (p *Program) goesOn() bool { return p.current != nil || p.Without != nil && p.Without() }

// next reads a version and puts it in force. If it is refused, the last good one stays in force.
func (p *Program) next(ctx context.Context) error {
	reading, done := ctx, func(*Version, []string, error) {}
	if p.Reading != nil {
		reading, done = p.Reading(ctx)
	}
	p.failed = false
	v, err := p.Follower.Read()
	if err == nil {
		err = p.Follower.Locate(p.apply(reading, v))
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		done(nil, nil, err)
		return err
	}
	var changed []string
	if err == nil && p.current != nil {
		changed = v.Changes(p.current)
	}
	done(v, changed, err) // first, so that the log's reader finds it in the status too
	if err != nil {
		if text := err.Error(); p.goesOn() && text != p.told {
			p.Log.Error("the configuration is refused; the last good one stays in force", "error", err)
			p.told = text
		}
		return err
	}
	p.told = ""
	p.Log.Info("the configuration is in force", attributes(v, changed)...)
	p.current = v
	p.Follower.Accept(v)
	return nil
}

// attributes say in a log line what a version is, and what has changed.
func attributes(v *Version, changed []string) []any {
	var all []any
	if v.Resolved != nil {
		all = append(all, "models", len(v.Config.Models), "pools", len(v.Resolved.Pools))
	} else if v.Clients != nil {
		all = append(all, "clients", len(v.Clients.Clients))
	}
	if changed != nil {
		all = append(all, "changed", changed)
	}
	return all
}

// apply gives a version to all parts, or to none.
func (p *Program) apply(ctx context.Context, v *Version) error {
	if before := cmp.Or(p.current, p.Began); p.NextStart != nil && before != nil {
		if err := p.NextStart(before, v); err != nil {
			return err
		}
	}
	for _, part := range p.Parts {
		if err := part.Check(ctx, v); err != nil {
			return err
		}
	}
	for i, part := range slices.Backward(p.Parts) {
		err := part.Apply(ctx, v)
		if err == nil {
			continue
		}
		p.failed = true
		if p.current != nil {
			for _, done := range p.Parts[i+1:] {
				err = errors.Join(err, done.Apply(ctx, p.current))
			}
		}
		return err
	}
	return nil
}

// Served is a part to which a version means nothing, but that serves no earlier than one is in force.
type Served struct {
	serve func(context.Context) error
	first sync.Once
	begun chan struct{}
}

// NewServed returns the part of a function that serves until its context ends.
func NewServed(serve func(context.Context) error) *Served {
	return &Served{serve: serve, begun: make(chan struct{})}
}

// Check implements [Part].
func (s *Served) Check(context.Context, *Version) error { return nil }

// Apply implements [Part].
func (s *Served) Apply(context.Context, *Version) error {
	s.first.Do(func() { close(s.begun) })
	return nil
}

// Run implements [Part].
func (s *Served) Run(ctx context.Context) error {
	select {
	case <-s.begun:
		return s.serve(ctx)
	case <-ctx.Done():
		return nil
	}
}

// Drain implements [Part].
func (s *Served) Drain() {}

// NextStart returns a [Program].NextStart for a program that runs parts. The name is what an operator starts again, such
// as harmony up.
func NextStart(name string, parts ...config.Part) func(before, after *Version) error {
	return func(before, after *Version) error {
		if e := config.NextStart(before.Config, after.Config, name, parts...); e != nil {
			return e
		}
		if slices.Contains(parts, config.PartHost) && !reflect.DeepEqual(before.Clients, after.Clients) {
			return config.ReadAtStart("clients.keys_file", config.PartHost, name)
		}
		return nil
	}
}
