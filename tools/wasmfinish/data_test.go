package main

import (
	"bytes"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// data returns a data section with one byte at each address.
func data(addresses ...int) []byte {
	out := []byte{byte(len(addresses))}
	for _, at := range addresses {
		out = append(wasmfile.AppendSint(append(out, 0, wasmfile.OpI32Const), at), wasmfile.OpEnd, 1, 'x')
	}
	return out
}

func TestJoinData(t *testing.T) {
	const far = 100 + 5 + maxGap
	joined := append([]byte("\x03\x00\x41\xe4\x00\x0b\x05xx\x00\x00x\x00\x41"), wasmfile.AppendSint(nil, far+1)...)
	joined = append(joined, "\x0b\x01x\x00\x41\x08\x0b\x01x"...)
	passive := append([]byte{2}, append(data(8)[1:], "\x01\x01x"...)...)
	for name, tt := range map[string]struct{ before, after []byte }{
		"near, just too far, and back": {data(100, 101, 104, far+1, 8), joined},
		"passive":                      {passive, passive},
	} {
		t.Run(name, func(t *testing.T) {
			sections := []wasmfile.Section{{ID: wasmfile.DataCount, Content: tt.before[:1:1]},
				{ID: wasmfile.Data, Content: bytes.Clone(tt.before)},
				{ID: wasmfile.Custom, Content: []byte("\x04name\x09\x04data\x01\x03fun\x00\x01m")}}
			if err := joinData(sections); err != nil {
				t.Fatal(err)
			}
			if got := sections[1].Content; !bytes.Equal(got, tt.after) {
				t.Errorf("got %q, want %q", got, tt.after)
			}
			if got := sections[0].Content; !bytes.Equal(got, tt.after[:1]) {
				t.Errorf("counts %d segments, want %d", got, tt.after[0])
			}
			if got := string(sections[2].Content); name != "passive" && got != "\x04name\x01\x03fun" {
				t.Errorf("names %q", got)
			}
		})
	}
	cut := []wasmfile.Section{{ID: wasmfile.Data, Content: data(8)[:5]}}
	if joinData(cut) == nil {
		t.Error("data that is cut is not refused")
	}
}
