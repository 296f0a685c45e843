package structure_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// calling is an adapter whose text is steps: each byte is one.
type calling struct{ *structure.Messages }

func newCalling(sink harmony.Sink, _ structure.Options) structure.Adapter {
	return calling{structure.NewMessages(sink)}
}

func (c calling) Write(text []byte, _ int64) {
	for _, step := range text {
		switch step {
		case 'c':
			c.Call("functions.f")
		case '{', '}':
			c.Arguments([]byte{step})
		case '.':
			c.Close(harmony.EndedByCall)
		case 'r':
			c.Reasoning([]byte{step})
		case 'n':
			c.Answer(nil)
		default:
			c.Answer([]byte{step})
		}
	}
}

func (calling) Timed() bool { return false }
func (c calling) Break()    { c.Close(harmony.EndedByEnd) }

func TestMessages(t *testing.T) {
	run(t, newCalling, structure.Options{}, []textCase{
		{"nothing", "n", "", false},
		{"a call", "rc{}.", "[analysis] r end; [commentary>functions.f] {} call", false},
		{"a call at the end", "c{}", "[commentary>functions.f] {} call", false},
		{"a call, cut off", "c{", "[commentary>functions.f] { cut", true},
		{"two calls", "c{}c{}.", "[commentary>functions.f] {} end; [commentary>functions.f] {} call", false},
		{"a call without arguments", "cc", "[commentary>functions.f]  end; [commentary>functions.f]  call", false},
		{"arguments of no call", "{r}", "[final] { end; [analysis] r end; [final] } return", false},
		{"an answer after a call", "c{}.a", "[commentary>functions.f] {} call; [final] a return", false},
		{"a rune that the next message cuts", "\xf0\x9frab", "[final] \uFFFD end; [analysis] r end; " +
			"[final] ab return; invalid_text 1", false},
		{"beside it", "a" + brk + "a", "[final] a end; [final] a return", false},
	})
}

// TestMark: the first mark is found, wherever the text is cut, and what is held back is text again if it is none.
func TestMark(t *testing.T) {
	for _, tt := range []struct{ mark, text, before, after string }{
		{"ab", "aab", "a", ""}, {"aab", "aaaabx", "aa", "x"}, {"abab", "abacababab", "abac", "ab"},
		{"", "ab", "ab", ""}, {"ab", "", "", ""}, {"aaa", "aabaaa", "aab", ""}, {"x", "ab", "ab", ""}, {"ab", "xa", "xa", ""},
	} {
		for at := range len(tt.text) + 1 {
			m := structure.NewMark(tt.mark)
			before, after, found := "", "", false
			for _, piece := range []string{tt.text[:at], tt.text[at:]} {
				if found {
					after += piece
					continue
				}
				held, text, rest, ok := m.Next([]byte(piece))
				before += string(held) + string(text)
				after, found = string(rest), ok
			}
			if before += string(m.Release()); before != tt.before || after != tt.after {
				t.Errorf("%q in %q cut at %d: %q before, %q after", tt.mark, tt.text, at, before, after)
			}
		}
	}
}

// TestLongMark: of a mark that is too long only the beginning counts.
func TestLongMark(t *testing.T) {
	mark := make([]byte, structure.MaxMark+10)
	for i := range mark {
		mark[i] = 'a' + byte(i%26)
	}
	m := structure.NewMark(string(mark))
	if _, text, rest, found := m.Next(append([]byte("!"), mark...)); !found || string(text) != "!" || len(rest) != 10 {
		t.Errorf("%q before, %q after", text, rest)
	}
}
