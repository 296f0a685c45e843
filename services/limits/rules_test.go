package limits

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

func TestKeysFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	if _, err := OpenKeysFile(path, log); err == nil {
		t.Error("an absent file was opened")
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
	k, err := OpenKeysFile(path, log)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
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
		if got := k.Limits(c.client, c.model); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s:\n got %+v\nwant %+v", c.client, c.model, got, c.want)
		}
	}
	becomes := func(text string, want int64) {
		t.Helper()
		write(text)
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if got := k.Limits("acme", model); len(got) == 1 && got[0].Max == want {
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
