package seal

import (
	"crypto/cipher"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// Keys are the keys that texts are sealed with. The first one seals; all of them open. To change keys without
// interruption, put the new key first, and remove the old one when everything it has sealed has expired.
type Keys struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

// The limits of [ParseKeys].
const (
	maxKeys = 16
	maxID   = 32
)

// ParseKeys reads keys in the form ID:BASE64,ID:BASE64,… An id has up to 32 letters, digits, hyphens and underscores
// and is not secret; a key has 32 bytes. An empty text means no keys and gives nil. Errors name a key's position and
// id, never a part of the key.
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

// spaces are the characters allowed around keys. [strings.TrimSpace] would add the tables of Unicode's spaces, whose
// numbers the collector takes for pointers.
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
