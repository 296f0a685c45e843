package limits

import (
	"context"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// Check implements [follow.Part]. A keys file without a mistake can be in force.
func (s *Service) Check(context.Context, *follow.Version) error { return nil }

// Apply puts the limits of a keys file in force. Used tokens stay used, as much of each limit as before. It
// implements [follow.Part].
func (s *Service) Apply(_ context.Context, v *follow.Version) error {
	s.use(func(client, model string) []ledger.Limit { return limitsOf(v.Clients, client, model) })
	return nil
}

// Run serves from the first keys file on, until ctx ends. It implements [follow.Part].
func (s *Service) Run(ctx context.Context) error {
	defer s.Close()
	select {
	case <-s.applied:
		return s.Serve(ctx, s.o.Listener, s.o.DrainTime)
	case <-ctx.Done():
		return s.o.Listener.Close()
	}
}

// rules return the limits that count a request of a client for a model. They may be called at once by several
// goroutines.
type rules func(client, model string) []ledger.Limit

// none are the rules before the first keys file.
var none = rules(func(string, string) []ledger.Limit { return nil })

func (s *Service) use(r rules) {
	s.rules.Store(&r)
	s.first.Do(func() { close(s.applied) })
}

func limitsOf(f *clients.File, client, model string) []ledger.Limit {
	all, ofModel := f.Limits(client, model)
	return appendLimits(appendLimits(nil, "", &all), model, &ofModel)
}

// appendLimits appends the limits that a ledger counts.
func appendLimits(to []ledger.Limit, model string, l *clients.Limits) []ledger.Limit {
	for _, one := range []struct {
		resource ledger.Resource
		most     int
		window   time.Duration
	}{
		{ledger.Requests, l.RequestsPerMinute, ledger.Minute}, {ledger.Requests, l.RequestsPerDay, ledger.Day},
		{ledger.Tokens, l.TokensPerMinute, ledger.Minute}, {ledger.Tokens, l.TokensPerDay, ledger.Day},
		{ledger.Concurrency, l.Concurrency, 0},
	} {
		if one.most > 0 {
			to = append(to, ledger.Limit{Model: model, Resource: one.resource, Max: int64(one.most), Window: one.window})
		}
	}
	return to
}
