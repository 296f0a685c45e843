package tap

import (
	"bytes"
	"errors"
	"testing"
)

func TestFrames(t *testing.T) {
	want := []Frame{
		{Kind: Request, Stream: 7, At: 1_700_000_000_000_001, Payload: []byte(`{"method":"POST"}`)},
		{Kind: Passed, Stream: 1<<32 - 1, At: 0, Payload: []byte{}},
		{Kind: End, Stream: 0, At: -1, Payload: bytes.Repeat([]byte{0xff}, 300)},
	}
	var all []byte
	for _, f := range want {
		all = Append(all, f)
	}
	for i := range want {
		var got Frame
		var err error
		if got, all, err = Read(all); err != nil || got.Kind != want[i].Kind || got.Stream != want[i].Stream ||
			got.At != want[i].At || !bytes.Equal(got.Payload, want[i].Payload) {
			t.Fatalf("frame %d is %+v, %v", i, got, err)
		}
	}
	if len(all) != 0 {
		t.Errorf("%d bytes are left", len(all))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(Append(Append(nil, Frame{Kind: Chunk, Payload: []byte("x")}), Frame{Kind: End}))
	f.Add([]byte{byte(Body), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			frame, rest, err := Read(b)
			if err != nil {
				if !errors.Is(err, ErrBroken) {
					t.Fatal(err)
				}
				return
			}
			if again := Append(nil, frame); !bytes.Equal(again, b[:len(b)-len(rest)]) {
				t.Fatalf("%x is written as %x", b, again)
			}
			b = rest
		}
	})
}
