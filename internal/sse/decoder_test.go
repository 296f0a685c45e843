package sse

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func decode(pieces ...string) []string {
	var d Decoder
	return drain(&d, pieces...)
}

// drain writes the pieces as a network would, each in memory that is overwritten afterwards.
func drain(d *Decoder, pieces ...string) []string {
	var events []string
	for _, p := range pieces {
		chunk := []byte(p)
		d.Write(chunk)
		for {
			data, ok := d.Next()
			if !ok {
				break
			}
			events = append(events, string(data))
		}
		for i := range chunk {
			chunk[i] = '\n'
		}
	}
	return events
}

func TestDecoder(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"data: a\n\n", []string{"a"}},
		{"data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{": ping\n\nevent: x\nid: 1\ndata: a\ndata: b\n\n", []string{"a\nb"}},
		{"data: a\r\n\r\ndata: b\r\r", []string{"a", "b"}},
		{"data\n\n", []string{""}},
		{"data: a\n", nil},
		{"database: a\n\ndatum: x\n\n", nil},
		{"\n\n\ndata: [DONE]\n\n", []string{"[DONE]"}},
	}
	for _, tt := range tests {
		if got := decode(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestLines: with Lines each line is an event, whatever it holds. One that is not ended is none.
func TestLines(t *testing.T) {
	const in = "{}\n\ndata: a\r\n\r\n: c\r\xf0\x9f\x98\x80\n rest"
	want := []string{"{}", "data: a", ": c", "\xf0\x9f\x98\x80"}
	for at := range len(in) {
		if got := drain(&Decoder{Lines: true}, in[:at], in[at:]); !slices.Equal(got, want) {
			t.Errorf("cut at %d: got %q", at, got)
		}
	}
	for _, end := range []string{"\n", ""} {
		d := Decoder{Lines: true}
		if got := drain(&d, strings.Repeat("x", MaxEvent)+"\n", strings.Repeat("x", MaxEvent+1)+end); len(got) != 1 ||
			!d.Broken() {
			t.Errorf("%d events, broken: %t", len(got), d.Broken())
		}
	}
}

// TestAllSplits shows that every way to cut a stream into up to four pieces, and into single bytes, gives the events of
// the uncut stream. With -short two of the cuts are at each third place only.
func TestAllSplits(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 3
	}
	const in = ": c\r\n\r\ndata: a\r\n\r\ndata: b\n\rdata\ndata: c\r\rid: 1\ndata:\xf0\x9f\x98\x80\n\n\ndata: " +
		"[DONE]\n\ndata: cut"
	want := []string{"a", "b", "\nc", "\xf0\x9f\x98\x80", "[DONE]"}
	check := func(pieces ...string) {
		if got := decode(pieces...); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", pieces, got, want)
		}
	}
	for a := range len(in) {
		for b := a; b < len(in); b += step {
			for c := b; c < len(in); c += step {
				check(in[:a], in[a:b], in[b:c], in[c:])
			}
		}
	}
	check(strings.Split(in, "")...)
}

// TestLineSize compares with a search byte by byte, for line ends at every place, beside bytes that differ little.
func TestLineSize(t *testing.T) {
	for _, other := range []byte{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, '\n' | 0x80, '\r' | 0x80, 0xff} {
		for size := range 20 {
			b := bytes.Repeat([]byte{other}, size)
			if got := LineSize(b); got != size {
				t.Errorf("%q: %d", b, got)
			}
			for at := size - 1; at >= 0; at-- {
				b[at] = "\n\r"[at%2]
				if got := LineSize(b); got != at {
					t.Errorf("%q: %d", b, got)
				}
			}
		}
	}
}

// TestLargeWrite shows that the limit applies to an event, not to a write: many small events may come at once and take
// no extra memory. With -short the write is smaller, and still larger than an event may be.
func TestLargeWrite(t *testing.T) {
	times := 16
	if testing.Short() {
		times = 2
	}
	const event = "data: {\"choices\":[{\"index\":0,\"token_ids\":[200005]}]}\n\n"
	in := bytes.Repeat([]byte(event), times*MaxEvent/len(event))
	var d Decoder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d.Write(in)
	events := 0
	for _, ok := d.Next(); ok; _, ok = d.Next() {
		events++
	}
	runtime.ReadMemStats(&after)
	if want := len(in) / len(event); events != want || d.Broken() {
		t.Errorf("%d events of %d, broken: %v", events, want, d.Broken())
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<10 {
		t.Errorf("a write of %d bytes took %d bytes of memory", len(in), taken)
	}
}

// TestWriteUnread shows that a write that Next has not read to its end is not lost.
func TestWriteUnread(t *testing.T) {
	var d Decoder
	d.Write([]byte("data: a\n\ndata: b\n"))
	if data, ok := d.Next(); !ok || string(data) != "a" {
		t.Fatalf("got %q, %v", data, ok)
	}
	d.Write([]byte("\ndata: c\n\n"))
	if got := drain(&d, ""); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("got %q", got)
	}
}

// TestTooLarge shows that an event that is too large breaks the decoder, however it is cut, after the events before it
// have been returned. With -short it is cut in one way.
func TestTooLarge(t *testing.T) {
	long := strings.Repeat("x", MaxEvent)
	tests := []struct {
		name, in string
		broken   bool
	}{
		{"a line", "data: a\n\n" + long + "x\n\ndata: b\n\n", true},
		{"the largest line", "data: a\n\n" + long + "\n\n", false},
		{"an endless line", "data: a\n\n" + long + long, true},
		{"data of many lines", "data: a\n\n" + strings.Repeat("data: "+long[:1<<20]+"\n", 5), true},
		{"data of empty lines", "data: a\n\n" + strings.Repeat("data\n", MaxEvent+2), true},
		{"comments", "data: a\n\n" + strings.Repeat(": "+long[:1<<20]+"\n", 5), false},
	}
	for _, tt := range tests {
		sizes := []int{65_537, 1 << 20, len(tt.in)}
		if testing.Short() {
			sizes = sizes[:1]
		}
		for _, size := range sizes {
			var pieces []string
			for piece := range slices.Chunk([]byte(tt.in), size) {
				pieces = append(pieces, string(piece))
			}
			var d Decoder
			if got := drain(&d, pieces...); !slices.Equal(got, []string{"a"}) || d.Broken() != tt.broken {
				t.Errorf("%s in pieces of %d: %d events, broken: %v", tt.name, size, len(got), d.Broken())
			}
		}
	}
}

// TestLargeEvent shows that large buffers are not kept for the small events that follow.
func TestLargeEvent(t *testing.T) {
	var d Decoder
	large := "data: " + strings.Repeat("x", MaxEvent/2)
	got := drain(&d, large[:1000], large[1000:], "\n", "\ndata: a", "\n\n")
	if len(got) != 2 || got[0] != large[len("data: "):] || got[1] != "a" {
		t.Errorf("got %d events", len(got))
	}
	if cap(d.data) > maxKeptBuffer || cap(d.line) > maxKeptBuffer {
		t.Errorf("buffers of %d and %d bytes are kept", cap(d.data), cap(d.line))
	}
}

// byTheStandard reads the events of a complete stream line by line, as the HTML standard (section 9.2.6) describes it.
func byTheStandard(in string) []string {
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var events, data []string
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data != nil:
			events = append(events, strings.Join(data, "\n"))
			data = nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return events
}

// FuzzAnySplit shows that a stream cut anywhere gives the events that the standard defines. Each byte of sizes is the
// size of a piece, in turn.
func FuzzAnySplit(f *testing.F) {
	f.Add("data: a\r\n\r\n: c\ndata: b\n\rdata: c\n\n", []byte{3})
	f.Add("event: x\ndata: {\"a\":1}\n\ndata: [DONE]\n\n", []byte{1})
	f.Add("data: a\r\n\r\ndata\r\rdata:b\n\n\r\n:\n", []byte{8, 1, 0, 2})
	f.Fuzz(func(t *testing.T, in string, sizes []byte) {
		var pieces []string
		for rest, i := in, 0; rest != ""; i++ {
			n := len(rest)
			if len(sizes) > 0 {
				n = min(n, int(sizes[i%len(sizes)]))
			}
			if n == 0 && i < 1000 {
				pieces = append(pieces, "")
				continue
			}
			n = max(n, 1)
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got, want := decode(pieces...), byTheStandard(in); !slices.Equal(got, want) {
			t.Fatalf("%q in pieces %q: got %q, want %q", in, pieces, got, want)
		}
	})
}
