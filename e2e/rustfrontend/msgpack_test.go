package rustfrontend

import (
	"reflect"
	"testing"
)

func TestMsgpack(t *testing.T) {
	value := []any{nil, true, false, -7, 300000, 0.5, "text", raw{1, 2, 3}, map[string]any{"a": []any{1}, "b": nil},
		[]any{}}
	data := appendMsgpack(nil, value)
	got, err := decodeMsgpack(data)
	if err != nil || !reflect.DeepEqual(got, value) {
		t.Errorf("%v, %v, want %v", got, err, value)
	}
	for n := range data {
		if _, err := decodeMsgpack(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are a value", n, len(data))
		}
	}
	if _, err := decodeMsgpack(append(data, 0)); err == nil {
		t.Error("a byte after the value is accepted")
	}
	// The short forms, as the front end writes them.
	got, err = decodeMsgpack([]byte{0x94, 0xff, 0xcd, 1, 0, 0xa1, 'x', 0x81, 5, 0xca, 0x3f, 0, 0, 0})
	if want := []any{-1, 256, "x", map[string]any{"5": 0.5}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
