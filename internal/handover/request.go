package handover

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// A request that is to be handed over has the header [contract.RelayHeader]
//
//	length of the tail | . | sealed record
//
// The tail comes behind the client's body. It is empty for the first server, and for a later one it has what the marks
// of the answer have said. The record has the time until which the header counts, and covers the tail. Clients do not
// have the keys, so no client can put words into the model's mouth.

// lifetime is how long the header of a request counts, in seconds. The clocks of two machines differ.
const lifetime = 10 * 60

// Sign returns the header's value for a tail. now is in Unix seconds.
func Sign(keys *seal.Keys, tail []byte, now int64) (string, error) {
	record, err := keys.SealRecord(nil, appendTime(nil, now+lifetime), covered(tail))
	if err != nil {
		return "", err
	}
	return strconv.Itoa(len(tail)) + "." + string(seal.AppendBase64(nil, record)), nil
}

// Open takes the tail from a request's body. ok is false if the header's value was not signed here for this tail, or not
// lately. Then it is as if there were no header.
func Open(keys *seal.Keys, value string, body []byte, now int64) (rest, tail []byte, ok bool) {
	length, text, found := strings.Cut(value, ".")
	size, err := strconv.Atoi(length)
	if keys == nil || !found || err != nil || size < 0 || size > len(body) || len(text) > maxRecord {
		return body, nil, false
	}
	rest, tail = body[:len(body)-size], body[len(body)-size:]
	record := seal.DecodeBase64([]byte(text))
	until, err := keys.OpenRecord(record, covered(tail))
	if err != nil || readTime(until) <= now {
		return body, nil, false
	}
	return rest, tail, true
}

// maxRecord is more than any record has, in characters.
const maxRecord = 512

// covered is what a record covers. The words keep other records from being one.
func covered(tail []byte) []byte {
	hash := sha256.Sum256(tail)
	return append([]byte("handover"), hash[:]...)
}

const timeLength = 8

func appendTime(dst []byte, t int64) []byte {
	for shift := 8 * (timeLength - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(uint64(t)>>shift))
	}
	return dst
}

func readTime(b []byte) int64 {
	if len(b) != timeLength {
		return 0
	}
	t := uint64(0)
	for _, c := range b {
		t = t<<8 | uint64(c)
	}
	return int64(t)
}

// encoding returns the encoding of marks. It is on the heap for the reason that package seal gives.
func encoding() *base64.Encoding {
	return base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_").WithPadding(
		base64.NoPadding)
}
