package vectors

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Place is where a vector is, as FILE:LINE.
type Place string

// Each calls check for every line of the files in folder whose names match pattern. It returns an error if no file
// matches or if all files together have fewer than least lines, so that a test cannot pass without input.
func Each[T any](folder, pattern string, minimum int, check func(at Place, v *T) error) error {
	names, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return err
	}
	total := 0
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		n, err := Read(f, func(line int, v *T) error { return check(Place(filepath.Base(name)+":"+strconv.Itoa(line)), v) })
		f.Close()
		total += n
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if total < minimum {
		return fmt.Errorf("%s: %d vectors in %d files, want at least %d", filepath.Join(folder, pattern), total, len(names),
			minimum)
	}
	return nil
}

// Read decodes the lines of r, counting from 1, until one fails. It returns how many lines it has read.
func Read[T any](r io.Reader, check func(line int, v *T) error) (int, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return n, fmt.Errorf("line %d: %w", n+1, err)
		}
		if err := check(n+1, &v); err != nil {
			return n, err
		}
	}
}
