package exchange

import (
	"crypto/sha256"
	"strings"
)

// keyDigits is the length of [Report.ClientKey], in hexadecimal digits.
const keyDigits = 12

// noteKey notes an id of the client's key, if the operator wants it. value is a header's: a bearer token, or a key
// alone. The first header with a key counts, but authorization before the others: a client that shows its key there
// must not choose its id by another.
func (e *Exchange) noteKey(name, value string) {
	authorization := name == "authorization"
	if !e.gateway.options.AccessLogClientKey ||
		e.report.ClientKey != "" && (e.options.authorized || !authorization) {
		return
	}
	if key := keyOf(value); key != "" {
		hash := hashOf(key)
		e.report.ClientKey, e.options.authorized = string(hash[:keyDigits]), authorization
	}
}

// hashOf returns the SHA-256 of a key in hexadecimal digits.
func hashOf(key string) (text [2 * sha256.Size]byte) {
	hash := sha256.Sum256([]byte(key))
	const digits = "0123456789abcdef" // encoding/hex would bring fmt into the module
	for i := range text {
		text[i] = digits[hash[i/2]>>(4-4*(i%2))&15]
	}
	return text
}

// keyOf returns the key in a header's value. Another scheme of authorization is a part of the key.
func keyOf(value string) string {
	const scheme = "bearer "
	if len(value) >= len(scheme) && strings.ToLower(value[:len(scheme)]) == scheme {
		value = value[len(scheme):]
	}
	return strings.Trim(value, " \t")
}
