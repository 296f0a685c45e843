package limits

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// served is a service without a listener.
type served struct{ *Service }

func (served) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// TestKeysFile follows a keys file while it changes.
func TestKeysFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
defaults: {requests_per_minute: 60, context: 9000}
clients:
  - name: acme
    limits: {tokens_per_minute: 1000, tokens_per_day: 9000, requests_per_day: 70, concurrency: 4}
    models: [{name: ` + model + `, concurrency: 2, requests_per_minute: 5}]
  - name: free
    limits: {}
`)
	s := New(Options{Ledger: stopped()})
	t.Cleanup(s.Close)
	p := follow.Program{Follower: follow.Open(follow.Options{KeysFile: path}), Parts: []follow.Part{served{s}}}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- p.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	limits := func(client, model string) []ledger.Limit { return (*s.rules.Load())(client, model) }
	<-s.applied
	ofAcme := []ledger.Limit{
		{Resource: ledger.Requests, Max: 70, Window: ledger.Day},
		{Resource: ledger.Tokens, Max: 1000, Window: ledger.Minute}, {Resource: ledger.Tokens, Max: 9000, Window: ledger.Day},
		{Resource: ledger.Concurrency, Max: 4},
		{Resource: ledger.Requests, Max: 5, Window: ledger.Minute, Model: model},
		{Resource: ledger.Concurrency, Max: 2, Model: model},
	}
	for _, c := range []struct {
		client, model string
		want          []ledger.Limit
	}{
		{"acme", model, ofAcme},
		{"unknown", model, []ledger.Limit{{Resource: ledger.Requests, Max: 60, Window: ledger.Minute}}},
		{"free", model, nil},
	} {
		if got := limits(c.client, c.model); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s:\n got %+v\nwant %+v", c.client, c.model, got, c.want)
		}
	}
	becomes := func(text string, want int64) {
		t.Helper()
		write(text)
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if got := limits("acme", model); len(got) == 1 && got[0].Max == want {
				return
			} else if time.Now().After(end) {
				t.Fatalf("%s: still %+v", text, got)
			}
		}
	}
	becomes("clients: [{name: acme, limits: {concurrency: 3}}]", 3)
	write("clients: [{name: acme, limits: {concurrency: -1}}]")
	becomes("clients: [{name: acme, limits: {concurrency: 5}}]", 5)
}
