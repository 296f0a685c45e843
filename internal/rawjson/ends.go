package rawjson

import "math"

// Ends has where the long values of a text end, which [CountEnds] notes while it checks the text. Readers of the
// text then need not look for these places again. A nil Ends has none.
type Ends struct {
	// all are in the order in which the values begin.
	all []span
	// open are the indexes of the objects and arrays that have begun and not ended, by the number of those around them.
	// It is -1 for one that is not noted.
	open [endsDepth]int32
	// inner are the first objects and arrays that are directly in the outermost one.
	inner  [maxInner]inner
	inners int
}

// inner is where a value begins, and how many values are in it.
type inner struct{ from, values int32 }

// span is where a value begins and where it ends, a string with its quotes.
type span struct{ from, to uint32 }

const (
	// endsFrom is the length in bytes from which a value is noted. The end of a shorter one is found as fast.
	endsFrom = 128
	// endsDepth is the number of objects and arrays in which values are noted: the arguments of a call in a history are in
	// six.
	endsDepth = 7
	// maxEnds bounds the number of values that are noted, and with it the memory, to 128 KiB.
	maxEnds  = 1 << 14
	maxInner = 24
)

// CountEnds is [Count] and also returns where the long values of data end.
func CountEnds(data []byte, maxDepth, maxValues int) (ends *Ends, values int, err error) {
	if len(data) < 2*endsFrom || len(data) > math.MaxInt32 {
		values, err = Count(data, maxDepth, maxValues)
		return nil, values, err
	}
	ends = &Ends{all: make([]span, 0, min(16+len(data)/512, maxEnds))}
	s := scanner{data: data, maxValues: maxValues, ends: ends}
	err = s.whole(maxDepth)
	return ends, s.values, err
}

// Skip is [Skip] in a part of the text. base is where the part begins in the text.
func (e *Ends) Skip(part []byte, base, i int) int {
	if e == nil || i >= len(part) {
		return Skip(part, i)
	}
	switch part[i] {
	case '"':
		near := min(i+endsFrom, len(part))
		if end := quote(part[:near], i+1); end < near {
			return end + 1
		}
	case '{', '[':
	default:
		return Skip(part, i)
	}
	if end := e.find(base+i) - base; end > i && end <= len(part) {
		return end
	}
	return Skip(part, i)
}

// find returns where the value that begins at this place ends, or 0 if it is not noted.
func (e *Ends) find(at int) int {
	low, high := 0, len(e.all)
	for low < high {
		if middle := int(uint(low+high) >> 1); int(e.all[middle].from) < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(e.all) && int(e.all[low].from) == at {
		return int(e.all[low].to)
	}
	return 0
}

// string notes a string inside so many objects and arrays.
func (e *Ends) string(depth, from, to int) {
	if to-from >= endsFrom && depth < endsDepth && len(e.all) < maxEnds {
		e.all = append(e.all, span{uint32(from), uint32(to)})
	}
}

// Values returns how many values are in the object or array part, which begins at base in the text. It is not one of
// them.
func (e *Ends) Values(part []byte, base int) int {
	if e != nil {
		for i := range e.inners {
			if in := &e.inner[i%maxInner]; int(in.from) == base {
				return int(in.values)
			}
		}
	}
	values, _ := Count(part, MaxDepth, math.MaxInt)
	return max(values-1, 0)
}

// begin notes that an object or an array begins inside so many others. values is how many values have begun, with this
// one.
func (e *Ends) begin(depth, from, values int) {
	if depth >= endsDepth {
		return
	}
	if depth == 1 && e.inners < maxInner {
		e.inner[e.inners] = inner{int32(from), int32(-values)}
		e.inners++
	}
	e.open[depth] = -1
	if len(e.all) < maxEnds {
		e.open[depth] = int32(len(e.all))
		e.all = append(e.all, span{from: uint32(from)})
	}
}

// end notes that this object or array ends. values is how many values have begun. A short one is forgotten. It is the
// last in the list, since all values in it are shorter.
func (e *Ends) end(depth, to, values int) {
	if depth >= endsDepth {
		return
	}
	if depth == 1 && e.inners > 0 {
		if last := &e.inner[(e.inners-1)%maxInner]; last.values < 0 {
			last.values += int32(values)
		}
	}
	i := int(e.open[depth])
	if i < 0 || i >= len(e.all) {
		return
	}
	if to-int(e.all[i].from) < endsFrom {
		e.all = e.all[:i]
		return
	}
	e.all[i].to = uint32(to)
}
