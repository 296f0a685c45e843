package seal

import "golang.org/x/crypto/chacha20poly1305"

// A sealed record is
//
//	version 2 | length of the id | the key's id | nonce, 24 bytes | text and tag
//
// The tag covers the version, the id and what the caller covers.
const recordVersion = 2

// IDs returns the ids of the keys. The first seals.
func (k *Keys) IDs() []string {
	ids := make([]string, len(k.keys))
	for i := range k.keys {
		ids[i] = k.keys[i].id
	}
	return ids
}

// Only returns the keys with one id, or nil if there is none.
func (k *Keys) Only(id string) *Keys {
	if found := k.find(id); found != nil {
		return &Keys{keys: []key{*found}}
	}
	return nil
}

// SealRecord appends a sealed record to dst. It does not expire. It opens only with the same covered bytes.
func (k *Keys) SealRecord(dst, text, covered []byte) ([]byte, error) {
	first := &k.keys[0]
	from := len(dst)
	dst = append(dst, recordVersion, byte(len(first.id)))
	dst = append(dst, first.id...)
	covered = append(dst[from:len(dst):len(dst)], covered...)
	var nonce [chacha20poly1305.NonceSizeX]byte
	if err := random(nonce[:]); err != nil {
		return dst[:from], err
	}
	dst = append(dst, nonce[:]...)
	return first.aead.Seal(dst, nonce[:], text, covered), nil
}

// OpenRecord returns the text of a sealed record. The errors are [ErrForeign] and [ErrUnknownKey].
func (k *Keys) OpenRecord(record, covered []byte) ([]byte, error) {
	if len(record) < 2 || record[0] != recordVersion {
		return nil, ErrForeign
	}
	nonceAt := 2 + int(record[1])
	textAt := nonceAt + chacha20poly1305.NonceSizeX
	if len(record) < textAt+overhead {
		return nil, ErrForeign
	}
	key := k.find(string(record[2:nonceAt]))
	if key == nil {
		return nil, ErrUnknownKey
	}
	covered = append(record[:nonceAt:nonceAt], covered...)
	text, err := key.aead.Open(nil, record[nonceAt:textAt], record[textAt:], covered)
	if err != nil {
		return nil, ErrForeign
	}
	return text, nil
}
