package openai

import (
	"bytes"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// TokenIDs are the ids of a prompt and of what was sampled after it, and the logprob of each sampled id. The last item
// of a response has them, and so has a Chat message (docs/token-ids.md). A client sends them back with its history.
type TokenIDs struct{ prompt, sampled, logprobs value }

// NewTokenIDs returns TokenIDs of three JSON arrays of numbers.
func NewTokenIDs(prompt, sampled, logprobs []byte) *TokenIDs {
	return &TokenIDs{
		prompt: value{kind: rawjson.Array, raw: prompt}, sampled: value{kind: rawjson.Array, raw: sampled},
		logprobs: value{kind: rawjson.Array, raw: logprobs},
	}
}

// The names of the members.
const (
	memberPromptIDs  = "prompt_token_ids"
	memberSampledIDs = "generation_token_ids"
	memberLogprobs   = "generation_log_probs"
)

// place returns where the value of a member with this name is kept, or nil for any other name.
func (t *TokenIDs) place(name string) *value {
	switch name {
	case memberPromptIDs:
		return &t.prompt
	case memberSampledIDs:
		return &t.sampled
	case memberLogprobs:
		return &t.logprobs
	}
	return nil
}

// isTokenIDs reports whether a member is one of [TokenIDs].
func isTokenIDs(key []byte) bool {
	switch rawjson.View(key) {
	case memberPromptIDs, memberSampledIDs, memberLogprobs:
		return true
	}
	return false
}

// readTokenIDs keeps the value of a member that is one of [TokenIDs], and does not look at it. Without such members
// *dst stays nil.
func readTokenIDs(dst **TokenIDs, key []byte, v value) {
	if !v.given() || !isTokenIDs(key) {
		return
	}
	if *dst == nil {
		*dst = new(TokenIDs)
	}
	*(*dst).place(rawjson.View(key)) = v
}

// Check checks the members of a request's item or message. at is its place. All of them must be there. A nil t has
// none.
func (t *TokenIDs) Check(at string) *Error {
	if t == nil {
		return nil
	}
	if _, err := t.prompt.readNumbers(join(at, memberPromptIDs), true); err != nil {
		return err
	}
	sampled, err := t.sampled.readNumbers(join(at, memberSampledIDs), true)
	if err != nil {
		return err
	}
	param := join(at, memberLogprobs)
	logprobs, err := t.logprobs.readNumbers(param, false)
	if err == nil && logprobs != sampled {
		err = Invalid(param, "Invalid '"+param+"': expected one number for each of the "+strconv.Itoa(sampled)+
			" elements of '"+memberSampledIDs+"', but got "+strconv.Itoa(logprobs)+".")
	}
	return err
}

// readNumbers returns the number of elements of an array of numbers: of whole ones if whole is set.
func (v value) readNumbers(param string, whole bool) (int, *Error) {
	n, ok := v.numbers(whole)
	switch {
	case ok:
		return n, nil
	case v.kind == 0:
		return 0, missing(param)
	case whole:
		return 0, wrongType(param, "an array of integers", v)
	default:
		return 0, wrongType(param, "an array of numbers", v)
	}
}

// numbers returns the number of elements of an array, and reports whether all of them are numbers. With whole they have
// digits only, as ids have. The array is JSON that our own scanner has accepted, so its bytes tell.
func (v value) numbers(whole bool) (n int, ok bool) {
	if v.kind != rawjson.Array || len(v.raw) == 0 {
		return 0, false
	}
	empty := true
	for _, c := range v.raw[1:] {
		switch c {
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			empty = false
		case ',':
			n++
		case '.', '-', '+', 'e', 'E':
			if whole {
				return 0, false
			}
		case '"', '{', '[', 't', 'f', 'n':
			return 0, false
		}
	}
	if !empty {
		n++
	}
	return n, true
}

// Count returns the number of sampled ids, or 0 if they are not an array of whole numbers.
func (t *TokenIDs) Count() int {
	n, ok := t.sampled.numbers(true)
	if !ok {
		return 0
	}
	return n
}

// maxHeaderIDs is the maximum length of the header of a message that a prompt ends with, in ids.
const maxHeaderIDs = 256

// AppendMessages appends the ids of the messages that were sampled, and before them those of the header's beginning
// with which the prompt ends. So the first is that of <|start|>, which is start. It reports whether they could be read.
// Without Check it is wrong to call it.
func (t *TokenIDs) AppendMessages(dst []uint32, start uint32) ([]uint32, bool) {
	header := t.prompt.lastFrom(strconv.FormatUint(uint64(start), 10))
	from := len(dst)
	dst, ok := appendNumbers(dst, header)
	if !ok || len(dst) == from || len(dst)-from > maxHeaderIDs {
		return dst[:from], false
	}
	return appendNumbers(dst, t.sampled.raw)
}

// lastFrom returns the end of an array, from the last number on that is spelled so. It is empty if there is none.
func (v value) lastFrom(number string) []byte {
	raw := v.raw
	for {
		at := bytes.LastIndex(raw, []byte(number))
		if at < 0 {
			return nil
		}
		end := at + len(number)
		if (at == 0 || !isDigit(v.raw[at-1])) && (end == len(v.raw) || !isDigit(v.raw[end])) {
			return v.raw[at:]
		}
		raw = raw[:end-1]
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// appendNumbers appends the numbers of an array, or of the end of one. It reports whether all of them may be ids.
func appendNumbers(dst []uint32, raw []byte) ([]uint32, bool) {
	for i := 0; i < len(raw); i++ {
		if !isDigit(raw[i]) {
			continue
		}
		id := uint32(0)
		for ; i < len(raw) && isDigit(raw[i]); i++ {
			if id = id*10 + uint32(raw[i]-'0'); id > maxID {
				return dst, false
			}
		}
		dst = append(dst, id)
	}
	return dst, true
}

// maxID is far above every id of a vocabulary.
const maxID = 1 << 24

// AppendMembers appends the members to an object's, which dst ends with. A nil t has none.
func (t *TokenIDs) AppendMembers(dst []byte) []byte {
	if t == nil {
		return dst
	}
	for _, name := range [...]string{memberPromptIDs, memberSampledIDs, memberLogprobs} {
		if last := dst[len(dst)-1]; last != '{' && last != ',' {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), name...), `":`...)
		dst = append(dst, t.place(name).raw...)
	}
	return dst
}

// TokenIDValues returns how many values of the body are ids or logprobs of the [TokenIDs] of its history. They take no
// memory of their own.
func (b *Body) TokenIDValues() int {
	n := 0
	ends := b.root.ends
	root := ends.Members(b.root.raw, b.root.at)
	for root.Next() {
		name := rawjson.View(root.Key)
		if root.Kind != rawjson.Array || name != "messages" && name != "input" {
			continue
		}
		from := b.root.at + root.End - len(root.Value)
		history := ends.Elements(root.Value, from)
		for history.Next() {
			if history.Kind != rawjson.Object {
				continue
			}
			members := ends.Members(history.Value, from+history.End-len(history.Value))
			for members.Next() {
				if isTokenIDs(members.Key) {
					more, _ := value{kind: members.Kind, raw: members.Value}.numbers(false)
					n += more
				}
			}
		}
	}
	return n
}
