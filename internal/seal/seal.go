package seal

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// Bound is what a sealed text belongs to. The text opens only with the same values.
type Bound struct {
	// Model is the model that wrote the text.
	Model string
	// Tenant separates the users of a shared gateway. It is the value of a header of their requests, or empty.
	Tenant string
}

// Form is what a sealed text is. It is the version that the text begins with, so one form does not open as another.
type Form byte

// The forms. 2 is that of a record.
const (
	// Text is reasoning as text.
	Text Form = 1
	// Message is reasoning as the ids with which the model has written it, and Turn a whole answer as such ids.
	Message Form = 3
	Turn    Form = 4
)

// A sealed text is URL-safe base64 of
//
//	form | length of the id | the key's id | expiry, 8 bytes | nonce, 24 bytes | text and tag
//
// The tag covers everything before the nonce, and the [Bound].
const (
	overhead = chacha20poly1305.Overhead
	// minLength is the length of an empty text sealed with an empty id.
	minLength = 2 + expiryLength + chacha20poly1305.NonceSizeX + overhead
	// expiryLength is the length of a time in Unix seconds.
	expiryLength = 8
)

// Seal appends the sealed text to dst, in the form [Text]. It can be opened until expires, in Unix seconds. An error
// means that the host has no random numbers.
func (k *Keys) Seal(dst, text []byte, b Bound, expires int64) ([]byte, error) {
	return k.SealAs(Text, dst, text, b, expires)
}

// SealAs is [Keys.Seal] in another form.
func (k *Keys) SealAs(form Form, dst, text []byte, b Bound, expires int64) ([]byte, error) {
	first := &k.keys[0]
	sealed := make([]byte, 0, minLength+len(first.id)+len(text))
	sealed = append(sealed, byte(form), byte(len(first.id)))
	sealed = append(sealed, first.id...)
	sealed = appendTime(sealed, expires)
	covered := b.appendTo(sealed)
	from := len(sealed)
	sealed = sealed[:from+chacha20poly1305.NonceSizeX]
	nonce := sealed[from:]
	if err := random(nonce); err != nil {
		return dst, err
	}
	sealed = first.aead.Seal(sealed, nonce, text, covered)
	return urlBase64().AppendEncode(dst, sealed), nil
}

// The reasons why a text does not open.
var (
	// ErrForeign means that the text was not sealed with one of the keys, was changed since, or belongs to another model
	// or tenant. These cases cannot be distinguished.
	ErrForeign = errors.New("it was not sealed here, for this model and this client, or it was changed")
	// ErrUnknownKey means that the key that sealed the text is not among the keys.
	ErrUnknownKey = errors.New("the key that it was sealed with is not in use any more")
	// ErrExpired means that the text has expired.
	ErrExpired = errors.New("it has expired")
)

// Open returns the text that was sealed in the form [Text]. It overwrites sealed and lies in its memory, because large
// copies are expensive for the collector of a wasm VM. now is in Unix seconds.
func (k *Keys) Open(sealed []byte, b Bound, now int64) ([]byte, error) {
	text, form, err := k.OpenAny(sealed, b, now)
	if err == nil && form != Text {
		return nil, ErrForeign
	}
	return text, err
}

// OpenAny is [Keys.Open] of a text in any form, which it returns too.
func (k *Keys) OpenAny(sealed []byte, b Bound, now int64) ([]byte, Form, error) {
	text, form, _, err := k.OpenUntil(sealed, b, now)
	return text, form, err
}

// OpenUntil is [Keys.OpenAny], and also returns the time from which on the text cannot be opened, in Unix seconds.
func (k *Keys) OpenUntil(sealed []byte, b Bound, now int64) (text []byte, form Form, until int64, err error) {
	if len(sealed) == 0 {
		return nil, 0, 0, ErrForeign
	}
	if text, err = k.open(sealed, b, now); err != nil {
		return nil, 0, 0, err
	}
	idEnd := 2 + int(sealed[1])
	return text, Form(sealed[0]), readTime(sealed[idEnd : idEnd+expiryLength]), nil
}

// open decodes sealed in its own memory. Its first byte is the form then.
func (k *Keys) open(sealed []byte, b Bound, now int64) ([]byte, error) {
	if bytes.IndexByte(sealed, '\n') >= 0 || bytes.IndexByte(sealed, '\r') >= 0 {
		return nil, ErrForeign // even a strict decoder ignores line ends
	}
	n, err := urlBase64().Decode(sealed, sealed)
	if err != nil || n < minLength || !isForm(sealed[0]) {
		return nil, ErrForeign
	}
	sealed = sealed[:n]
	idEnd := 2 + int(sealed[1])
	nonceAt := idEnd + expiryLength
	textAt := nonceAt + chacha20poly1305.NonceSizeX
	if len(sealed) < textAt+overhead {
		return nil, ErrForeign
	}
	key := k.find(string(sealed[2:idEnd]))
	if key == nil {
		return nil, ErrUnknownKey
	}
	// The expiry counts only after opening, because the tag covers it.
	covered := b.appendTo(sealed[:nonceAt:nonceAt])
	opened, err := key.aead.Open(sealed[textAt:textAt], sealed[nonceAt:textAt], sealed[textAt:], covered)
	if err != nil {
		return nil, ErrForeign
	}
	if now >= readTime(sealed[idEnd:nonceAt]) {
		return nil, ErrExpired
	}
	return opened, nil
}

// headPart is how much of a sealed text is decoded for its head, in characters: a multiple of four that holds the
// longest id.
const headPart = (2+maxID+2)/3*4 + 4

// Ours reports whether a text has the form of a sealed one. Of other services' texts nearly none has.
func Ours(sealed []byte) bool {
	var head [headPart]byte
	encoding := urlBase64()
	if len(sealed) < encoding.EncodedLen(minLength) {
		return false
	}
	n, err := encoding.Decode(head[:], sealed[:min(len(sealed), headPart)/4*4])
	if err != nil || n < 2 || !isForm(head[0]) || 2+int(head[1]) > n {
		return false
	}
	return validID(string(head[2 : 2+int(head[1])]))
}

func isForm(version byte) bool {
	switch Form(version) {
	case Text, Message, Turn:
		return true
	}
	return false
}

// appendTo appends the encoding of b to head. The tenant is hashed, because its header may be a secret.
func (b Bound) appendTo(head []byte) []byte {
	tenant := sha256.Sum256([]byte(b.Tenant))
	covered := make([]byte, 0, len(head)+len(tenant)+len(b.Model))
	covered = append(covered, head...)
	covered = append(covered, tenant[:]...)
	return append(covered, b.Model...)
}

func appendTime(dst []byte, t int64) []byte {
	for shift := 56; shift >= 0; shift -= 8 {
		dst = append(dst, byte(uint64(t)>>shift))
	}
	return dst
}

func readTime(b []byte) int64 {
	t := uint64(0)
	for _, c := range b {
		t = t<<8 | uint64(c)
	}
	return int64(t)
}
