package plugin

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// TestHeaders: headers are read as the ABI has them, and whatever a host hands over, nothing is read beyond it.
func TestHeaders(t *testing.T) {
	want := [][2]string{{":method", "POST"}, {"x", ""}, {"accept", "*/*"}, {"x", "second"}}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(want)))
	for _, h := range want {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h[0])))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h[1])))
	}
	for _, h := range want {
		b = append(append(append(append(b, h[0]...), 0), h[1]...), 0)
	}
	for range 2 {
		if got, ok := headersRead.decode(b); !ok || !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	for _, h := range want[:3] {
		if value, ok := find(want, h[0]); !ok || value != h[1] {
			t.Errorf("%s: got %q, %v", h[0], value, ok)
		}
	}
	if _, ok := find(want, "y"); ok {
		t.Error("a header that is not there")
	}
	for cut := range b {
		if got, ok := headersRead.decode(b[:cut:cut]); ok {
			t.Errorf("of %d bytes: got %q", cut, got)
		}
	}
	for at := range b[:4+8*len(want)] {
		wrong := slices.Clone(b)
		wrong[at] = 0xff
		got, _ := headersRead.decode(wrong)
		_ = fmt.Sprint(got) // reads every byte of the texts
	}
}
