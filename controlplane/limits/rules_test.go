package limits

import (
	"reflect"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/clients"
	"github.com/harmonyedge/harmonyedge/controlplane/limits/ledger"
)

func TestKeysFile(t *testing.T) {
	parse := func(text string) *clients.File {
		f, err := clients.Parse("keys.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	k := NewKeysFile(parse(`
defaults: {requests_per_minute: 60, context: 9000}
clients:
  - name: acme
    limits: {tokens_per_minute: 1000, tokens_per_day: 9000, requests_per_day: 70, concurrency: 4}
    models: [{name: ` + model + `, concurrency: 2, requests_per_minute: 5}]
  - name: free
    limits: {}
`))
	for _, c := range []struct {
		client, model string
		want          []ledger.Limit
	}{
		{"acme", model, []ledger.Limit{
			{Resource: ledger.Requests, Max: 70, Window: ledger.Day},
			{Resource: ledger.Tokens, Max: 1000, Window: ledger.Minute}, {Resource: ledger.Tokens, Max: 9000, Window: ledger.Day},
			{Resource: ledger.Concurrency, Max: 4},
			{Resource: ledger.Requests, Max: 5, Window: ledger.Minute, Model: model},
			{Resource: ledger.Concurrency, Max: 2, Model: model}}},
		{"unknown", model, []ledger.Limit{{Resource: ledger.Requests, Max: 60, Window: ledger.Minute}}},
		{"free", model, nil},
	} {
		if got := k.Limits(c.client, c.model); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %s:\n got %+v\nwant %+v", c.client, c.model, got, c.want)
		}
	}
	k.Replace(parse(`clients: [{name: acme}]`))
	if got := k.Limits("acme", model); got != nil {
		t.Errorf("got %+v", got)
	}
}
