package backend

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// streamOf reads the pieces of a stream and spells what they say: tokens, logprobs and finish of each choice, usage,
// errors, and how reading ended. How the stream was cut into events is not in it.
func streamOf(kind Kind, pieces ...string) string {
	r := kind.NewReader()
	var e Event
	tokens, finish, logprobs := map[int][]uint32{}, map[int]Finish{}, ""
	end := ""
	for _, p := range pieces {
		chunk := []byte(p)
		r.Write(chunk)
		for {
			reading := r.Next(&e)
			if reading == Drained {
				break
			}
			switch reading {
			case Broken:
				return spell(tokens, finish, logprobs) + end + " broken"
			case Garbled:
				end += " garbled"
				continue
			}
			tokens[e.Index] = append(tokens[e.Index], e.Tokens...)
			if len(e.Text) > 0 || e.TextTokens > 0 {
				logprobs += fmt.Sprintf(" %q%d", e.Text, e.TextTokens)
			}
			for _, l := range e.Logprobs {
				logprobs += " " + string(l.Logprob)
				for _, a := range l.Top {
					logprobs += fmt.Sprintf("/%d:%s", a.ID, a.Logprob)
				}
			}
			if e.Finish != Running {
				finish[e.Index] = e.Finish
			}
			if e.HasUsage {
				end += spellUsage(&e.Usage)
			}
			if e.Error != nil {
				end += fmt.Sprintf(" error %+v", *e.Error)
			}
			if e.Done {
				end += " done"
			}
		}
		for i := range chunk {
			chunk[i] = '\n' // the host's memory is used again
		}
	}
	return spell(tokens, finish, logprobs) + end
}

func spell(tokens map[int][]uint32, finish map[int]Finish, logprobs string) string {
	out := ""
	for i := -1; i < 3; i++ {
		if len(tokens[i]) > 0 || finish[i] != Running {
			out += fmt.Sprintf("%d:%v%d ", i, tokens[i], finish[i])
		}
	}
	return out + logprobs
}

func spellUsage(u *Usage) string {
	out := fmt.Sprintf(" usage {Prompt:%d Cached:%d Completion:%d HasCached:%v}", u.Prompt, u.Cached, u.Completion,
		u.HasCached)
	if u.HasReasoning {
		out += fmt.Sprintf(" reasoning %d", u.Reasoning)
	}
	return out
}

// A streamCase is a stream as a kind of server sends it.
type streamCase struct{ name, in, want string }

// checkStreams reads the streams in one piece, cut in two at each place, and in single bytes.
func checkStreams(t *testing.T, kind Kind, cases []streamCase) {
	t.Helper()
	for _, tc := range cases {
		if got := streamOf(kind, tc.in); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
			continue
		}
		if got := streamOf(kind, strings.Split(tc.in, "")...); got != tc.want {
			t.Errorf("%s, in single bytes:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		if len(tc.in) > 1<<14 {
			continue
		}
		for at := range len(tc.in) {
			if got := streamOf(kind, tc.in[:at], tc.in[at:]); got != tc.want {
				t.Fatalf("%s, cut at %d:\ngot  %s\nwant %s", tc.name, at, got, tc.want)
			}
		}
	}
}

// allKinds returns the kinds of servers.
func allKinds(t *testing.T) []Kind {
	t.Helper()
	var all []Kind
	for _, name := range contract.ServerKinds() {
		kind, ok := Named(name)
		if !ok {
			t.Fatalf("%s is not in Named", name)
		}
		all = append(all, kind)
	}
	return all
}

// TestBrokenStreams: what no server of the kind sends is garbled or breaks the stream. Nothing else is read out of it.
func TestBrokenStreams(t *testing.T) {
	for _, kind := range allKinds(t) {
		name := kind.Facts().Name
		if kind.Facts().StreamType() != "text/event-stream" {
			continue
		}
		for _, in := range []string{
			"data: <html>502</html>\n\n", "data: {\"choices\":[{\"index\":0\n\n", "data: {}\n\n", "data: []\n\n",
			"data: null\n\n", "data: 7\n\n", "data: \"x\"\n\n", "data: {\"choices\":7}\n\n", "data: \xff\xfe\n\n",
			"data: {\"choices\"\n\n", "data: {\"error\":null}\n\n", "data: [DONE\n\n",
		} {
			if got := streamOf(kind, in); got != " garbled" {
				t.Errorf("%s: %q is read as %q", name, in, got)
			}
			if got := streamOf(kind, strings.Split(in, "")...); got != " garbled" {
				t.Errorf("%s: %q in single bytes is read as %q", name, in, got)
			}
		}
		for _, in := range []string{"", "<html>502</html>", "<html>\n\n</html>\n\n", ": comment\n\n", "event: x\n\n",
			"data:\n\n",
			"data: \n\n", "data\n\n", "data:  \t \n\n", "data:\ndata:\n\n"} {
			if got := streamOf(kind, in); got != "" {
				t.Errorf("%s: %q is read as %q", name, in, got)
			}
		}
		large := "data: {\"choices\":[{\"index\":0,\"x\":\"" + strings.Repeat("x", 5<<20) + "\"}]}\n\n"
		if got := streamOf(kind, large); got != " broken" {
			t.Errorf("%s: an event of 5 MB is read as %.80q", name, got)
		}
	}
}

// TestSpacesAroundEvents: spaces around an event, and events without data between others, change nothing.
func TestSpacesAroundEvents(t *testing.T) {
	const empty = "data:\n\ndata: \n\n"
	for _, kind := range allKinds(t) {
		if kind.Facts().StreamType() != "text/event-stream" {
			continue
		}
		var plain, spaced strings.Builder
		for _, data := range []string{`{"error":{"message":"a"}}`, `{"error":{"message":"b"}}`, "[DONE]"} {
			plain.WriteString("data: " + data + "\n\n")
			spaced.WriteString(empty + "data:  " + data + " \t\n\n" + empty)
		}
		want := streamOf(kind, plain.String())
		if strings.Count(want, " error") != 2 ||
			kind.Facts().Name != contract.LlamaCPP && !strings.HasSuffix(want, " done") {
			t.Fatalf("%s: the plain stream is read as %q", kind.Facts().Name, want)
		}
		for at := range spaced.Len() {
			if got := streamOf(kind, spaced.String()[:at], spaced.String()[at:]); got != want {
				t.Fatalf("%s, cut at %d: got %q, want %q", kind.Facts().Name, at, got, want)
			}
		}
	}
}

// TestBrokenKeepsNothing: a stream that cannot be read any further takes no memory, however long it goes on.
func TestBrokenKeepsNothing(t *testing.T) {
	chunk := []byte("data: {\"x\":\"" + strings.Repeat("x", 5<<20))
	for _, kind := range allKinds(t) {
		name := kind.Facts().Name
		r := kind.NewReader()
		var e Event
		r.Write(chunk)
		if reading := r.Next(&e); reading != Broken {
			t.Errorf("%s: an event of 5 MB is %d", name, reading)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 20 {
			r.Write(chunk)
			if reading := r.Next(&e); reading != Broken {
				t.Errorf("%s: a broken stream is %d", name, reading)
			}
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: a broken stream took %d bytes", name, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// TestBrokenLines is TestBrokenStreams for streams of lines.
func TestBrokenLines(t *testing.T) {
	for _, in := range []string{
		"<html>502</html>\n", "{\"response\":\"a\n", "{}\n", "[]\n", "null\n", "7\n", "\"x\"\n", "{\"done\":false}\n",
		"\xff\xfe\n", "{\"error\":null}\n", "data: {}\n", "[DONE]\n",
	} {
		for _, pieces := range [][]string{{in}, strings.Split(in, "")} {
			if got := streamOf(ollama{}, pieces...); got != " garbled" {
				t.Errorf("%q is read as %q", pieces, got)
			}
		}
	}
	for _, in := range []string{"", "\n\r\n\r", "<html>502</html>", "{\"response\":\"a\",\"done\":true}"} {
		if got := streamOf(ollama{}, in); got != "" {
			t.Errorf("%q is read as %q", in, got)
		}
	}
	for _, end := range []string{"\"}\n", ""} {
		if got := streamOf(ollama{}, "{\"response\":\""+strings.Repeat("x", 5<<20)+end); got != " broken" {
			t.Errorf("an event of 5 MB is read as %.80q", got)
		}
	}
}

// fuzzStreams checks that any split of the same bytes has the same meaning, and that what is read is bounded.
func fuzzStreams(f *testing.F, kind Kind, seeds []streamCase) {
	for _, s := range seeds {
		if len(s.in) < 1<<13 {
			f.Add([]byte(s.in), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		if len(stream) > 1<<14 {
			return
		}
		want := streamOf(kind, string(stream))
		var pieces []string
		for rest := string(stream); rest != ""; {
			n := min(int(size)+1, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := streamOf(kind, pieces...); got != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", int(size)+1, got, want)
		}
	})
}
