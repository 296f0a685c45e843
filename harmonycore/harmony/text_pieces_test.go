package harmony

import (
	"slices"
	"strings"
	"testing"
)

// pieceCounter counts the pieces of content.
type pieceCounter struct{ pieces, size int }

func (c *pieceCounter) Open(Header) {}

func (c *pieceCounter) Content(text []byte, _ int) {
	c.pieces++
	c.size += len(text)
}

func (c *pieceCounter) Close(End) {}

// TestTextInLargePieces checks that text which could begin a mark at each of its bytes comes in large pieces too: each
// piece is an event for the client, 250 times as large as a byte.
func TestTextInLargePieces(t *testing.T) {
	for _, tt := range []struct {
		dialect     Dialect
		begin, text string
	}{
		{Printed, "<|channel|>final<|message|>", "<"}, {Printed, "<|channel|>final<|message|>", "<|"},
		{Printed, "<|channel|>final<|message|>", "<|reserved_20000"}, {Stripped, "final", "a"},
		{Stripped, "final", "assistant"},
		{Stripped, "final", "assistantcommentar"}, {Split, "", "="}, {Split, "", "===FINA"}, {Split, "", "<="},
	} {
		c := &pieceCounter{}
		p := NewTextParser(c, TextOptions{Dialect: tt.dialect})
		p.Write([]byte(tt.begin), 0)
		text := []byte(strings.Repeat(tt.text, 64<<10/len(tt.text)))
		writes := 0
		for piece := range slices.Chunk(text, 256) {
			p.Write(piece, 0)
			writes++
		}
		p.Finish()
		if c.pieces > 5*writes || c.size != len(text) {
			t.Errorf("%q: %d bytes of %d in %d pieces after %d writes", tt.text, c.size, len(text), c.pieces, writes)
		}
	}
}
