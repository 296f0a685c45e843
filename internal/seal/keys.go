package seal

import (
	"crypto/cipher"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// Keys are what texts are sealed with: the first seals, all open. So a key is changed without a break: put the new one in
// front, and take the old one away when what it has sealed has expired.
type Keys struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

// The most that ParseKeys takes.
const (
	maxKeys = 16
	maxID   = 32
)

// ParseKeys reads keys as ID:BASE64,ID:BASE64,… An id has up to 32 letters, digits, hyphens and underscores and is no
// secret; a key has 32 bytes. No keys are an empty text, and then the result is nil. Errors tell a key's place and id, never
// a part of the key.
func ParseKeys(text string) (*Keys, error) {
	text = strings.Trim(text, spaces)
	if text == "" {
		return nil, nil
	}
	k := &Keys{}
	for part := range strings.SplitSeq(text, ",") {
		at := "key " + strconv.Itoa(len(k.keys)+1)
		if len(k.keys) == maxKeys {
			return nil, errors.New("more than " + strconv.Itoa(maxKeys) + " keys")
		}
		id, secret, ok := strings.Cut(strings.Trim(part, spaces), ":")
		if !ok || !validID(id) {
			return nil, errors.New(at + ": write ID:KEY, the id of up to 32 letters, digits, - and _")
		}
		at += " (" + id + ")"
		for i := range k.keys {
			if k.keys[i].id == id {
				return nil, errors.New(at + ": a second key of this id")
			}
		}
		raw, err := standardBase64().DecodeString(secret)
		if err != nil || len(raw) != chacha20poly1305.KeySize {
			return nil, errors.New(at + ": not 32 bytes in base64; make one with: openssl rand -base64 32")
		}
		aead, err := chacha20poly1305.NewX(raw)
		if err != nil {
			return nil, errors.New(at + ": " + err.Error())
		}
		k.keys = append(k.keys, key{id: id, aead: aead})
	}
	return k, nil
}

// spaces may stand around keys. strings.TrimSpace would bring in Unicode's, in a table of which the collector takes numbers
// for pointers.
const spaces = " \t\r\n"

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func (k *Keys) find(id string) *key {
	for i := range k.keys {
		if k.keys[i].id == id {
			return &k.keys[i]
		}
	}
	return nil
}
