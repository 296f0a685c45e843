package seal

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// Bound is what a sealed text belongs to. It opens nowhere else.
type Bound struct {
	// Model is the model that said it.
	Model string
	// Tenant tells apart those who share a gateway: the value of a header that their requests have, or nothing.
	Tenant string
}

// A sealed text is URL-safe base64 of
//
//	version 1 | length of the id | the key's id | expiry, 8 bytes | nonce, 24 bytes | text and tag
//
// The tag covers all that stands before the nonce, and Bound.
const (
	version  = 1
	overhead = chacha20poly1305.Overhead
	// leastLength is that of an empty text sealed with an id of no letters.
	leastLength = 2 + expiryLength + chacha20poly1305.NonceSizeX + overhead
	// expiryLength is that of a time in Unix seconds.
	expiryLength = 8
)

// Seal appends the sealed text to dst. It opens until expires, in Unix seconds. The error is the host's, which has no random
// numbers to give.
func (k *Keys) Seal(dst, text []byte, b Bound, expires int64) ([]byte, error) {
	first := &k.keys[0]
	sealed := make([]byte, 0, leastLength+len(first.id)+len(text))
	sealed = append(sealed, version, byte(len(first.id)))
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

// Why a text does not open.
var (
	// ErrForeign is a text that nobody here has sealed, that was changed since, or that belongs to another model or tenant:
	// these cannot be told apart.
	ErrForeign = errors.New("it was not sealed here, for this model and this client, or it was changed")
	// ErrUnknownKey is a text sealed with a key that is not there any more.
	ErrUnknownKey = errors.New("the key that it was sealed with is not in use any more")
	// ErrExpired is a text whose time is over.
	ErrExpired = errors.New("it has expired")
)

// Open returns the text that was sealed, which then lies in the memory of the sealed one and has overwritten it: a filter's
// requests are large, and large copies are what a wasm VM's collector is worst at. now is in Unix seconds.
func (k *Keys) Open(sealed []byte, b Bound, now int64) ([]byte, error) {
	if bytes.IndexByte(sealed, '\n') >= 0 || bytes.IndexByte(sealed, '\r') >= 0 {
		return nil, ErrForeign // the decoder passes over them, also a strict one
	}
	n, err := urlBase64().Decode(sealed, sealed)
	if err != nil || n < leastLength || sealed[0] != version {
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
	// Opened before its expiry is believed: both are covered by the tag.
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

// appendTo appends what stands for b. The tenant's header may be a secret, and is hashed.
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
