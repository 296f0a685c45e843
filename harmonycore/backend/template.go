package backend

import (
	"bytes"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// template is the fast way of an event: the bytes of the last event that was parsed, with gaps where events of one
// stream differ. An event with the same bytes around valid values of the same kind is read without parsing JSON. It
// means the same, since only values differ whose meaning is known. Every other event is parsed (RATIONALE.md#100).
//
// The zero template fits no event.
type template struct {
	// frame is the event as it comes over the network: its data between what the stream puts around each event.
	frame []byte
	gaps  [maxGaps]gap
	count int
	// index is the index of the event's choice, if no gap has it.
	index int
	// unused counts the templates in a row that fitted no event.
	unused int
}

const (
	maxGaps = 4
	// maxTemplate is the largest event of which a template is made, in bytes. Each stream keeps one.
	maxTemplate = 4 << 10
	// maxUnused is the number of templates in a row that may fit no event. Then the stream makes no more of them.
	maxUnused = 8
	// maxGapDigits is the longest number that the fast way reads. It fits into every integer type.
	maxGapDigits = 9
)

// A gap is a place in the frame with a value that differs.
type gap struct {
	from, to int
	use      gapUse
}

// gapUse is what a value in a gap means.
type gapUse uint8

const (
	// gapIDs is an array of token ids, for [Event.Tokens].
	gapIDs gapUse = iota
	// gapText is a string, for [Event.Text].
	gapText
	// gapIgnored is a string without a meaning.
	gapIgnored
	// gapIndex is a number, for [Event.Index].
	gapIndex
)

// opens returns the first byte of a value for the gap. For a number it reports whether c is a digit.
func (u gapUse) opens(c byte) bool {
	switch u {
	case gapIDs:
		return c == '['
	case gapIndex:
		return isDigit(c)
	default:
		return c == '"'
	}
}

// A variable is a member of an event whose value may differ between the events of a stream.
type variable struct {
	// parent is the member of the event that is or lists the object with the member. It is empty for the event itself.
	parent, name string
	use          gapUse
}

// read reads the event at the beginning of b if the template fits it. It returns the event's size, or 0.
func (t *template) read(b []byte, e *Event) int {
	if t.count == 0 || len(b) == 0 {
		return 0
	}
	e.reset()
	e.Index = t.index
	at, from := 0, 0
	for i := range t.count {
		g := &t.gaps[i]
		if at = after(b, at, t.frame[from:g.from]); at < 0 {
			return 0
		}
		if at = g.read(b, at, e); at < 0 {
			return 0
		}
		from = g.to
	}
	if at = after(b, at, t.frame[from:]); at < 0 || at > sse.MaxEvent {
		return 0
	}
	t.unused = 0
	return at
}

// after returns the position after want, which must stand in b at this position. It returns -1 if it does not.
func after(b []byte, at int, want []byte) int {
	n := len(want)
	if len(b)-at < n {
		return -1
	}
	if n < 8 {
		for i := range n {
			if b[at+i] != want[i] {
				return -1
			}
		}
		return at + n
	}
	// Eight bytes at once. All lie before n, so there is nothing to check for each. The last eight overlap others.
	have, wanted := unsafe.Pointer(&b[at]), unsafe.Pointer(unsafe.SliceData(want))
	for i := 0; i < n-8; i += 8 {
		if *(*uint64)(unsafe.Add(have, i)) != *(*uint64)(unsafe.Add(wanted, i)) {
			return -1
		}
	}
	if *(*uint64)(unsafe.Add(have, n-8)) != *(*uint64)(unsafe.Add(wanted, n-8)) {
		return -1
	}
	return at + n
}

// read reads the value at this position into e. It returns the position after the value, or -1 if no value of the gap's
// kind stands there.
func (g *gap) read(b []byte, at int, e *Event) int {
	switch g.use {
	case gapIDs:
		return readGapIDs(b, at, e)
	case gapIndex:
		n, end := readDigits(b, at)
		e.Index = n
		return end
	default:
		end := rawjson.SkipString(b, at)
		if end >= 0 && g.use == gapText {
			e.Text = rawjson.AppendUnescaped(e.Text, b[at+1:end-1])
		}
		return end
	}
}

// readGapIDs reads an array of ids without white space.
func readGapIDs(b []byte, at int, e *Event) int {
	if at >= len(b) || b[at] != '[' {
		return -1
	}
	if at++; at < len(b) && b[at] == ']' {
		return at + 1
	}
	for {
		id, end := readDigits(b, at)
		if end < 0 || end >= len(b) {
			return -1
		}
		e.Tokens = append(e.Tokens, uint32(id))
		switch b[end] {
		case ',':
			at = end + 1
		case ']':
			return end + 1
		default:
			return -1
		}
	}
}

// readDigits reads a number of up to [maxGapDigits] digits, and returns the position after it, or -1.
func readDigits(b []byte, at int) (n, end int) {
	end = at
	for end < len(b) && isDigit(b[end]) && end-at <= maxGapDigits {
		n = n*10 + int(b[end]-'0')
		end++
	}
	if size := end - at; size == 0 || size > maxGapDigits || size > 1 && b[at] == '0' {
		return 0, -1
	}
	return n, end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// learn makes the template from the data of an event that was parsed, what the stream puts around it, and what it meant.
// An event of a kind that comes once in a stream makes none. Neither does one whose data came in several lines: the
// frame has one.
func (t *template) learn(prefix string, data []byte, suffix string, e *Event, variables []variable) {
	t.count = 0
	if len(variables) == 0 || len(data) > maxTemplate || t.unused >= maxUnused || e.Error != nil || e.Done ||
		e.HasUsage || e.Finish != Running || len(e.Logprobs) > 0 || bytes.IndexByte(data, '\n') >= 0 {
		return
	}
	t.frame = append(append(append(t.frame[:0], prefix...), data...), suffix...)
	t.index = e.Index
	finder := gapFinder{frame: t.frame[:len(prefix)+len(data)], variables: variables}
	finder.object(len(prefix), "")
	if finder.unclear || !finder.generates {
		return
	}
	t.unused++
	t.gaps, t.count = finder.gaps, finder.count
}

// gapFinder finds the values of variables in an event. The event is valid JSON.
type gapFinder struct {
	frame     []byte
	variables []variable
	gaps      [maxGaps]gap
	count     int
	// seen has two bits for each variable: whether the member has come, and whether its parent has.
	seen uint
	// generates reports whether a gap has what was generated. unclear reports whether the event has something that no
	// server writes and that a template cannot say.
	generates, unclear bool
}

// object goes through the members of the object at this position. parent is the name of the member that has it.
func (f *gapFinder) object(at int, parent string) {
	at = rawjson.Space(f.frame, at)
	if f.byte(at) != '{' {
		return
	}
	for f.byte(at) == '{' || f.byte(at) == ',' {
		at = rawjson.Space(f.frame, at+1)
		end := rawjson.Skip(f.frame, at)
		if f.byte(at) != '"' || end-at < 2 || end > len(f.frame) {
			return // an empty object
		}
		key := rawjson.View(f.frame[at+1 : end-1])
		for i := range len(key) {
			f.unclear = f.unclear || key[i] == '\\' || key[i] < ' '
		}
		at = rawjson.Space(f.frame, rawjson.Space(f.frame, end)+1) // behind the colon
		end = rawjson.Skip(f.frame, at)
		f.member(at, end, parent, key)
		at = rawjson.Space(f.frame, end)
	}
}

// member looks at one member, whose value is between two positions.
func (f *gapFinder) member(from, to int, parent, key string) {
	for i := range f.variables {
		v := &f.variables[i]
		switch {
		case v.parent == parent && v.name == key:
			f.once(2 * i)
			if !v.use.opens(f.byte(from)) {
				return
			}
			if f.count == maxGaps {
				f.unclear = true
				return
			}
			f.gaps[f.count] = gap{from: from, to: to, use: v.use}
			f.count++
			f.generates = f.generates || v.use == gapIDs || v.use == gapText
			return
		case parent == "" && v.parent == key:
			f.once(2*i + 1)
			f.child(from, key)
			return
		}
	}
}

// once notes that a name has come. What a name means that comes twice, only the parser knows: the last value may count,
// or both may, and one may be an error.
func (f *gapFinder) once(bit int) {
	f.unclear = f.unclear || f.seen>>bit&1 == 1
	f.seen |= 1 << bit
}

// child goes through the object at this position, or through the objects of an array.
func (f *gapFinder) child(at int, key string) {
	if f.byte(at) != '[' {
		f.object(at, key)
		return
	}
	for f.byte(at) == '[' || f.byte(at) == ',' {
		at = rawjson.Space(f.frame, at+1)
		f.object(at, key)
		at = rawjson.Space(f.frame, rawjson.Skip(f.frame, at))
	}
}

// byte returns the byte at this position, or 0 after the end.
func (f *gapFinder) byte(at int) byte {
	if at < len(f.frame) {
		return f.frame[at]
	}
	return 0
}
