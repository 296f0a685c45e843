package llamacpp

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// grammar is what an answer is held to. Control tokens are those that it names by their ids.
type grammar struct{ *ebnf.Grammar }

// readGrammar reads the grammar of a request.
func readGrammar(text string) (grammar, *server.Refusal) {
	g, err := ebnf.Read(text)
	if err != nil {
		return grammar{}, server.BadRequest("", "Failed to initialize samplers: failed to parse grammar")
	}
	return grammar{g}, nil
}

// errLeaves is for an answer that the server would not have let the model write.
var errLeaves = errors.New("the answer leaves the grammar")

// CheckAnswer returns an error if the server could not have let the model write this answer. A token that ends answers
// comes only where the grammar is complete.
func (g grammar) CheckAnswer(t *tokenizer.Tokenizer, ids []uint32) error {
	way := g.Begin()
	var text []byte
	for _, id := range ids {
		if !tokenizer.IsSpecial(id) {
			text, _ = t.AppendDecode(text, []uint32{id})
			continue
		}
		if !follow(way, text) {
			return errLeaves
		}
		text = text[:0]
		switch id {
		case tokenizer.Return, tokenizer.Call, tokenizer.EndOfText:
			if !way.Complete() {
				return errors.New("the answer ends before it is complete by the grammar")
			}
			return nil
		}
		if !way.NextToken(id) {
			return errLeaves
		}
	}
	if !follow(way, text) {
		return errLeaves
	}
	return nil
}

// follow follows a text, up to an unfinished character at its end.
func follow(way *ebnf.Matcher, text []byte) bool {
	for len(text) > 0 && utf8.FullRune(text) {
		c, size := utf8.DecodeRune(text)
		if !way.Next(c) {
			return false
		}
		text = text[size:]
	}
	return true
}

// Schemas returns nothing: a grammar has none.
func (grammar) Schemas() []json.RawMessage { return nil }

// Texts returns nothing: the grammar is of the whole answer.
func (grammar) Texts() []string { return nil }
