package sse

import "bytes"

// MaxEvent is the largest event accepted, in bytes of its lines. Servers' events are a few hundred bytes long; the
// limit only keeps a broken one from filling the memory.
const MaxEvent = 4 << 20

// Decoder is an automaton over bytes. Write takes what came, Next hands out what is whole; any split of the same
// bytes gives the same events. The zero Decoder is ready. Line ends are LF, CR LF or CR, as the standard has them.
type Decoder struct {
	// buf holds the bytes that no event has taken yet; line is where the line now read begins, seen how far it was
	// searched for its end.
	buf        []byte
	line, seen int
	// data is the event's data lines so far, joined by LF.
	data    []byte
	hasData bool
	// afterCR remembers that the last line ended with CR, so that an LF right behind it is no line of its own.
	afterCR bool
	broken  bool
}

// Write adds bytes as they came from the network. They are copied.
func (d *Decoder) Write(p []byte) {
	if d.line > 0 {
		n := copy(d.buf, d.buf[d.line:])
		d.buf = d.buf[:n]
		d.seen -= d.line
		d.line = 0
	}
	if len(d.buf)+len(d.data)+len(p) > MaxEvent {
		d.broken = true
		return
	}
	d.buf = append(d.buf, p...)
}

// Broken reports that an event was larger than MaxEvent; nothing more will come out.
func (d *Decoder) Broken() bool { return d.broken }

// Next returns the data of the next whole event; events without data are skipped, as are comments and other fields.
// The bytes are valid until the next call of Next or Write.
func (d *Decoder) Next() ([]byte, bool) {
	if d.broken {
		return nil, false
	}
	for {
		line, ok := d.nextLine()
		if !ok {
			return nil, false
		}
		if len(line) == 0 {
			if d.hasData {
				d.hasData = false
				data := d.data
				d.data = d.data[:0]
				return data, true
			}
			continue
		}
		d.field(line)
	}
}

func (d *Decoder) nextLine() ([]byte, bool) {
	if d.afterCR && d.line < len(d.buf) {
		if d.buf[d.line] == '\n' {
			d.line++
		}
		d.afterCR = false
	}
	d.seen = max(d.seen, d.line)
	at := bytes.IndexByte(d.buf[d.seen:], '\n')
	end := len(d.buf)
	if at >= 0 {
		end = d.seen + at
	}
	// A CR ends a line by itself; servers hardly ever send one, so it is looked for only before the LF.
	if cr := bytes.IndexByte(d.buf[d.seen:end], '\r'); cr >= 0 {
		end = d.seen + cr
		d.afterCR = true
	} else if at < 0 {
		d.seen = len(d.buf)
		return nil, false
	}
	line := d.buf[d.line:end]
	d.line = end + 1
	d.seen = d.line
	return line, true
}

func (d *Decoder) field(line []byte) {
	const name = "data"
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return
	}
	value := line[len(name):]
	if len(value) > 0 {
		if value[0] != ':' {
			return
		}
		value = value[1:]
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if d.hasData {
		d.data = append(d.data, '\n')
	}
	d.hasData = true
	d.data = append(d.data, value...)
}
