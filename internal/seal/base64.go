package seal

import "encoding/base64"

// The package's own encodings are variables, and stand in the module's static data with their tables. TinyGo's collector
// takes bytes of those for pointers there, and keeps what they seem to point to (RATIONALE.md#71). These lie on the
// heap, where it knows that they have none.

// standardBase64 is what keys are written in.
func standardBase64() *base64.Encoding {
	return base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

// urlBase64 is what sealed texts are written in. It is strict: bits behind the last byte that are not zero are refused. Otherwise
// a sealed text had several spellings.
func urlBase64() *base64.Encoding {
	return base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_").WithPadding(base64.NoPadding).Strict()
}
