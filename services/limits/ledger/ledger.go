package ledger

import (
	"context"
	"errors"
	"time"
)

// Resource is what a [Limit] bounds.
type Resource string

// The resources.
const (
	// Requests are requests that were let through, by the window.
	Requests Resource = "requests"
	// Tokens are the tokens of the prompt and of the answer, by the window.
	Tokens Resource = "tokens"
	// Concurrency is the number of requests that run at once. It has no window.
	Concurrency Resource = "concurrency"
)

// The windows of limits.
const (
	Minute = time.Minute
	Day    = 24 * time.Hour
)

// Limit is one limit of a client.
type Limit struct {
	// Model is the model that is counted; empty counts all models of the client together.
	Model    string
	Resource Resource
	// Max is how much there is in a full window: a bucket that holds as much, and is refilled at Max by Window.
	Max    int64
	Window time.Duration
}

// Reservation asks for the most that a request may use, before it is sent to a server.
type Reservation struct {
	// ID is the request's. A second reservation with it changes nothing.
	ID            string
	Client, Model string
	Tokens        int64
	// Limits are those that count this request. All of them have room for it, or none is charged.
	Limits []Limit
}

// Settlement says what a request has used, when it has ended.
type Settlement struct {
	// ID is the reservation's. A second settlement with it changes nothing.
	ID            string
	Client, Model string
	// Tokens is what was used, or [Unknown]: then all that was reserved counts as used.
	Tokens int64
	// Limits are charged if there is no reservation.
	Limits []Limit
}

// Unknown is the use of a request of which nothing is known.
const Unknown int64 = -1

// Answer is what a ledger says to a reservation.
type Answer struct {
	// Refusal is nil if the reservation was made, or had been made before.
	Refusal *Refusal
	// States are the states of the reservation's limits, in their order, after it was made or refused.
	States []State
}

// State is how much of a limit is left.
type State struct {
	Remaining int64
	// Reset is how long it takes until the limit is as if nothing had been used. Concurrency has none.
	Reset time.Duration
}

// Refusal says which limit a reservation exceeds. Of several it is the one that takes longest.
type Refusal struct {
	Limit Limit
	// Used is what counts as used now, and Requested what was asked for.
	Used, Requested int64
	// Wait is how long it takes until there is room, if nobody else takes it. It is 0 if it is not known, as for
	// [Concurrency], and if the request never fits.
	Wait time.Duration
	// Never reports whether the request is larger than the whole limit.
	Never bool
}

// Ledger keeps the numbers. Its methods may be called at once by several goroutines.
type Ledger interface {
	// Reserve makes a reservation, if all of its limits have room.
	Reserve(ctx context.Context, r Reservation) (Answer, error)
	// Settle ends a reservation, and gives back what was not used. Without a reservation it charges what was used.
	Settle(ctx context.Context, s Settlement) error
	// Withdraw undoes a reservation of a request that was not let through after all. It does nothing if the reservation is
	// settled already, or is not known.
	Withdraw(ctx context.Context, client, id string) error
	// Books returns the sums of every client and model, in order.
	Books(ctx context.Context) ([]Book, error)
	// Ready reports, by an error, that nothing can be reserved now.
	Ready(ctx context.Context) error
}

// Options are what ledgers have in common.
type Options struct {
	// SlotLifetime is how long a reservation that is not settled counts as running; 0 is [DefaultSlotLifetime].
	SlotLifetime time.Duration
	// Now returns the time; nil is the ledger's own clock. Tests set it.
	Now func() time.Time
}

// Lifetimes of what a ledger remembers of a request.
const (
	// DefaultSlotLifetime is longer than most requests run.
	DefaultSlotLifetime = 30 * time.Minute
	// OpenLifetime is how long a settlement may still come after the reservation. A later one counts on its own.
	OpenLifetime = 24 * time.Hour
	// SettledLifetime is how long a settled reservation is remembered, so that neither it nor its settlement counts twice.
	SettledLifetime = 5 * time.Minute
)

// ErrFull is the error of a ledger that can keep no more numbers.
var ErrFull = errors.New("the ledger is full")
