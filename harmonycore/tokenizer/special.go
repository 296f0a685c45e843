package tokenizer

import "unsafe"

// The control tokens that the format uses (docs/harmony-format.md#tokens).
const (
	StartOfText = 199998 // <|startoftext|>, unused by the format
	EndOfText   = 199999 // <|endoftext|>, unused by the format
	Return      = 200002 // <|return|>: the assistant's answer ends
	Constrain   = 200003 // <|constrain|>: a content type follows
	Channel     = 200005 // <|channel|>: a channel follows
	Start       = 200006 // <|start|>: a message begins
	End         = 200007 // <|end|>: a message ends
	Message     = 200008 // <|message|>: the header ends
	Call        = 200012 // <|call|>: the assistant calls a tool
)

// FirstSpecial to [LastSpecial] are all special. Those without a name are reserved. [StartOfText] and [EndOfText] lie
// before them.
const (
	FirstSpecial = 200000
	LastSpecial  = 201088
)

// specialBase is the first special id. All ordinary ranks are lower.
const specialBase = StartOfText

// names are the spellings of the special ids from specialBase on. Ids with "" and later ids are reserved.
var names = [...]string{
	StartOfText - specialBase: "<|startoftext|>",
	EndOfText - specialBase:   "<|endoftext|>",
	Return - specialBase:      "<|return|>",
	Constrain - specialBase:   "<|constrain|>",
	Channel - specialBase:     "<|channel|>",
	Start - specialBase:       "<|start|>",
	End - specialBase:         "<|end|>",
	Message - specialBase:     "<|message|>",
	Call - specialBase:        "<|call|>",
}

const (
	reservedHead = "<|reserved_"
	reservedSize = len(reservedHead) + 6 + len("|>") // six digits
)

// reserved holds the spellings of all special ids in a row, as if each were reserved. So [Tokenizer.TokenBytes] can
// return a view of it without an allocation.
var reserved = func() []byte {
	var all []byte
	for id := specialBase; id <= LastSpecial; id++ {
		all = append(all, reservedHead...)
		for unit := 100000; unit > 0; unit /= 10 {
			all = append(all, '0'+byte(id/unit%10))
		}
		all = append(all, "|>"...)
	}
	return all
}()

// IsSpecial reports whether id is a control token, to which no ordinary text can encode.
func IsSpecial(id uint32) bool { return id >= specialBase && id <= LastSpecial }

// SpecialName returns the spelling of a special id, such as "<|start|>" or "<|reserved_200000|>". ok is false for any
// other id.
func SpecialName(id uint32) (name string, ok bool) {
	b, ok := specialBytes(id)
	return unsafe.String(unsafe.SliceData(b), len(b)), ok // they never change
}

func specialBytes(id uint32) ([]byte, bool) {
	if !IsSpecial(id) {
		return nil, false
	}
	i := int(id - specialBase)
	if i < len(names) && names[i] != "" {
		return view(names[i]), true
	}
	at := i * reservedSize
	if at+reservedSize > len(reserved) {
		return nil, false
	}
	return reserved[at : at+reservedSize : at+reservedSize], true
}

// LongestSpecial is the longest spelling of a special token, in bytes.
const LongestSpecial = reservedSize

// MatchSpecial looks for the spelling of a special token at the beginning of text, which may be cut anywhere. It
// returns the token's id and the spelling's size in bytes. Without a match size is 0, and partial reports whether more
// bytes may complete one. It never allocates.
func MatchSpecial(text []byte) (id uint32, size int, partial bool) {
	for i, name := range names {
		if name == "" || !prefixesMatch(text, name) {
			continue
		}
		if len(text) >= len(name) {
			return specialBase + uint32(i), len(name), false
		}
		partial = true
	}
	if partial || !prefixesMatch(text, reservedHead) {
		return 0, 0, partial
	}
	for i := len(reservedHead); i < min(len(text), reservedSize-len("|>")); i++ {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		id = id*10 + uint32(c-'0')
	}
	switch {
	case len(text) < reservedSize:
		at := min(len(text), reservedSize-len("|>"))
		return 0, 0, prefixesMatch(text[at:], "|>")
	case !prefixesMatch(text[reservedSize-len("|>"):], "|>"), !IsSpecial(id):
		return 0, 0, false
	}
	// A named token has no second spelling.
	if i := int(id - specialBase); i < len(names) && names[i] != "" {
		return 0, 0, false
	}
	return id, reservedSize, false
}

// prefixesMatch reports whether text and word are equal up to the end of the shorter one.
func prefixesMatch(text []byte, word string) bool {
	for i := range min(len(text), len(word)) {
		if text[i] != word[i] {
			return false
		}
	}
	return true
}

// findSpecial returns the place, the size in bytes and the id of the first spelling of a special token in text. Without
// one it returns len(text) and size 0.
func findSpecial(text string) (at, size int, id uint32) {
	for at = 0; at+1 < len(text); at++ {
		if text[at] != '<' || text[at+1] != '|' {
			continue
		}
		if size, id = specialAt(text[at:]); size > 0 {
			return at, size, id
		}
	}
	return len(text), 0, 0
}

// specialAt matches a spelling at the start of text.
func specialAt(text string) (size int, id uint32) {
	for i, name := range names {
		if name != "" && len(text) >= len(name) && text[:len(name)] == name {
			return len(name), specialBase + uint32(i)
		}
	}
	if len(text) < reservedSize || text[:len(reservedHead)] != reservedHead {
		return 0, 0
	}
	for _, c := range []byte(text[len(reservedHead) : len(reservedHead)+6]) {
		if c < '0' || c > '9' {
			return 0, 0
		}
		id = id*10 + uint32(c-'0')
	}
	// A named token has no second spelling. specialBytes finds these tokens.
	if name, ok := specialBytes(id); ok && string(name) == text[:reservedSize] {
		return reservedSize, id
	}
	return 0, 0
}
