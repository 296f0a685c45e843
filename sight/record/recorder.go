package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// The defaults of [Options], and the limits that no option changes.
const (
	DefaultKeep      = 100
	DefaultKeepBytes = 64 << 20
	// MaxRunning is how many requests are recorded at once. Others are not recorded.
	MaxRunning = 1024
	// MaxRecord is the size of the lines of one record, in bytes. Lines beyond it are counted, and only the end is kept.
	MaxRecord = 32 << 20
	// MinFolderLimit is the least [Options.FolderLimit], in bytes: two of the largest records.
	MinFolderLimit = 2 * MaxRecord
	// MaxFiles is how many records a folder with a bound has at most.
	MaxFiles = 100_000
	// DefaultFolderLimit is what programs give [Options.FolderLimit] unless they are told otherwise, in bytes.
	DefaultFolderLimit = 10 << 30
	// MaxBody is how much of a request's body is kept, in bytes.
	MaxBody = 16 << 20
	// MaxSilence is how long a request may send no frame before its record ends.
	MaxSilence = 30 * time.Minute
)

// Options configure a [Recorder].
type Options struct {
	// Tokenizer returns what tells what token ids stand for. It is called when ids are first read, because a vocabulary
	// takes a while to build, and many recorders never read an id.
	Tokenizer func() *tokenizer.Tokenizer
	// Folder gets a file for each request. It is made if there is none. Empty: no files.
	Folder string
	// FolderLimit is how many bytes the records in Folder may have together, also records of earlier runs. There may be
	// [MaxFiles] then. The oldest are removed. 0 means no bound. Less than [MinFolderLimit] is an error.
	FolderLimit int64
	// Keep is how many ended records stay in memory, and KeepBytes how much memory all records may take together, in
	// bytes. 0 means the defaults. The oldest go first.
	Keep, KeepBytes int
	// Log gets errors. No text of a request is in them. Nil: they are dropped.
	Log *slog.Logger
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Recorder makes records of frames. It is safe for concurrent use.
type Recorder struct {
	options Options
	mu      sync.Mutex
	// running are the records of requests that have not ended, by VM and stream.
	running map[source]*entry
	byID    map[string]*entry
	// entries are all records in memory, the oldest first.
	entries []*entry
	// used is the memory of all records, in bytes. maxRecord is [MaxRecord], but in tests.
	used        int
	maxRecord   int
	subscribers map[*subscriber]bool
	// event is the memory of the readers. All share it: it may become large, and a reader needs it only for a moment.
	event  backend.Event
	files  files
	caches caches
	closed bool
}

// maxTime is the latest time that JSON can have, in microseconds since 1970: the end of the year 9999.
const maxTime = 253402300799_000_000

// source is the request that a frame is about.
type source struct {
	vm     string
	stream uint32
}

// New returns a Recorder.
func New(o Options) (*Recorder, error) {
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.KeepBytes = cmp.Or(o.KeepBytes, DefaultKeepBytes)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FolderLimit != 0 && o.FolderLimit < MinFolderLimit {
		return nil, fmt.Errorf("the records may have %d bytes together; they need %d MiB at least, or 0 for no bound",
			o.FolderLimit, MinFolderLimit>>20)
	}
	f := files{folder: o.Folder, limit: o.FolderLimit, maxFiles: MaxFiles, log: o.Log, now: o.Now}
	if o.Folder != "" {
		if err := errors.Join(checkFolder(o.Folder), f.countEarlier()); err != nil {
			return nil, fmt.Errorf("the folder of records: %w", err)
		}
	}
	return &Recorder{
		options: o, running: map[source]*entry{}, byID: map[string]*entry{}, subscribers: map[*subscriber]bool{},
		files: f, maxRecord: MaxRecord,
	}, nil
}

// Summaries returns the records in memory, the newest first.
func (r *Recorder) Summaries() []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	out := make([]Summary, 0, len(r.entries))
	for _, e := range slices.Backward(r.entries) {
		out = append(out, e.summary.clone())
	}
	return out
}

// Running returns the records of requests that have not ended, the newest first, at most so many.
func (r *Recorder) Running(most int) []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Summary{}
	for i := len(r.entries) - 1; i >= 0 && len(out) < min(most, len(r.running)); i-- {
		if e := r.entries[i]; e.summary.Running {
			out = append(out, e.summary.clone())
		}
	}
	return out
}

// Lines returns the lines of a record so far, each with a line end. They must not be changed. It reports whether the
// record is in memory.
func (r *Recorder) Lines(id string) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID[id]
	if e == nil {
		return nil, false
	}
	return slices.Clip(e.lines), true // their bytes never change
}

// Close ends the records that run, closes their files and ends all channels. Frames that come later are dropped.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.runningInOrder() {
		r.end(e, "the recorder was closed")
	}
	r.closed = true
	for s := range r.subscribers {
		s.close()
	}
	return r.files.err
}

// runningInOrder returns the records of requests that have not ended, the oldest first.
func (r *Recorder) runningInOrder() []*entry {
	var out []*entry
	for _, e := range r.entries {
		if e.summary.Running {
			out = append(out, e)
		}
	}
	return out
}

// take takes the frames of one VM. It returns [tap.ErrBroken] if not all bytes are whole frames; the frames before are
// taken.
func (r *Recorder) take(vm string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.sweep()
	touched := map[*entry]bool{}
	var err error
	for len(body) > 0 && err == nil {
		var f tap.Frame
		if f, body, err = tap.Read(body); err == nil {
			if e := r.takeFrame(source{vm, f.Stream}, f); e != nil {
				touched[e] = true
			}
		}
	}
	for e := range touched {
		if e.stream != nil {
			e.stream.pause()
		}
		r.files.flush(e)
	}
	return err
}

// takeFrame takes one frame, and returns the record that it is about. Of requests whose beginning was not seen the end
// alone is kept: the filter has more room for ends than for the rest.
func (r *Recorder) takeFrame(from source, f tap.Frame) *entry {
	f.At = min(max(f.At, 0), maxTime)
	e := r.running[from]
	if f.Kind == tap.Request {
		if e != nil {
			r.end(e, "its number was given to another request")
		}
		e = r.begin(from, f)
	}
	if e == nil && f.Kind == tap.End {
		if e = r.begin(from, f); e != nil {
			e.summary.Broken = "its beginning was lost"
		}
	}
	if e == nil {
		return nil
	}
	e.seen = r.options.Now()
	e.stream.take(f)
	if f.Kind == tap.End {
		r.end(e, "")
	}
	return e
}

// begin begins a record. It returns nil if there are too many.
func (r *Recorder) begin(from source, f tap.Frame) *entry {
	if len(r.running) >= MaxRunning {
		return nil
	}
	var head tap.RequestHead
	readJSON(f.Payload, &head)
	head.Path = limited(head.Path, maxPath)
	began := time.UnixMicro(f.At).UTC()
	e := &entry{
		recorder: r, id: r.freeID(head.RequestID, from), from: from, seen: r.options.Now(), changed: make(chan struct{}),
	}
	e.summary = Summary{ID: e.id, Time: began, Path: short(head.Path), FirstTokenMS: -1, Running: true}
	e.stream = newStream(e, head, f.At)
	e.file = r.files.create(began, e.id)
	r.running[from] = e
	r.byID[e.id] = e
	r.entries = append(r.entries, e)
	r.publish(Event{Kind: Began, ID: e.id, Summary: e.summary.clone()})
	return e
}

// freeID returns the request's id if it can be a file's name and no record in memory has it, and else one of the
// frame's.
func (r *Recorder) freeID(wanted string, from source) string {
	if IsID(wanted) && r.byID[wanted] == nil {
		return wanted
	}
	made := from.vm + "-" + strconv.FormatUint(uint64(from.stream), 10)
	id := made
	for n := 2; r.byID[id] != nil; n++ {
		id = made + "-" + strconv.Itoa(n)
	}
	return id
}

// IsID reports whether a request id can be the id of a record: 1 to 64 letters, digits and marks that no file system
// minds.
func IsID(text string) bool {
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// end ends a record. broken says why it ends before its request, if it does.
func (r *Recorder) end(e *entry, broken string) {
	if !e.summary.Running {
		return
	}
	e.stream.finish(broken)
	e.stream = nil
	e.summary.Running = false
	delete(r.running, e.from)
	r.files.close(e)
	e.signal()
	r.publish(Event{Kind: Ended, ID: e.id, Summary: e.summary.clone()})
	ended := len(r.entries) - len(r.running)
	for ended > r.options.Keep && r.forgetOldest() {
		ended--
	}
}

// room makes room for size further bytes of records, at the cost of the oldest ones that have ended. It reports whether
// there is room.
func (r *Recorder) room(size int) bool {
	for r.used+size > r.options.KeepBytes {
		if !r.forgetOldest() {
			return false
		}
	}
	return true
}

// forgetOldest drops the oldest record that has ended, if there is one.
func (r *Recorder) forgetOldest() bool {
	for i, e := range r.entries {
		if !e.summary.Running {
			r.entries = slices.Delete(r.entries, i, i+1)
			delete(r.byID, e.id)
			r.used -= e.used
			e.used = 0
			return true
		}
	}
	return false
}

// sweep ends the records of requests that have been silent for too long: their Envoy may be gone.
func (r *Recorder) sweep() {
	now := r.options.Now()
	for _, e := range r.running {
		if now.Sub(e.seen) > MaxSilence {
			r.end(e, "no frame has come for "+MaxSilence.String())
		}
	}
}

// Follow returns a channel with the lines of a record from the beginning, without line ends. It is closed at the end of
// the record, when ctx ends, and at once if the record is not in memory.
func (r *Recorder) Follow(ctx context.Context, id string) <-chan []byte {
	out := make(chan []byte)
	r.mu.Lock()
	e := r.byID[id]
	r.mu.Unlock()
	if e == nil {
		close(out)
		return out
	}
	go func() {
		defer close(out)
		e.follow(ctx, out)
	}()
	return out
}
