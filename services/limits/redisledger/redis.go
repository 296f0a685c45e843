package redisledger

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

//go:embed scripts/common.lua
var commonScript string

//go:embed scripts/reserve.lua
var reserveScript string

//go:embed scripts/settle.lua
var settleScript string

//go:embed scripts/withdraw.lua
var withdrawScript string

//go:embed scripts/books.lua
var booksScript string

// The scripts. Redis gets each once, and runs it by its hash.
var (
	reserve  = redis.NewScript(commonScript + reserveScript)
	settle   = redis.NewScript(commonScript + settleScript)
	withdraw = redis.NewScript(commonScript + withdrawScript)
	books    = redis.NewScript(commonScript + booksScript)
)

const (
	// prefix begins all keys.
	prefix = "harmony:limits:"
	// booksLifetime is how long the sums of a client are kept of which nothing is heard.
	booksLifetime = 32 * 24 * time.Hour
	// patience is how long Redis may take for a step.
	patience = time.Second
)

// PasswordVariable is the variable of the environment with the password of Redis.
const PasswordVariable = "HARMONY_REDIS_PASSWORD"

// epoch is the scripts' time 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Ledger is a [ledger.Ledger] in Redis.
type Ledger struct {
	client *redis.Client
	o      ledger.Options
}

// Open returns the ledger in the Redis of a URL: redis://, rediss:// for TLS, or unix://. It does not connect yet.
// password is used if the URL has none.
func Open(at, password string, o ledger.Options) (*Ledger, error) {
	options, err := redis.ParseURL(at)
	if err != nil { // the error may have the password
		return nil, errors.New("that is not the URL of a Redis; write redis://HOST:PORT/DATABASE, rediss:// for TLS")
	}
	options.Password = cmp.Or(options.Password, password)
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = patience, patience, patience
	options.PoolTimeout, options.ContextTimeoutEnabled = patience, true
	options.MaxRetries = 1 // each step may be taken twice
	o.SlotLifetime = cmp.Or(o.SlotLifetime, ledger.DefaultSlotLifetime)
	return &Ledger{redis.NewClient(options), o}, nil
}

// Close ends the connections.
func (l *Ledger) Close() error { return l.client.Close() }

// Reserve implements [ledger.Ledger].
func (l *Ledger) Reserve(ctx context.Context, r ledger.Reservation) (ledger.Answer, error) {
	values, err := l.run(ctx, reserve, r.Client, r.ID, r.Model, r.Tokens, r.Limits).Int64Slice()
	if err != nil {
		return ledger.Answer{}, err
	}
	const head = 6
	if len(values) != head+2*len(r.Limits) || values[1] > int64(len(r.Limits)) {
		return ledger.Answer{}, fmt.Errorf("the script for reservations answers %v", values)
	}
	var a ledger.Answer
	if values[0] == 0 && values[1] > 0 {
		a.Refusal = &ledger.Refusal{Limit: r.Limits[values[1]-1], Used: values[2], Requested: values[3],
			Wait: micros(values[4]), Never: values[5] == 1}
	}
	for i := head; i < len(values); i += 2 {
		a.States = append(a.States, ledger.State{Remaining: values[i], Reset: micros(values[i+1])})
	}
	return a, nil
}

// Settle implements [ledger.Ledger].
func (l *Ledger) Settle(ctx context.Context, s ledger.Settlement) error {
	return l.run(ctx, settle, s.Client, s.ID, s.Model, s.Tokens, s.Limits).Err()
}

// Withdraw implements [ledger.Ledger].
func (l *Ledger) Withdraw(ctx context.Context, client, id string) error {
	return l.run(ctx, withdraw, client, id, "", 0, nil).Err()
}

// Ready implements [ledger.Ledger].
func (l *Ledger) Ready(ctx context.Context) error { return l.client.Ping(ctx).Err() }

// Books implements [ledger.Ledger].
func (l *Ledger) Books(ctx context.Context) ([]ledger.Book, error) {
	var all []ledger.Book
	seen := map[string]bool{}
	const end = ":books"
	for i := l.client.Scan(ctx, 0, prefix+"{*}"+end, 1000).Iterator(); ; {
		if !i.Next(ctx) {
			if err := i.Err(); err != nil {
				return nil, err
			}
			break
		}
		key := i.Val()
		if seen[key] { // a scan may name a key twice
			continue
		}
		seen[key] = true
		client, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(key, prefix+"{"), "}"+end))
		if err != nil {
			continue // not ours
		}
		pairs, err := l.run(ctx, books, client, "", "", 0, nil).StringSlice()
		if err != nil {
			return nil, err
		}
		if all, err = appendBooks(all, client, pairs); err != nil {
			return nil, err
		}
	}
	ledger.SortBooks(all)
	return all, nil
}

// appendBooks adds the books of a client, from the fields of a hash and their values.
func appendBooks(all []ledger.Book, client string, pairs []string) ([]ledger.Book, error) {
	byModel := map[string]*ledger.Book{}
	for ; len(pairs) > 1; pairs = pairs[2:] {
		sum, model, _ := strings.Cut(pairs[0], "|")
		n, err := strconv.ParseInt(pairs[1], 10, 64)
		if err != nil {
			return nil, err
		}
		b := byModel[model]
		if b == nil {
			b = &ledger.Book{Client: client, Model: model}
			byModel[model] = b
		}
		if to := b.Sum(sum); to != nil {
			*to = n
		}
	}
	for _, b := range byModel {
		all = append(all, *b)
	}
	return all, nil
}

// run runs a script for a request of a client.
func (l *Ledger) run(ctx context.Context, script *redis.Script, client, id, model string, tokens int64,
	limits []ledger.Limit,
) *redis.Cmd {
	// Braces say which part of a key chooses its node in a cluster; they are escaped in a name.
	of := prefix + "{" + url.PathEscape(client) + "}:"
	now := ""
	if l.o.Now != nil {
		now = inMicros(l.o.Now().Sub(epoch))
	}
	args := []any{now, inMicros(l.o.SlotLifetime), ledger.OpenLifetime.Milliseconds(),
		ledger.SettledLifetime.Milliseconds(),
		booksLifetime.Milliseconds(), id, model, tokens}
	for _, limit := range limits {
		args = append(args, limit.Model, string(limit.Resource), limit.Max, inMicros(limit.Window))
	}
	cmd := script.Run(ctx, l.client, []string{of + "buckets", of + "open", of + "running", of + "books",
		of + "request:" + id}, args...)
	if err := cmd.Err(); err != nil && !errors.Is(err, context.Canceled) {
		cmd.SetErr(fmt.Errorf("Redis: %w", err))
	}
	return cmd
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func inMicros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// LogTo makes the client of Redis, which otherwise prints lines of its own to standard error, write to a log. It is for
// the whole program.
func LogTo(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

// clientLog gets what the client of Redis reports: connections that fail.
type clientLog struct{ log *slog.Logger }

// Printf implements the client's logger.
func (c clientLog) Printf(ctx context.Context, format string, args ...any) {
	c.log.WarnContext(ctx, "a connection to Redis fails", "error", strings.TrimSpace(fmt.Sprintf(format, args...)))
}
