package backend

import (
	"bytes"
	"strconv"

	"github.com/buger/jsonparser"
)

// readLogprobs reads the logprobs object of the legacy completions API, whose arrays have one element per token:
//
//	{"text_offset":[…],"token_logprobs":[-0.1],"tokens":["token_id:7"],
//	 "top_logprobs":[{"token_id:7":-0.1,"token_id:9":-2.5}]}
//
// It stops at the first element that is not a number, so the result may have fewer elements than there are tokens.
func readLogprobs(dst []TokenLogprob, data []byte) []TokenLogprob {
	tokenOnly, _, _, err := jsonparser.Get(data, "token_logprobs")
	if err != nil {
		return dst
	}
	invalid := false
	_, _ = jsonparser.ArrayEach(tokenOnly, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		if invalid = invalid || kind != jsonparser.Number; invalid {
			return
		}
		dst = appendLogprob(dst, value)
	})
	top, _, _, err := jsonparser.Get(data, "top_logprobs")
	if err != nil {
		return dst
	}
	at := 0
	_, _ = jsonparser.ArrayEach(top, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		if at < len(dst) && kind == jsonparser.Object {
			dst[at].Top = readAlternatives(dst[at].Top, value)
		}
		at++
	})
	return dst
}

// appendLogprob appends the logprob of a token, without alternatives. It reuses the memory of an earlier event's.
func appendLogprob(dst []TokenLogprob, logprob []byte) []TokenLogprob {
	if len(dst) < cap(dst) {
		dst = dst[:len(dst)+1]
	} else {
		dst = append(dst, TokenLogprob{})
	}
	last := &dst[len(dst)-1]
	*last = TokenLogprob{Logprob: logprob, Top: last.Top[:0]}
	return dst
}

var tokenIDPrefix = []byte("token_id:")

func readAlternatives(dst []Alternative, data []byte) []Alternative {
	_ = jsonparser.ObjectEach(data, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		digits, ok := bytes.CutPrefix(key, tokenIDPrefix)
		id, err := strconv.ParseUint(string(digits), 10, 32)
		if ok && err == nil && kind == jsonparser.Number {
			dst = appendAlternative(dst, Alternative{ID: uint32(id), Logprob: value})
		}
		return nil
	})
	return dst
}
