package backend

import (
	"bytes"
	"strconv"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// readLogprobs reads the logprobs object of the legacy completions API, whose arrays have one element per token:
//
//	{"text_offset":[…],"token_logprobs":[-0.1],"tokens":["token_id:7"],
//	 "top_logprobs":[{"token_id:7":-0.1,"token_id:9":-2.5}]}
//
// It stops at the first element that is not a number, so the result may have fewer elements than there are tokens.
func readLogprobs(dst []TokenLogprob, data []byte) []TokenLogprob {
	own, kind := rawjson.Find(data, "token_logprobs")
	if kind == 0 {
		return dst
	}
	it := rawjson.Elements(own)
	for it.Next() && it.Kind == rawjson.Number {
		dst = appendLogprob(dst, it.Value)
	}
	top, _ := rawjson.Find(data, "top_logprobs")
	at := 0
	it = rawjson.Elements(top)
	for ; at < len(dst) && it.Next(); at++ {
		if it.Kind == rawjson.Object {
			dst[at].Top = readAlternatives(dst[at].Top, it.Value)
		}
	}
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
		id, err := strconv.ParseUint(rawjson.View(digits), 10, 32)
		if ok && err == nil && kind == jsonparser.Number {
			dst = appendAlternative(dst, Alternative{ID: uint32(id), Logprob: value})
		}
		return nil
	})
	return dst
}
