package clients

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Hash is the SHA-256 of a key.
type Hash [sha256.Size]byte

const (
	hashPrefix = "sha256:"
	// keyPrefix begins the keys that [NewKey] makes. Clients and scanners for secrets expect sk-.
	keyPrefix = "sk-harmony-"
)

// NewKey returns a new key of 256 random bits.
func NewKey() string {
	var drawn [32]byte
	_, _ = rand.Read(drawn[:]) // never fails
	return keyPrefix + base64.RawURLEncoding.EncodeToString(drawn[:])
}

// HashOf returns the hash of a key.
func HashOf(key string) Hash { return sha256.Sum256([]byte(key)) }

// String returns the hash as it is written in the file.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// ParseHash is the inverse of [Hash.String].
func ParseHash(text string) (Hash, error) {
	digits, ok := strings.CutPrefix(text, hashPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size {
		// The text is not repeated: it may be a key.
		return Hash{}, errors.New("is not a hash; write sha256: and 64 hexadecimal digits, as harmony keys new prints it")
	}
	return Hash(raw), nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (h *Hash) UnmarshalYAML(node ast.Node) error {
	token := node.GetToken()
	text := ""
	if _, ok := node.(ast.ScalarNode); ok {
		text = token.Value
	}
	var err error
	if *h, err = ParseHash(text); err != nil {
		return &Error{Line: token.Position.Line, Field: strings.TrimPrefix(node.GetPath(), "$."), Reason: err.Error()}
	}
	return nil
}
