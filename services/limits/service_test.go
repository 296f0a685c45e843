package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

const model = "gpt-oss-120b"

// question returns the request of an Envoy with one descriptor: a reservation, or a settlement.
func question(entry, id string, hits int64) *rlsv3.RateLimitRequest {
	d := &ratelimitv3.RateLimitDescriptor{Entries: []*ratelimitv3.RateLimitDescriptor_Entry{
		{Key: "client", Value: "acme"}, {Key: "model", Value: model}, {Key: entry, Value: id}}}
	if hits >= 0 {
		d.HitsAddend = wrapperspb.UInt64(uint64(hits))
	}
	return &rlsv3.RateLimitRequest{Domain: "harmony", Descriptors: []*ratelimitv3.RateLimitDescriptor{d}}
}

func newService(t *testing.T, l ledger.Ledger, limits ...ledger.Limit) *Service {
	t.Helper()
	s := New(Options{Ledger: l})
	s.use(func(string, string) []ledger.Limit { return limits })
	t.Cleanup(s.Close)
	return s
}

// stopped returns a ledger whose clock stands still.
func stopped() *ledger.Memory {
	now := time.Now()
	return ledger.NewMemory(ledger.Options{Now: func() time.Time { return now }})
}

func ask(t *testing.T, s *Service, entry, id string, hits int64) *rlsv3.RateLimitResponse {
	t.Helper()
	a, err := s.ShouldRateLimit(t.Context(), question(entry, id, hits))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func headersOf(a *rlsv3.RateLimitResponse) string {
	var lines []string
	for _, h := range a.ResponseHeadersToAdd {
		lines = append(lines, h.Key+": "+h.Value)
	}
	return strings.Join(lines, "\n")
}

func book(t *testing.T, s *Service) ledger.Book {
	t.Helper()
	books, err := s.Books(t.Context())
	if err != nil || len(books) != 1 {
		t.Fatalf("%v %+v", err, books)
	}
	if err := books[0].Balance(); err != nil {
		t.Error(err)
	}
	return books[0]
}

func TestGrantedAndRefused(t *testing.T) {
	s := newService(t, stopped(),
		ledger.Limit{Resource: ledger.Requests, Max: 60, Window: ledger.Minute},
		ledger.Limit{Resource: ledger.Tokens, Max: 150000, Window: ledger.Minute},
		ledger.Limit{Resource: ledger.Tokens, Max: 100000, Window: ledger.Day, Model: model})
	a := ask(t, s, "reservation", "a", 16)
	if a.OverallCode != rlsv3.RateLimitResponse_OK || a.RawBody != nil {
		t.Errorf("got %v", a)
	}
	const want = `x-ratelimit-limit-requests: 60
x-ratelimit-remaining-requests: 59
x-ratelimit-reset-requests: 1s
x-ratelimit-limit-tokens: 100000
x-ratelimit-remaining-tokens: 99984
x-ratelimit-reset-tokens: 13.824s`
	if got := headersOf(a); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	ask(t, s, "settle", "a", 10)

	ask(t, s, "reservation", "b", 99000)
	a = ask(t, s, "reservation", "c", 1000)
	if a.OverallCode != rlsv3.RateLimitResponse_OVER_LIMIT || a.Statuses[0].Code != rlsv3.RateLimitResponse_OVER_LIMIT {
		t.Errorf("got %v", a)
	}
	const wantBody = `{"error":{"message":"Rate limit reached for gpt-oss-120b on tokens per day (TPD): Limit 100000, ` +
		`Used 99010, Requested 1000. Please try again in 8.64s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	if got := string(a.RawBody); got != wantBody {
		t.Errorf("got\n%s\nwant\n%s", got, wantBody)
	}
	if got := headersOf(a); !strings.HasSuffix(got, "content-type: application/json\nretry-after: 9\nretry-after-ms: 8640") {
		t.Errorf("got\n%s", got)
	}

	a = ask(t, s, "reservation", "d", 150001)
	if got := string(a.RawBody); !strings.Contains(got, `Request too large for all models on tokens per min (TPM): `+
		`Limit 150000, Requested 150001. The input`) {
		t.Errorf("got %s", got)
	}
	if got := headersOf(a); !strings.HasSuffix(got, "x-should-retry: false") || strings.Contains(got, "retry-after") {
		t.Errorf("got\n%s", got)
	}
}

func TestConcurrency(t *testing.T) {
	s := newService(t, stopped(), ledger.Limit{Resource: ledger.Concurrency, Max: 1, Model: model})
	ask(t, s, "reservation", "a", 5)
	a := ask(t, s, "reservation", "b", 5)
	const want = `{"error":{"message":"Rate limit reached for gpt-oss-120b on concurrent requests: Limit 1, Used 1, ` +
		`Requested 1. Please try again when a request has ended.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	if got := string(a.RawBody); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := headersOf(a), "content-type: application/json\nretry-after: 1\nretry-after-ms: 1000"; got != want {
		t.Errorf("got\n%s", got)
	}
	ask(t, s, "settle", "a", 0)
	if a := ask(t, s, "reservation", "b", 5); a.OverallCode != rlsv3.RateLimitResponse_OK {
		t.Errorf("got %v", a)
	}
}

// TestOddDescriptors sends other things that Envoys may send: nothing of it ends the service or counts for a client.
func TestOddDescriptors(t *testing.T) {
	s := newService(t, stopped(), ledger.Limit{Resource: ledger.Tokens, Max: 10, Window: ledger.Minute})
	other := question("reservation", "a", 99)
	other.Domain = "other"
	for name, q := range map[string]*rlsv3.RateLimitRequest{
		"another domain": other, "no descriptor": {Domain: "harmony"}, "another descriptor": question("other", "a", 99),
		"a settlement without an id": question("settle", "", 7), "a reservation without an id": question("reservation",
			"", 7),
	} {
		a, err := s.ShouldRateLimit(t.Context(), q)
		if err != nil || a.OverallCode != rlsv3.RateLimitResponse_OK || len(a.Statuses) != len(q.Descriptors) {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
	for name, q := range map[string]*rlsv3.RateLimitRequest{
		"a long id":   question("reservation", strings.Repeat("a", maxID+1), 1),
		"a bar":       question("settle", "a|b", 1),
		"a long name": question("model", strings.Repeat("a", maxName+1), 1),
	} {
		if _, err := s.ShouldRateLimit(t.Context(), q); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if books, err := s.Books(t.Context()); err != nil || len(books) > 0 {
		t.Errorf("%v %+v", err, books)
	}
}

// The largest number of hits is bounded, and an unknown use counts as all that was reserved.
func TestHits(t *testing.T) {
	s := newService(t, stopped())
	ask(t, s, "reservation", "a", -1)
	ask(t, s, "settle", "a", 1<<62)
	ask(t, s, "reservation", "b", 40)
	ask(t, s, "settle", "b", -1)
	if b := book(t, s); b.Requests != 2 || b.Overrun != maxTokens || b.Used != maxTokens+40 {
		t.Errorf("got %+v", b)
	}
}

// leaver is a ledger whose caller leaves while it reserves.
type leaver struct {
	ledger.Ledger
	leave func()
}

func (l leaver) Reserve(ctx context.Context, r ledger.Reservation) (ledger.Answer, error) {
	l.leave()
	if ctx.Err() != nil {
		return ledger.Answer{}, errors.New("the step ends halfway")
	}
	return l.Ledger.Reserve(ctx, r)
}

// A reservation whose Envoy waits no longer is undone.
func TestEnvoyLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newService(t, leaver{stopped(), cancel})
	if _, err := s.ShouldRateLimit(ctx, question("reservation", "a", 40)); err != nil {
		t.Fatal(err)
	}
	if b := book(t, s); b.Reserved != 40 || b.Refunded != 40 || b.OpenRequests != 0 {
		t.Errorf("got %+v", b)
	}
}

// breaking is a ledger that fails while broken is set.
type breaking struct {
	*ledger.Memory
	broken atomic.Bool
}

var errBroken = errors.New("redis: password hunter2 is wrong")

func (b *breaking) Reserve(ctx context.Context, r ledger.Reservation) (ledger.Answer, error) {
	if b.broken.Load() {
		return ledger.Answer{}, errBroken
	}
	return b.Memory.Reserve(ctx, r)
}

func (b *breaking) Settle(ctx context.Context, s ledger.Settlement) error {
	if b.broken.Load() {
		return errBroken
	}
	return b.Memory.Settle(ctx, s)
}

func (b *breaking) Ready(context.Context) error {
	if b.broken.Load() {
		return errBroken
	}
	return nil
}

// A ledger that fails: Envoys are told so, settlements wait until it is back, and the service stays ready.
func TestLedgerFails(t *testing.T) {
	l := &breaking{Memory: stopped()}
	s := newService(t, l)
	mux := http.NewServeMux()
	s.AddStatus(mux)
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	l.broken.Store(true)
	if code, _ := get("/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d before the ledger has ever answered", code)
	}
	l.broken.Store(false)
	if code, body := get("/ready"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, body)
	}
	for i := range 100 {
		ask(t, s, "reservation", fmt.Sprint(i), 10)
	}
	l.broken.Store(true)
	_, err := s.ShouldRateLimit(t.Context(), question("reservation", "x", 10))
	if status.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	for i := range 100 {
		ask(t, s, "settle", fmt.Sprint(i), 4)
	}
	if code, body := get("/ready"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, body)
	}
	if b := book(t, s); b.OpenRequests != 100 {
		t.Errorf("got %+v", b)
	}
	l.broken.Store(false)
	for end := time.Now().Add(20 * time.Second); book(t, s).OpenRequests > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not settled: %+v", book(t, s))
		}
	}
	code, body := get("/books")
	var books Books
	if err := json.Unmarshal([]byte(body), &books); err != nil || code != http.StatusOK || books.Sum.Used != 400 ||
		books.Sum.Refunded != 600 || books.Books[0].Client != "acme" {
		t.Errorf("%d %v %s", code, err, body)
	}
	s.Drain()
	if code, _ := get("/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d while it drains", code)
	}
}

// TestCloseSettles: settlements that wait when the service ends are made if the ledger is back by then.
func TestCloseSettles(t *testing.T) {
	l := &breaking{Memory: stopped()}
	s := New(Options{Ledger: l})
	s.use(func(string, string) []ledger.Limit { return nil })
	ask(t, s, "reservation", "a", 10)
	ask(t, s, "reservation", "b", 10)
	l.broken.Store(true)
	ask(t, s, "settle", "a", 4)
	ask(t, s, "settle", "b", 4)
	l.broken.Store(false)
	s.Close()
	if b := book(t, s); b.Used != 8 {
		t.Errorf("got %+v", b)
	}
}
