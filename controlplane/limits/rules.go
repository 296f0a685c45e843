package limits

import (
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/clients"
	"github.com/harmonyedge/harmonyedge/controlplane/limits/ledger"
)

// KeysFile has the [Rules] of a keys file, which may be replaced while requests are counted.
type KeysFile struct{ file atomic.Pointer[clients.File] }

// NewKeysFile returns the rules of a file.
func NewKeysFile(f *clients.File) *KeysFile {
	k := &KeysFile{}
	k.Replace(f)
	return k
}

// Replace puts another file in force. What has been used stays used: as much of each limit as before.
func (k *KeysFile) Replace(f *clients.File) { k.file.Store(f) }

// Limits implements [Rules].
func (k *KeysFile) Limits(client, model string) []ledger.Limit {
	all, ofModel := k.file.Load().Limits(client, model)
	return appendLimits(appendLimits(nil, "", &all), model, &ofModel)
}

// appendLimits appends those of the limits that a ledger counts.
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
