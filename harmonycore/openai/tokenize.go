package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// TokenizeRequest is a body of POST /tokenize, which is vLLM's path. It holds a text or a Chat request.
type TokenizeRequest struct {
	// Chat reports whether the body has messages. The caller then reads it as a Chat request.
	Chat bool
	// Prompt is the text. It lies in the body.
	Prompt string
	// Generation reports whether the header of the model's next message is added after the messages.
	Generation bool
	// Strings reports whether the client wants the text of each token too.
	Strings bool
}

// DecodeTokenizeRequest reads a body. If it holds a Chat request, the caller reads that with [DecodeChatRequest].
func DecodeTokenizeRequest(b *Body) (*TokenizeRequest, *Error) {
	r := &TokenizeRequest{Generation: true}
	var prompt value
	err := b.root.members("", func(key []byte, v value) *Error {
		switch name := string(key); name {
		case "prompt":
			prompt = v
		case "messages":
			r.Chat = v.given()
		case "add_generation_prompt":
			return v.boolean(name, &r.Generation)
		case "return_token_strs":
			return v.boolean(name, &r.Strings)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case r.Chat && prompt.given():
		return nil, Invalid("prompt", "Invalid 'prompt': there are 'messages' too. Send one of them.")
	case r.Chat:
		b.tokenized = true
		return r, nil
	case !prompt.given():
		return nil, missing("prompt")
	}
	return r, prompt.borrow("prompt", &r.Prompt)
}

// AppendTokens appends the answer to a [TokenizeRequest]. text returns the bytes of a token. It is nil if the client
// does not want them.
func AppendTokens(dst []byte, ids []uint32, contextLength int, text func(id uint32) []byte) []byte {
	dst = appendCount(dst, `{"count":`, len(ids))
	dst = appendCount(dst, `,"max_model_len":`, contextLength)
	dst = append(dst, `,"tokens":[`...)
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(id), 10)
	}
	if text == nil {
		return append(dst, `],"token_strs":null}`...)
	}
	dst = append(dst, `],"token_strs":[`...)
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		// The bytes of a token may be only a part of a character. That is not UTF-8 and becomes U+FFFD.
		dst = append(rawjson.AppendEscaped(dst, rawjson.View(text(id))), '"')
	}
	return append(dst, "]}"...)
}

// DecodeDetokenizeRequest reads a body of POST /detokenize and appends its tokens to dst. It accepts at most maxTokens
// tokens.
func DecodeDetokenizeRequest(b *Body, dst []uint32, maxTokens int) ([]uint32, *Error) {
	var tokens value
	err := b.root.members("", func(key []byte, v value) *Error {
		if rawjson.View(key) == "tokens" {
			tokens = v
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	if !tokens.given() {
		return dst, missing("tokens")
	}
	err = tokens.elements("tokens", func(i int, at string, v value) *Error {
		if i == maxTokens {
			return Invalid("tokens", "Invalid 'tokens': more than the model's context of "+strconv.Itoa(maxTokens)+" tokens.")
		}
		n := int64(-1)
		if err := v.within(at, 0, 1<<32-1, &n); err != nil {
			return err
		}
		if n < 0 {
			return wrongType(at, "an integer", v)
		}
		dst = append(dst, uint32(n))
		return nil
	})
	return dst, err
}

// AppendPrompt appends the answer of POST /detokenize.
func AppendPrompt(dst, text []byte) []byte {
	dst = append(dst, `{"prompt":"`...)
	return append(rawjson.AppendEscaped(dst, rawjson.View(text)), `"}`...)
}

// AppendInputTokens appends the answer of POST /v1/responses/input_tokens.
func AppendInputTokens(dst []byte, n int) []byte {
	return append(appendCount(dst, `{"object":"response.input_tokens","input_tokens":`, n), '}')
}
