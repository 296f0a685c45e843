package exchange

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// This file writes prompts as text, for servers that take no token ids. Such a server reads every spelling of a control
// token as that token. So text of a request that spells one must not reach it unchanged: a user could write messages of
// any role.

// endOfPrompt is a special token of the model's tokenizer that Harmony counts among the reserved ones. It has two
// spellings, and this is the other.
const endOfPrompt = "<|endofprompt|>"

// breaker is U+200B, a space without width. After the "<" of a spelling it makes the spelling ordinary text that looks
// the same.
const breaker = "\u200b"

// tokensPerBreak is more than the number of tokens by which a broken spelling is longer.
const tokensPerBreak = 4

// findSpelling returns the place and the size of the first spelling of a control token in text. Without one it returns
// len(text) and 0.
func findSpelling(text []byte) (at, size int) {
	for {
		i := bytes.IndexByte(text[at:], '<')
		if i < 0 {
			return len(text), 0
		}
		at += i
		if _, size, _ := tokenizer.MatchSpecial(text[at:]); size > 0 {
			return at, size
		}
		if rest := text[at:]; len(rest) >= len(endOfPrompt) && string(rest[:len(endOfPrompt)]) == endOfPrompt {
			return at, len(endOfPrompt)
		}
		at++
	}
}

// spellsControl reports whether a text spells a control token.
func spellsControl(text []byte) bool {
	_, size := findSpelling(text)
	return size > 0
}

// promptText writes the prompt as text into scratch if the model's servers take text. broken is how many spellings of
// control tokens it broke. If they are to be refused, it returns an error about param.
func (a *modelRequest) promptText(scratch *Scratch, param string) (broken int, failure *openai.Error) {
	scratch.text = scratch.text[:0]
	kind := a.model.Kind.Facts()
	if !kind.TextPrompts {
		return 0, nil
	}
	scratch.text, broken = appendPromptText(scratch.text, a.x.gateway.options.Tokenizer, scratch.prompt)
	if broken > 0 && a.model.ControlTokens != contract.ControlTokensBreak {
		return 0, errControlToken(param, kind.Name)
	}
	return broken, nil
}

// appendPromptText appends the text of a prompt. Control tokens are spelled. Each spelling of a control token in the
// ordinary text between them is broken; broken is how many there were. A spelling has only one "<", at its beginning,
// so none begins in ordinary text and ends in a control token.
func appendPromptText(dst []byte, t *tokenizer.Tokenizer, prompt []uint32) (out []byte, broken int) {
	ordinary := len(dst)
	for _, id := range prompt {
		text, _ := t.TokenBytes(id)
		if tokenizer.IsSpecial(id) {
			dst, broken = breakSpellings(dst, ordinary, broken)
			ordinary = len(dst) + len(text)
		}
		dst = append(dst, text...)
	}
	return breakSpellings(dst, ordinary, broken)
}

// breakSpellings breaks the spellings in the text from the place from on.
func breakSpellings(dst []byte, from, broken int) ([]byte, int) {
	at, size := findSpelling(dst[from:])
	if size == 0 {
		return dst, broken
	}
	text := bytes.Clone(dst[from:])
	dst = dst[:from]
	for size > 0 {
		dst = append(append(dst, text[:at+1]...), breaker...)
		dst = append(dst, text[at+1:at+size]...)
		text = text[at+size:]
		at, size = findSpelling(text)
		broken++
	}
	return append(dst, text...), broken
}

// errControlToken is for text that spells a control token, at servers that would read it as one.
func errControlToken(param, kind string) *openai.Error {
	return &openai.Error{
		Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeControlTokenInText, Param: param,
		Message: "Invalid '" + param + "': its text spells a control token of the model, such as <|start|>. " +
			"The model's servers (" + kind + ") take prompts as text and would read it as that token. " +
			"Write it differently, or ask for a model whose servers take token ids.",
	}
}
