package record

import (
	"bufio"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// files writes records to a folder. Without a folder it does nothing.
type files struct {
	folder string
	log    *slog.Logger
	// limit is how many bytes the files may have together, or 0 for no bound, and used is how many they have. maxFiles is
	// [MaxFiles], but in tests.
	limit, used int64
	maxFiles    int
	// ended are the files that nobody writes any more, the oldest first.
	ended []endedFile
	// err is the last error, or nil if the last attempt went well.
	err error
	// now is the clock. logged is when the last line about a failure was logged, and unlogged how many records could not
	// be written since then. failing reports whether it was not logged yet that a record was written again.
	now      func() time.Time
	logged   time.Time
	unlogged int
	failing  bool
}

// logInterval is the shortest time between two lines about records that cannot be written. On a full disk each request
// has one: its file can be made, and not written.
const logInterval = time.Minute

// endedFile is a file that may be removed.
type endedFile struct {
	name string
	size int64
}

var errFull = errors.New("the requests that are being recorded have filled the folder up to its limit")

// checkFolder makes a folder if there is none, and returns an error if no file can be made in it.
func checkFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".harmony-record-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// countEarlier counts the records that are in the folder already. Other files in it do not count, and stay.
func (s *files) countEarlier() error {
	if s.folder == "" || s.limit == 0 {
		return nil
	}
	all, err := os.ReadDir(s.folder) // in the order of the names, so of their times
	if err != nil {
		return err
	}
	for _, one := range all {
		info, err := one.Info()
		if err != nil || !info.Mode().IsRegular() || !isRecord(one.Name()) {
			continue // it was removed, or is no record
		}
		s.ended = append(s.ended, endedFile{one.Name(), info.Size()})
		s.used += info.Size()
	}
	return s.makeRoom(0)
}

// isRecord reports whether a file's name is one that create gives.
func isRecord(name string) bool {
	began, rest, _ := strings.Cut(name, "-")
	_, err := time.Parse(timeInName, began)
	id, ok := strings.CutSuffix(rest, ending)
	return err == nil && ok && id != ""
}

// makeRoom removes the oldest records until n more bytes fit.
func (s *files) makeRoom(n int64) error {
	for s.limit > 0 && (s.used+n > s.limit || len(s.ended) > s.maxFiles) {
		if len(s.ended) == 0 {
			return errFull
		}
		oldest := s.ended[0]
		s.ended = s.ended[1:]
		if err := os.Remove(filepath.Join(s.folder, oldest.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // it still takes its room
		}
		s.used -= oldest.size
	}
	return nil
}

// file is the file of a record.
type file struct {
	f    *os.File
	w    *bufio.Writer
	size int64
}

// The name of a record's file is the time at which its request began, and its id.
const (
	timeInName = "20060102T150405.000Z"
	ending     = ".jsonl"
)

// maxNamesakes is how many files of one id may begin in the same millisecond.
const maxNamesakes = 100

// create creates the file of a record. It returns nil if there is none.
func (s *files) create(began time.Time, id string) *file {
	if s.folder == "" {
		return nil
	}
	name := filepath.Join(s.folder, began.Format(timeInName)+"-"+id)
	for n := 1; ; n++ {
		f, err := os.OpenFile(name+suffix(n)+ending, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && n < maxNamesakes {
			continue
		}
		s.note(err)
		if err != nil {
			return nil
		}
		return &file{f: f, w: bufio.NewWriterSize(f, 16<<10)}
	}
}

func suffix(n int) string {
	if n == 1 {
		return ""
	}
	return "-" + strconv.Itoa(n)
}

func (s *files) write(e *entry, text []byte) {
	if e.file == nil {
		return
	}
	err := s.makeRoom(int64(len(text)))
	if err == nil {
		e.file.size += int64(len(text))
		s.used += int64(len(text))
		_, err = e.file.w.Write(text)
	}
	s.check(e, err)
}

func (s *files) flush(e *entry) {
	if e.file != nil {
		s.check(e, e.file.w.Flush())
	}
}

func (s *files) close(e *entry) {
	s.flush(e)
	if e.file == nil {
		return
	}
	err := e.file.f.Close()
	s.note(err)
	s.end(e)
	if err == nil {
		s.noteWritten()
	}
}

// end gives up the file of an entry, which is closed.
func (s *files) end(e *entry) {
	if s.limit > 0 {
		s.ended = append(s.ended, endedFile{filepath.Base(e.file.f.Name()), e.file.size})
	}
	e.file = nil
}

// check gives a file up that cannot be written.
func (s *files) check(e *entry, err error) {
	s.note(err)
	if err != nil {
		_ = errors.Join(e.file.w.Flush(), e.file.f.Close()) // the first error is what counts
		s.end(e)
	}
}

// note notes whether an attempt went well. A record has one error at most, after which it has no file.
func (s *files) note(err error) {
	if s.err = err; err == nil {
		return
	}
	s.unlogged++
	s.failing = true
	if !s.mayLog() {
		return
	}
	s.log.Error("cannot write records' files; records stay in memory only until it works again", "error", err, "records",
		s.unlogged)
	s.unlogged = 0
}

// noteWritten notes that a record was written to its end.
func (s *files) noteWritten() {
	if !s.failing || !s.mayLog() {
		return
	}
	s.log.Info("records' files are written again", "records_not_written", s.unlogged)
	s.unlogged, s.failing = 0, false
}

// mayLog reports whether a line may be logged now, and notes that it is.
func (s *files) mayLog() bool {
	now := s.now()
	if !s.logged.IsZero() && now.Sub(s.logged) < logInterval {
		return false
	}
	s.logged = now
	return true
}
