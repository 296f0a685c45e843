package items

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// IncludeSampled is the value of include that asks for the ids that a model has sampled, so that the next prompt begins
// with exactly those. OpenAI's API does not have it.
const IncludeSampled = "turn.sampled_ids"

// MemberSampled is the member with those ids. The last item of an answer has it: sealed, or behind [plainIDs].
const MemberSampled = "sampled_ids"

// plainIDs begins ids that are not sealed. The gateway takes those too: ids can only say how a text is spelled.
const plainIDs = "ids1:"

// HiddenSampled is the member of a stored item with the ids of [MemberSampled], opened: they outlive the key that has
// sealed them.
const HiddenSampled = HiddenPrefix + MemberSampled

// OpenSampled returns an item whose ids only the service sees, opened. Ids that cannot be opened are left out: the text
// is what the item says, and ids only say how it was spelled. asked reports whether the client gets the member too.
func (s *Sealer) OpenSampled(raw json.RawMessage, bound *seal.Bound, asked bool) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"`+MemberSampled+`"`)) {
		return raw
	}
	rest, value := cutMember(raw, MemberSampled)
	if value == nil {
		return raw
	}
	sealed := ""
	_ = json.Unmarshal(value, &sealed)
	if !asked {
		raw = rest
	}
	ids := s.openIDs(sealed, bound)
	if ids == "" {
		return raw
	}
	return withMember(raw, HiddenSampled, ids)
}

// TakeIDs opens the ids of an item that a client has sent. A client that sends none costs nothing.
func (s *Sealer) TakeIDs(fields map[string]json.RawMessage, bound *seal.Bound) {
	value, has := fields[MemberSampled]
	if !has {
		return
	}
	delete(fields, MemberSampled)
	sealed := ""
	_ = json.Unmarshal(OrNull(value), &sealed) // what is no text is no ids either
	if ids := s.openIDs(sealed, bound); ids != "" {
		fields[HiddenSampled] = JSON(ids)
	}
}

// openIDs returns ids as they are stored, or nothing.
func (s *Sealer) openIDs(sealed string, bound *seal.Bound) string {
	if text, isClear := strings.CutPrefix(sealed, plainIDs); isClear {
		ids, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return ""
		}
		return base64.RawURLEncoding.EncodeToString(ids) // a decoder passes over line ends
	}
	if s.Keys == nil || sealed == "" || bound.Model == "" {
		return ""
	}
	ids, form, err := s.Keys.OpenAny([]byte(sealed), *bound, s.Now().Unix())
	if err != nil || form != seal.Turn {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(ids)
}

// sampledForClient gives what a client gets of a stored item its ids, if the client asks for them.
func (s *Sealer) sampledForClient(shown json.RawMessage, ids string, bound *seal.Bound,
	include []string) json.RawMessage {
	if ids == "" || !slices.Contains(include, IncludeSampled) {
		return shown
	}
	if s.Keys == nil {
		return withMember(shown, MemberSampled, plainIDs+ids)
	}
	opened, err := base64.RawURLEncoding.DecodeString(ids)
	if err != nil || bound.Model == "" {
		return shown
	}
	sealed, err := s.Keys.SealAs(seal.Turn, nil, opened, *bound, s.Now().Add(s.Lifetime).Unix())
	if err != nil {
		s.Log.Error("sampled ids were not sealed", "error", err)
		return shown
	}
	return withMember(shown, MemberSampled, string(sealed))
}

// TakeSampled returns an item without the ids that only the service sees, and them.
func TakeSampled(raw json.RawMessage) (rest json.RawMessage, ids string) {
	if !bytes.Contains(raw, []byte(`"`+HiddenSampled+`"`)) {
		return raw, ""
	}
	rest, value := cutMember(raw, HiddenSampled)
	_ = json.Unmarshal(OrNull(value), &ids)
	return rest, ids
}

// WithoutShownIDs returns an item without the ids that its client gets.
func WithoutShownIDs(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"`+MemberSampled+`"`)) {
		return raw
	}
	rest, _ := cutMember(raw, MemberSampled)
	return rest
}

// WithoutSampled returns an item without ids, as it is where they are of no use any more.
func WithoutSampled(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(MemberSampled)) {
		return raw
	}
	raw, _ = cutMember(raw, MemberSampled)
	raw, _ = cutMember(raw, HiddenSampled)
	return raw
}

// DropIDs leaves out the ids of stored items that take more room than the texts that they are about: so a conversation
// that is stored with ids has at most twice the size that it would have. With all, it leaves out all.
func DropIDs(list []store.Item, all bool) {
	texts := 0
	for i := range list {
		rest, ids := TakeSampled(list[i].Body)
		texts += len(rest)
		if all || len(ids) > texts {
			list[i].Body = rest
		}
		if ids != "" {
			texts = 0
		}
	}
}

// TextSize is the size of a stored item without its ids, which are left out where a conversation would be too large
// with them.
func TextSize(item *store.Item) int64 {
	rest, _ := TakeSampled(item.Body)
	return int64(len(rest))
}

// textOfIDs returns the text of reasoning that was sealed as ids: how many there are, the ids of its message, and those
// of the header of a call that followed. Each has seven bits in a byte, the low ones first, and its last byte no eighth
// bit.
func textOfIDs(packed []byte) ([]byte, error) {
	var ids []uint32
	for len(packed) > 0 {
		id, n := binary.Uvarint(packed)
		if n <= 0 || id > math.MaxUint32 {
			return nil, seal.ErrForeign
		}
		ids, packed = append(ids, uint32(id)), packed[n:]
	}
	if len(ids) == 0 || uint64(ids[0]) > uint64(len(ids)-1) {
		return nil, seal.ErrForeign
	}
	ids = ids[1 : 1+ids[0]]
	from := slices.Index(ids, tokenizer.Message) + 1
	to := from + slices.IndexFunc(ids[from:], tokenizer.IsSpecial)
	if to < from {
		to = len(ids)
	}
	text, known := o200k.Tokenizer().AppendDecode(nil, ids[from:to])
	if from == 0 || !known || !utf8.Valid(text) {
		return nil, seal.ErrForeign
	}
	return text, nil
}

// sampledForModel gives what the model gets for an item its ids. They are the call's if the item is a call with its
// result.
func sampledForModel(plain []json.RawMessage, ids string) []json.RawMessage {
	if ids == "" || len(plain) == 0 {
		return plain
	}
	return append([]json.RawMessage{withMember(plain[0], MemberSampled, plainIDs+ids)}, plain[1:]...)
}

// cutMember returns an object without a member, and the member's value. The value is nil if there is none.
func cutMember(raw json.RawMessage, name string) (rest, value json.RawMessage) {
	last := 0
	members := rawjson.Members(raw)
	for members.Next() {
		from, to := last, members.End
		if last == 0 {
			from = rawjson.Space(raw, 0) + 1
			if next := rawjson.Space(raw, to); next < len(raw) && raw[next] == ',' {
				to = next + 1 // no comma is before it
			}
		}
		last = members.End
		if rawjson.View(members.Key) != name {
			continue
		}
		value = raw[members.End-len(members.Value) : members.End]
		if members.Kind == rawjson.String {
			value = raw[members.End-len(members.Value)-2 : members.End]
		}
		return slices.Concat(raw[:from], raw[to:]), value
	}
	return raw, nil
}

// withMember returns an object with another member, a text that needs no escapes, at its end.
func withMember(raw json.RawMessage, name, text string) json.RawMessage {
	end := bytes.LastIndexByte(raw, '}')
	if end < 0 {
		return raw
	}
	comma := ","
	if before := bytes.TrimRight(raw[:end], " \t\r\n"); len(before) > 0 && before[len(before)-1] == '{' {
		comma = ""
	}
	return slices.Concat(raw[:end], []byte(comma+`"`+name+`":"`+text+`"`), raw[end:])
}
