package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestClock: the clock is read at the first token and at the end of an answer, and not for each chunk. A proxy's clock
// is a call of the host.
func TestClock(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	times := []int64{testNow + 40, testNow + 900}
	x.clock = func() int64 {
		if len(times) == 0 {
			t.Fatal("the clock is read again")
		}
		now := times[0]
		times = times[1:]
		return now
	}
	x.ResponseHeaders(eventStream)
	for _, event := range strings.SplitAfter(answerOf("<|channel|>final<|message|>One two three four<|return|>"), "\n\n") {
		x.ResponseBody([]byte(event), false)
	}
	if r := x.Report(); r.FirstToken != 40 || r.Finish != FinishStop || len(times) != 0 {
		t.Errorf("got %+v, and %d more times", r, len(times))
	}
}

// TestTextClock: a server of text gets the clock's time until the parser has fallen back, and not for each chunk after
// that.
func TestTextClock(t *testing.T) {
	g := textGateway(func(m *contract.Model) { m.FallbackOnTimeoutMS, m.MinTokensBeforeFallback = 600, 1 })
	x := forwarded(t, g, "/v1/chat/completions", chatBody(true))
	now, reads := int64(testNow), 0
	x.clock = func() int64 { reads++; return now }
	x.ResponseHeaders(eventStream)
	for _, tt := range []struct {
		after, reads int64
		fellBack     bool
	}{{0, 2, false}, {599, 1, false}, {600, 1, true}, {700, 0, true}} { // the first token is timed too
		now, reads = testNow+tt.after, 0
		x.ResponseBody([]byte(textChunk(0, " some words", "")), false)
		fellBack := x.generation.choices[0].parser.(*textParser).stream.FellBack()
		if fellBack != tt.fellBack || int64(reads) != tt.reads {
			t.Errorf("after %d ms: fell back %v, and the clock was read %d times", tt.after, fellBack, reads)
		}
	}
}
