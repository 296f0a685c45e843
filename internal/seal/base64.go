package seal

import "encoding/base64"

// The encodings of encoding/base64 are variables, so they and their tables are in the module's static data. TinyGo's
// collector takes bytes there for pointers and keeps the memory that they seem to point to (RATIONALE.md#71). These
// encodings are on the heap, where the collector knows that they contain no pointers.

// standardBase64 returns the encoding of keys.
func standardBase64() *base64.Encoding {
	return base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

// AppendBase64 appends b in the encoding of sealed texts.
func AppendBase64(dst, b []byte) []byte { return urlBase64().AppendEncode(dst, b) }

// DecodeBase64 returns what is encoded in b, in b's memory. It is empty if b is not such a text.
func DecodeBase64(b []byte) []byte {
	n, err := urlBase64().Decode(b, b)
	if err != nil {
		return nil
	}
	return b[:n]
}

// urlBase64 returns the encoding of sealed texts. It is strict: it refuses trailing bits that are not zero. Otherwise a
// sealed text would have several spellings.
func urlBase64() *base64.Encoding {
	return base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_").WithPadding(
		base64.NoPadding).Strict()
}
