package sse

// Decoder is an automaton over bytes. [Decoder.Write] takes bytes from the network, [Decoder.Next] returns the events
// that are whole. Any split of the same bytes gives the same events. The zero Decoder is ready. Line ends are LF, CR LF
// or CR, as the standard has them.
type Decoder struct {
	lines Lines
	// data is the event's data lines so far, joined by LF.
	data    []byte
	hasData bool
}

// Write adds bytes from the network. The decoder reads p itself until Next reports false; only an unfinished event is
// copied. So p must stay unchanged until then.
func (d *Decoder) Write(p []byte) { d.lines.Write(p) }

// Broken reports whether Next has met an event larger than [MaxEvent]. No events follow it.
func (d *Decoder) Broken() bool { return d.lines.broken }

// Between reports whether the decoder is between two events: everything written is read, and the next byte begins a line
// of a new event.
func (d *Decoder) Between() bool { return !d.hasData && d.lines.between() }

// Next returns the data of the next whole event. Events without data are skipped, as are comments and other fields.
// The data is valid until the next call of Next or Write.
func (d *Decoder) Next() ([]byte, bool) {
	for {
		if !d.hasData {
			d.data = emptied(d.data) // Next has handed out what it held
		}
		line, ok := d.lines.next(len(d.data))
		if !ok {
			if d.lines.broken {
				d.data = nil
			}
			return nil, false
		}
		if len(line) > 0 {
			d.field(line)
			continue
		}
		if d.hasData {
			d.hasData = false
			return d.data, true
		}
	}
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
