package limits

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// KeysFile has the [Rules] of a keys file. It is read again whenever it changes; while it has an error, the last good
// one stays in force. Used tokens stay used, as much of each limit as before.
type KeysFile struct {
	file    atomic.Pointer[clients.File]
	watched *watch.Files
	ended   chan struct{}
	running sync.WaitGroup
}

// OpenKeysFile reads a keys file. The caller must call [KeysFile.Close].
func OpenKeysFile(path string, log *slog.Logger) (*KeysFile, error) {
	k := &KeysFile{watched: watch.New(log), ended: make(chan struct{})}
	k.watched.Set([]string{path})
	f, err := clients.Load(path)
	if err != nil {
		k.watched.Close()
		return nil, err
	}
	k.file.Store(f)
	k.running.Go(func() { k.follow(path, log) })
	return k, nil
}

func (k *KeysFile) follow(path string, log *slog.Logger) {
	for {
		select {
		case <-k.ended:
			return
		case <-k.watched.Changed():
			f, err := clients.Load(path)
			if err != nil {
				log.Error("the keys file has an error; the last good one stays in force", "error", err)
				continue
			}
			k.file.Store(f)
			log.Info("the keys file was read again", "clients", len(f.Clients))
		}
	}
}

// Close stops watching the file.
func (k *KeysFile) Close() {
	close(k.ended)
	k.running.Wait()
	k.watched.Close()
}

// Limits implements [Rules].
func (k *KeysFile) Limits(client, model string) []ledger.Limit {
	all, ofModel := k.file.Load().Limits(client, model)
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
