package backend

import (
	"bytes"
	"strings"

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
	// index is the index of the event's choice, if no gap has it. call is one more than the server's index of the call
	// whose arguments a gap has, or 0 if it has none.
	index, call int
	// unused counts the templates in a row that fitted no event.
	unused int
	// repeated is for a kind of server whose events may repeat what came before, and else nil.
	repeated *repetition
}

const (
	maxGaps = 8
	// maxVariables is the largest number of variables of a kind.
	maxVariables = 16
	// maxTemplate is the largest event of which a template is made, in bytes. Each stream keeps one.
	maxTemplate = 4 << 10
	// maxUnused is the number of templates in a row that may fit no event. Then the stream makes no more of them.
	maxUnused = 8
)

// A variable is a member of an event whose value may differ between the events of a stream.
type variable struct {
	// parent is the member of the event that is or lists the object with the member. It is empty for the event itself. An
	// object further inside has the names of all members on the way to it, with dots between them.
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
	if t.repeated != nil {
		t.repeated.begin()
	}
	at, from := 0, 0
	for i := range t.count {
		g := &t.gaps[i]
		if at = rawjson.After(b, at, t.frame[from:g.from]); at < 0 {
			return 0
		}
		if at = t.readGap(g.use, b, at, e); at < 0 {
			return 0
		}
		from = g.to
	}
	if at = rawjson.After(b, at, t.frame[from:]); at < 0 || at > sse.MaxEvent {
		return 0
	}
	t.unused = 0
	if t.repeated != nil {
		t.repeated.keep(b, e)
	}
	return at
}

// promptOfFirst is in a stream's first event, once the prompt's ids have been trimmed. The events after it have
// promptOfOthers in its place. No reader reads either of them, wherever they stand.
var promptOfFirst, promptOfOthers = []byte(promptKey + "[]"), []byte(promptKey + "null")

// learn makes the template from the data of an event that was parsed, what the stream puts around it, and what it
// meant. An event of a kind that comes once in a stream makes none. Neither does one whose data came in several lines:
// the frame has one.
func (t *template) learn(prefix string, data []byte, suffix string, e *Event, variables []variable) {
	t.count = 0
	if len(variables) == 0 || len(data) > maxTemplate || t.unused >= maxUnused || e.Error != nil || e.Done ||
		e.HasUsage || e.Finish != Running || e.unique || bytes.IndexByte(data, '\n') >= 0 {
		return
	}
	t.frame = append(t.frame[:0], prefix...)
	if at := searchKey(data, 0); rawjson.After(data, at, promptOfFirst) >= 0 {
		t.frame = append(append(t.frame, data[:at]...), promptOfOthers...)
		data = data[at+len(promptOfFirst):]
	}
	t.frame = append(t.frame, data...)
	end := len(t.frame)
	t.frame = append(t.frame, suffix...)
	t.index, t.call = e.Index, e.pieceIndex
	finder := gapFinder{frame: t.frame[:end], variables: variables}
	finder.object(len(prefix), "")
	if finder.unclear || !finder.generates || len(e.Logprobs)+len(e.TextLogprobs) > 0 && !finder.logprobs {
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
	// seen has a bit for each variable that says whether the member has come, and one for each object on the way to it.
	seen [maxVariables]uint8
	// generates reports whether a gap has what was generated, and logprobs whether one has its logprobs. unclear reports
	// whether the event has something that no server writes and that a template cannot say.
	generates, logprobs, unclear bool
}

// object goes through the members of the object at this position. parent has the meaning that it has in [variable].
func (f *gapFinder) object(at int, parent string) {
	at = rawjson.Space(f.frame, at)
	if byteAt(f.frame, at) != '{' {
		return
	}
	for byteAt(f.frame, at) == '{' || byteAt(f.frame, at) == ',' {
		at = rawjson.Space(f.frame, at+1)
		end := rawjson.Skip(f.frame, at)
		if byteAt(f.frame, at) != '"' || end-at < 2 || end > len(f.frame) {
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
			f.once(i, 0)
			if !v.use.opens(byteAt(f.frame, from)) {
				return
			}
			if f.count == maxGaps {
				f.unclear = true
				return
			}
			f.gaps[f.count] = gap{from: from, to: to, use: v.use}
			f.count++
			f.generates = f.generates || v.use.generates()
			f.logprobs = f.logprobs || v.use.logprobs()
			return
		case leadsTo(v.parent, parent, key):
			f.once(i, 1+depthOf(parent))
			f.child(from, v.parent[:len(parent)+len(key)+min(len(parent), 1)])
			return
		}
	}
}

// leadsTo reports whether the member key of an object is on the way to another object, or is that object itself. Both
// objects are named as by [variable].
func leadsTo(to, object, key string) bool {
	if object != "" {
		if len(to) <= len(object) || to[:len(object)] != object || to[len(object)] != '.' {
			return false
		}
		to = to[len(object)+1:]
	}
	return to != "" && (to == key || len(to) > len(key) && to[len(key)] == '.' && to[:len(key)] == key) &&
		strings.IndexByte(key, '.') < 0
}

// once notes that a name has come. Only the parser knows the meaning of a name that comes twice: the last value may
// count, or both may, and one may be an error.
func (f *gapFinder) once(variable, bit int) {
	f.unclear = f.unclear || f.seen[variable]>>bit&1 == 1
	f.seen[variable] |= 1 << bit
}

// depthOf returns how deep in the event an object is that is named as by [variable].
func depthOf(object string) int {
	if object == "" {
		return 0
	}
	return 1 + strings.Count(object, ".")
}

// child goes through the object at this position, or through the objects of an array.
func (f *gapFinder) child(at int, key string) {
	if byteAt(f.frame, at) != '[' {
		f.object(at, key)
		return
	}
	for byteAt(f.frame, at) == '[' || byteAt(f.frame, at) == ',' {
		at = rawjson.Space(f.frame, at+1)
		f.object(at, key)
		at = rawjson.Space(f.frame, rawjson.Skip(f.frame, at))
	}
}
