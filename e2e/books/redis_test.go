//go:build e2e

package books

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger/ledgertest"
	"github.com/harmonyedge/harmonyedge/services/limits/redisledger"
)

// The ledger in Redis passes the tests of every ledger. Each test has a database of its own.
func TestRedisLedger(t *testing.T) {
	server := lab.StartRedis(t)
	database := 0
	ledgertest.Run(t, func(t *testing.T, o ledger.Options) ledger.Ledger {
		database++
		l, err := redisledger.Open(fmt.Sprintf("%s%d", strings.TrimSuffix(server.URL, "0"), database), "", o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	})
}

// No key stays for ever, also of a client of which nothing more is heard while its request runs. Keys of refused
// requests end soon: a client may send any number of them.
func TestRedisKeysEnd(t *testing.T) {
	server := lab.StartRedis(t)
	l, err := redisledger.Open(server.URL, "", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	limits := []ledger.Limit{{Resource: ledger.Tokens, Max: 1000, Window: ledger.Minute},
		{Resource: ledger.Concurrency, Max: 5}}
	for _, id := range []string{"runs", "ends"} {
		if _, err := l.Reserve(t.Context(), ledger.Reservation{ID: id, Client: "c", Model: "m", Tokens: 10,
			Limits: limits}); err != nil {
			t.Fatal(err)
		}
	}
	for id, used := range map[string]int64{"ends": 5, "refused": 0} {
		if err := l.Settle(t.Context(), ledger.Settlement{ID: id, Client: "c", Model: "m", Tokens: used,
			Limits: limits}); err != nil {
			t.Fatal(err)
		}
	}
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	all := redis.NewClient(options)
	defer all.Close()
	keys, err := all.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 7 {
		t.Fatalf("there are %q, %v", keys, err)
	}
	for _, key := range keys {
		left, err := all.PTTL(t.Context(), key).Result()
		if err != nil || left <= 0 || strings.HasSuffix(key, ":refused") && left > 10*time.Second {
			t.Errorf("%s has %v left, %v", key, left, err)
		}
	}
}
