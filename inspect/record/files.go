package record

import (
	"bufio"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// files writes records to a folder. Without a folder it does nothing.
type files struct {
	folder string
	log    *slog.Logger
	// err is the last error, or nil if the last attempt went well. It is logged when it begins.
	err error
}

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

// file is the file of a record.
type file struct {
	f *os.File
	w *bufio.Writer
}

// maxNamesakes is how many files of one id may begin in the same millisecond.
const maxNamesakes = 100

// create creates the file of a record. It returns nil if there is none.
func (s *files) create(began time.Time, id string) *file {
	if s.folder == "" {
		return nil
	}
	name := filepath.Join(s.folder, began.Format("20060102T150405.000Z")+"-"+id)
	for n := 1; ; n++ {
		f, err := os.OpenFile(name+suffix(n)+".jsonl", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
	if e.file != nil {
		_, err := e.file.w.Write(text)
		s.check(e, err)
	}
}

func (s *files) flush(e *entry) {
	if e.file != nil {
		s.check(e, e.file.w.Flush())
	}
}

func (s *files) close(e *entry) {
	s.flush(e)
	if e.file != nil {
		s.note(e.file.f.Close())
		e.file = nil
	}
}

// check gives a file up that cannot be written.
func (s *files) check(e *entry, err error) {
	s.note(err)
	if err != nil {
		_ = e.file.f.Close() // the first error is what counts
		e.file = nil
	}
}

func (s *files) note(err error) {
	if err != nil && s.err == nil {
		s.log.Error("cannot write a record's file; records stay in memory only until it works again", "error", err)
	}
	s.err = err
}
