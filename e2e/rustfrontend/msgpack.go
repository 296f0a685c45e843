package rustfrontend

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// raw is the msgpack extension in which vLLM sends the memory of an array.
type raw []byte

// rawView is the number of the extension.
const rawView = 3

// appendMsgpack appends a value: nil, a bool, an int, a float64, a string, a raw, an []any or a map[string]any.
func appendMsgpack(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0)
	case bool:
		if v {
			return append(dst, 0xc3)
		}
		return append(dst, 0xc2)
	case int:
		return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
	case string:
		return append(binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(len(v))), v...)
	case raw:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xc9), uint32(len(v)))
		return append(append(dst, rawView), v...)
	case []any:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(len(v)))
		for _, e := range v {
			dst = appendMsgpack(dst, e)
		}
		return dst
	case map[string]any:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdf), uint32(len(v)))
		for _, key := range sortedKeys(v) {
			dst = appendMsgpack(appendMsgpack(dst, key), v[key])
		}
		return dst
	default:
		panic(fmt.Sprintf("no msgpack for %T", v))
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// decodeMsgpack reads one value: nil, bool, int, float64, string, []byte, raw, []any or map[string]any. A map's key
// that is a number becomes its digits.
func decodeMsgpack(data []byte) (any, error) {
	d := &decoder{data: data}
	v := d.value(0)
	if d.err == nil && len(d.data) > 0 {
		d.err = fmt.Errorf("msgpack: %d bytes after the value", len(d.data))
	}
	return v, d.err
}

type decoder struct {
	data []byte
	err  error
}

var errShort = errors.New("msgpack: the value is cut off")

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.data) {
		d.err = cmp.Or(d.err, errShort)
		d.data = nil
		return make([]byte, min(max(n, 0), 8))
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken
}

// number reads an unsigned number of this many bytes.
func (d *decoder) number(bytes int) int {
	var n uint64
	for _, b := range d.take(bytes) {
		n = n<<8 | uint64(b)
	}
	return int(n)
}

func (d *decoder) value(depth int) any {
	if depth > 32 {
		d.err = cmp.Or(d.err, errors.New("msgpack: nested too deeply"))
	}
	if d.err != nil {
		return nil
	}
	c := d.take(1)[0]
	switch {
	case c < 0x80:
		return int(c)
	case c < 0x90:
		return d.table(int(c&0xf), depth)
	case c < 0xa0:
		return d.list(int(c&0xf), depth)
	case c < 0xc0:
		return string(d.take(int(c & 0x1f)))
	case c >= 0xe0:
		return int(int8(c))
	}
	switch c {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return c == 0xc3
	case 0xc4, 0xc5, 0xc6:
		return slices.Clone(d.take(d.number(1 << (c - 0xc4))))
	case 0xc7, 0xc8, 0xc9:
		size := d.number(1 << (c - 0xc7))
		d.take(1) // its kind: vLLM sends only one
		return raw(slices.Clone(d.take(size)))
	case 0xca:
		return float64(math.Float32frombits(uint32(d.number(4))))
	case 0xcb:
		return math.Float64frombits(uint64(d.number(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return d.number(1 << (c - 0xcc))
	case 0xd0:
		return int(int8(d.number(1)))
	case 0xd1:
		return int(int16(d.number(2)))
	case 0xd2:
		return int(int32(d.number(4)))
	case 0xd3:
		return d.number(8)
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		d.take(1)
		return raw(slices.Clone(d.take(1 << (c - 0xd4))))
	case 0xd9, 0xda, 0xdb:
		return string(d.take(d.number(1 << (c - 0xd9))))
	case 0xdc, 0xdd:
		return d.list(d.number(2<<(c-0xdc)), depth)
	case 0xde, 0xdf:
		return d.table(d.number(2<<(c-0xde)), depth)
	}
	d.err = fmt.Errorf("msgpack: byte %#x", c)
	return nil
}

func (d *decoder) list(n, depth int) any {
	if n > len(d.data) {
		d.err = cmp.Or(d.err, errShort)
		return nil
	}
	out := make([]any, 0, n)
	for range n {
		out = append(out, d.value(depth+1))
	}
	return out
}

func (d *decoder) table(n, depth int) any {
	if n > len(d.data) {
		d.err = cmp.Or(d.err, errShort)
		return nil
	}
	out := map[string]any{}
	for range n {
		key := fmt.Sprint(d.value(depth + 1))
		out[key] = d.value(depth + 1)
	}
	return out
}
