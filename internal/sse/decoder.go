package sse

// MaxEvent is the largest event accepted, in bytes: its data so far and the line that is being read. Servers' events
// are a few hundred bytes long; the limit only keeps a broken server from filling the memory. It bounds an event, not a
// write: how many events come at once does not matter.
const MaxEvent = 4 << 20

// maxKeptBuffer is the largest buffer kept from one event to the next, in bytes.
const maxKeptBuffer = 64 << 10

// Decoder is an automaton over bytes. [Decoder.Write] takes bytes from the network, [Decoder.Next] returns the events
// that are whole. Any split of the same bytes gives the same events. The zero Decoder is ready. Line ends are LF, CR LF
// or CR, as the standard has them.
type Decoder struct {
	// Lines reports whether each line that is not empty is the data of an event, as in NDJSON. It is set before the first
	// Write.
	Lines bool
	// rest is the part of the last write that is not read yet. It is the caller's memory.
	rest []byte
	// line is the beginning of a line whose end has not been written yet.
	line []byte
	// data is the event's data lines so far, joined by LF.
	data    []byte
	hasData bool
	// afterCR reports whether the last line ended with CR, so that an LF right after it does not begin another line.
	afterCR bool
	broken  bool
}

// Write adds bytes from the network. The decoder reads p itself until Next reports false; only an unfinished event is
// copied. So p must stay unchanged until then.
func (d *Decoder) Write(p []byte) {
	switch {
	case d.broken:
	case len(d.rest) == 0:
		d.rest = p
	default:
		joined := make([]byte, 0, len(d.rest)+len(p))
		d.rest = append(append(joined, d.rest...), p...)
	}
}

// Broken reports whether Next has met an event larger than [MaxEvent]. No events follow it.
func (d *Decoder) Broken() bool { return d.broken }

// Between reports whether the decoder is between two events: everything written is read, and the next byte begins a line
// of a new event.
func (d *Decoder) Between() bool {
	return len(d.rest) == 0 && len(d.line) == 0 && !d.hasData && !d.afterCR && !d.broken
}

// Next returns the data of the next whole event. Events without data are skipped, as are comments and other fields.
// The data is valid until the next call of Next or Write.
func (d *Decoder) Next() ([]byte, bool) {
	for {
		line, ok := d.nextLine()
		if !ok {
			return nil, false
		}
		switch {
		case len(line) > 0 && d.Lines:
			return line, true
		case len(line) > 0:
			d.field(line)
		case d.hasData:
			d.hasData = false
			return d.data, true
		}
	}
}

// nextLine returns the next whole line without its end. The line is valid until the next call.
func (d *Decoder) nextLine() ([]byte, bool) {
	if !d.hasData {
		d.data = emptied(d.data) // Next has handed out what it held
	}
	if d.afterCR && len(d.rest) > 0 {
		if d.rest[0] == '\n' {
			d.rest = d.rest[1:]
		}
		d.afterCR = false
	}
	size := LineSize(d.rest)
	if len(d.data)+len(d.line)+size > MaxEvent {
		*d = Decoder{broken: true}
		return nil, false
	}
	line := d.rest[:size]
	if size == len(d.rest) {
		d.line = append(d.line, line...)
		d.rest = nil
		return nil, false
	}
	d.afterCR = d.rest[size] == '\r'
	d.rest = d.rest[size+1:]
	if len(d.line) > 0 {
		line = append(d.line, line...)
		d.line = emptied(line)
	}
	return line, true
}

// emptied returns b emptied for reuse, or nil if it is too large to keep.
func emptied(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}

func (d *Decoder) field(line []byte) {
	// Byte by byte: to compare with a string, TinyGo allocates one, which would be garbage for each event.
	if len(line) < 4 || line[0] != 'd' || line[1] != 'a' || line[2] != 't' || line[3] != 'a' {
		return
	}
	value := line[4:]
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
