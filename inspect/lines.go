package inspect

import (
	"bufio"
	"errors"
	"io"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// MaxLine is the longest line that is read, in bytes. A longer line is answered with an error, and reading continues
// with the next one.
const MaxLine = 256 << 20

// Mode is what [Run] does with each line.
type Mode uint8

// The modes. docs/inspect.md describes their lines.
const (
	Tokenize Mode = iota + 1
	Render
	Parse
	// ParseTyped is [Parse] with typed content lists, unless a line names another mode.
	ParseTyped
)

// Tally counts the lines of a run.
type Tally struct {
	Lines int
	// Failed is the number of lines that were not valid input. Each of them is answered with an error.
	Failed int
}

// Run answers every line of in with one line on out, in order, each with one Write. It ends at the end of in, or at the
// first error of reading or writing.
func Run(in io.Reader, out io.Writer, mode Mode, t *tokenizer.Tokenizer) (Tally, error) {
	a := answerer{mode: mode, t: t, renderer: harmony.NewRenderer(t)}
	lines := lineReader{r: bufio.NewReaderSize(in, 64<<10), max: MaxLine}
	var tally Tally
	var answer []byte
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return tally, nil
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return tally, err
		}
		tally.Lines++
		var ok bool
		answer, ok = a.answer(answer[:0], line, err)
		if !ok {
			tally.Failed++
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return tally, err
		}
	}
}

// answerer makes the answer to one line.
type answerer struct {
	mode     Mode
	t        *tokenizer.Tokenizer
	renderer *harmony.Renderer
	ids      []uint32
}

// answer appends the answer to a line, or to the error with which it was read. It reports whether the line was valid
// input.
func (a *answerer) answer(dst []byte, line []byte, readError error) ([]byte, bool) {
	q := readRequest(line, readError)
	dst = append(dst, '{')
	if q.id != nil {
		dst = append(append(append(dst, `"id":`...), q.id...), ',')
	}
	start := len(dst)
	if q.err == nil {
		switch a.mode {
		case Tokenize:
			dst = a.tokenize(dst, q)
		case Render:
			dst = a.render(dst, q)
		case Parse, ParseTyped:
			dst = a.parse(dst, q)
		}
	}
	if q.err != nil {
		dst = appendError(append(dst[:start], `"error":`...), "InputError", q.err.Error())
	}
	return append(dst, '}'), q.err == nil
}

// appendError appends an error in the form that all modes share.
func appendError(dst []byte, class, message string) []byte {
	dst = rawjson.AppendString(append(dst, `{"class":`...), class)
	dst = rawjson.AppendString(append(dst, `,"message":`...), message)
	return append(dst, '}')
}

func appendIDs(dst []byte, ids []uint32) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendInt(dst, int64(id))
	}
	return append(dst, ']')
}

var errLongLine = errors.New("the line is longer than 256 MiB; split it")

// lineReader reads lines of up to max bytes.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// next returns a line without its line end; it is valid until the next call. After errLongLine, reading can continue.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if !long {
			l.buf = append(l.buf, piece...)
		}
		if len(l.buf) > l.max {
			long = true
			l.buf = l.buf[:0]
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(l.buf) > 0 || long), err == nil:
			if long {
				return nil, errLongLine
			}
			if n := len(l.buf); l.buf[n-1] == '\n' {
				l.buf = l.buf[:n-1]
			}
			return l.buf, nil
		default:
			return nil, err
		}
	}
}
