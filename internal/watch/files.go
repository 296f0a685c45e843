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
	// rereadInterval is how often all files are read again. This finds changes without an event, as on NFS, or in a folder
	// that cannot be watched.
	rereadInterval = 5 * time.Second
	// quietPeriod is how long no event must come before the files are read, so that a half-written file does not count as
	// a change.
	quietPeriod = 15 * time.Millisecond
	// maxDelay is how long a stream of events may delay the reading.
	maxDelay = 100 * time.Millisecond
	// maxRead is the largest file whose content is compared, in bytes.
	maxRead = 16 << 20
)

// Files watches a set of files. Its methods may be called by several goroutines at once.
type Files struct {
	log     *slog.Logger
	events  *fsnotify.Watcher // nil if the system has no watcher left
	touched chan struct{}     // holds a value after an event about one of the files
	changed chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup

	// watchedPaths are the paths whose events matter. listen reads it without a lock: if listen waited for mu, fsnotify
	// would stop inside its own lock, and Add, which is called under mu, needs that lock.
	watchedPaths atomic.Pointer[map[string]bool]

	mu      sync.Mutex
	sums    map[string][sha256.Size]byte // by path
	folders map[string]bool              // the folders that the system watches for f
}

// New returns a [Files] without files. If log is nil, nothing is logged. The caller must call [Files.Close].
func New(log *slog.Logger) *Files {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Files{
		log: log, touched: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		sums: map[string][sha256.Size]byte{}, folders: map[string]bool{},
	}
	f.watchedPaths.Store(&map[string]bool{})
	events, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("the system does not report changed files; they are read again at an interval", "error", err, "interval",
			rereadInterval)
	} else {
		f.events = events
		f.running.Go(f.listen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.running.Go(func() { f.run(ctx) })
	return f
}

// Set replaces the set of files. A file need not exist: it counts as changed when it appears. A caller that reads a
// file after Set misses no later change. Files that were in the set before are not read again.
func (f *Files) Set(paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sums := make(map[string][sha256.Size]byte, len(paths))
	for _, p := range paths {
		sums[p] = f.sums[p]
	}
	before := f.sums
	f.sums = sums
	f.watchFolders()
	for p := range sums {
		if _, known := before[p]; !known {
			sums[p] = sum(p)
		}
	}
}

// Changed returns a channel that receives a value when the content of a file has changed since the last value. A file
// that appears, disappears or can no longer be read has changed too.
func (f *Files) Changed() <-chan struct{} { return f.changed }

// Close stops watching. After it, Changed receives no more values.
func (f *Files) Close() {
	f.cancel()
	if f.events != nil {
		_ = f.events.Close() // nothing can be done about an error
	}
	f.running.Wait()
}

// listen handles the system's events until the watcher is closed.
func (f *Files) listen() {
	events, errs := f.events.Events, f.events.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if (*f.watchedPaths.Load())[e.Name] {
				notify(f.touched)
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			} else {
				notify(f.touched) // events were lost
			}
		}
	}
}

func (f *Files) run(ctx context.Context) {
	reread := time.NewTicker(rereadInterval)
	defer reread.Stop()
	quiet := time.NewTimer(rereadInterval)
	quiet.Stop()
	var firstEvent time.Time // the first event since the files were last read
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.touched:
			if firstEvent.IsZero() {
				firstEvent = time.Now()
			}
			quiet.Reset(min(quietPeriod, time.Until(firstEvent.Add(maxDelay))))
		case <-quiet.C:
			firstEvent = time.Time{}
			f.check()
		case <-reread.C:
			f.check()
		}
	}
}

// notify sends a value to c unless c holds one already.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// check reads all files and sends a value to changed if the content of one has changed.
func (f *Files) check() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchFolders() // first, so that a change during the reading brings an event
	changed := false
	for p, old := range f.sums {
		if now := sum(p); now != old {
			f.sums[p] = now
			changed = true
		}
	}
	if changed {
		notify(f.changed)
	}
}

// watchFolders makes the system watch exactly the folders that decide what the files are.
func (f *Files) watchFolders() {
	paths, folders := map[string]bool{}, map[string]bool{}
	for p := range f.sums {
		for _, at := range symlinkChain(p) {
			paths[at.path()] = true
			paths[at.folder] = true // the folder itself may be removed
			folders[at.folder] = true
		}
	}
	f.watchedPaths.Store(&paths)
	if f.events == nil {
		return
	}
	for folder := range f.folders {
		if !folders[folder] {
			delete(f.folders, folder)
			_ = f.events.Remove(folder) // it may have been removed already
		}
	}
	for folder := range folders {
		// Add is called each time, because a folder may have been removed and made again. Add does nothing for a folder that
		// is watched already.
		err := f.events.Add(folder)
		if err != nil && !f.folders[folder] {
			f.log.Warn("a folder cannot be watched; its files are read again at an interval", "folder", folder, "error", err,
				"interval", rereadInterval)
		}
		f.folders[folder] = true
	}
}

// sum returns the hash of a file's content or, if it cannot be read, of the error's text.
func sum(path string) [sha256.Size]byte {
	data, err := Read(path, maxRead)
	if err != nil {
		data = []byte("\x00" + err.Error())
	}
	return sha256.Sum256(data)
}

// Read returns the content of a regular file of at most limit bytes. For anything else, such as a folder, a pipe or a
// larger file, it returns an error, which is an [io/fs.PathError]. It never blocks on a pipe.
func Read(path string, limit int64) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
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
