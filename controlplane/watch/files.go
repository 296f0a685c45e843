package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// rereadInterval is for file systems that tell nothing, such as NFS, and for what no folder on the way tells.
	rereadInterval = 5 * time.Second
	// A file is looked at when nothing has happened to it for settle, so that half of what is being written is no change;
	// but at the latest after patience.
	settle   = 15 * time.Millisecond
	patience = 100 * time.Millisecond
	// maxRead is how large a file may be whose changes are told.
	maxRead = 16 << 20
)

// Files watches a set of files. All methods may be called at the same time.
type Files struct {
	log     *slog.Logger
	events  *fsnotify.Watcher // nil where the system has none left
	stirred chan struct{}     // something happened to one of the files
	changed chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	// places is what an event must be about, to be about one of the files. No lock is in the way of who reads it: events
	// that nobody takes would stop the system's watcher inside its own lock, which Add needs.
	places atomic.Pointer[map[string]bool]

	mu      sync.Mutex
	sums    map[string][sha256.Size]byte // by path
	folders map[string]bool              // those that the system watches for us
}

// New watches no files yet. A nil log discards.
func New(log *slog.Logger) *Files {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Files{
		log: log, stirred: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		sums: map[string][sha256.Size]byte{}, folders: map[string]bool{},
	}
	f.places.Store(&map[string]bool{})
	events, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("the system tells of no changed files; they are read again now and then", "error", err, "interval", rereadInterval)
	} else {
		f.events = events
		f.running.Go(f.listen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.running.Go(func() { f.run(ctx) })
	return f
}

// Set replaces the set of files. A file need not exist: its coming is a change. What a caller reads after Set is watched:
// no change between the two is lost. For files that were in the set before nothing begins anew.
func (f *Files) Set(paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sums := make(map[string][sha256.Size]byte, len(paths))
	for _, p := range paths {
		sums[p] = f.sums[p]
	}
	before := f.sums
	f.sums = sums
	f.follow()
	for p := range sums {
		if _, known := before[p]; !known {
			sums[p] = sum(p)
		}
	}
}

// Changed has a token when a file's content is another than it was when Changed last had one. A file that comes, goes or
// can no longer be read has changed.
func (f *Files) Changed() <-chan struct{} { return f.changed }

// Close ends the watching. Changed tells nothing more.
func (f *Files) Close() {
	f.cancel()
	if f.events != nil {
		_ = f.events.Close() // nothing to be done about it
	}
	f.running.Wait()
}

// listen takes the system's events, until there are no more.
func (f *Files) listen() {
	events, errs := f.events.Events, f.events.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if (*f.places.Load())[e.Name] {
				tell(f.stirred)
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			} else {
				tell(f.stirred) // events were lost
			}
		}
	}
}

func (f *Files) run(ctx context.Context) {
	reread := time.NewTicker(rereadInterval)
	defer reread.Stop()
	settled := time.NewTimer(rereadInterval)
	settled.Stop()
	var since time.Time // when the first thing happened that was not looked at
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.stirred:
			if since.IsZero() {
				since = time.Now()
			}
			settled.Reset(min(settle, time.Until(since.Add(patience))))
		case <-settled.C:
			since = time.Time{}
			f.look()
		case <-reread.C:
			f.look()
		}
	}
}

// tell leaves a token. One that lies there already tells of this too.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// look compares all files with what they were, and tells if one is another.
func (f *Files) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow() // first: what changes behind it brings an event
	changed := false
	for p, old := range f.sums {
		if now := sum(p); now != old {
			f.sums[p] = now
			changed = true
		}
	}
	if changed {
		tell(f.changed)
	}
}

// follow has the system watch the folders that decide what the files are, and no others.
func (f *Files) follow() {
	places, folders := map[string]bool{}, map[string]bool{}
	for p := range f.sums {
		for _, at := range trail(p) {
			places[at.path()] = true
			places[at.folder] = true // it may itself go
			folders[at.folder] = true
		}
	}
	f.places.Store(&places)
	if f.events == nil {
		return
	}
	for folder := range f.folders {
		if !folders[folder] {
			delete(f.folders, folder)
			_ = f.events.Remove(folder) // it may be gone already
		}
	}
	for folder := range folders {
		// Each time: a folder that was removed and made anew is another one, which Add knows.
		err := f.events.Add(folder)
		if err != nil && !f.folders[folder] {
			f.log.Warn("a folder cannot be watched; its files are read again now and then", "folder", folder, "error", err, "interval", rereadInterval)
		}
		f.folders[folder] = true
	}
}

// sum is the hash of a file's content, or of why there is none.
func sum(path string) [sha256.Size]byte {
	data, err := Read(path, maxRead)
	if err != nil {
		data = []byte("\x00" + err.Error())
	}
	return sha256.Sum256(data)
}

// Read is the content of a file that is no larger than limit. It waits for no pipe.
func Read(path string, limit int64) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("no regular file")}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", limit)}
	}
	return data, nil
}
