// Package rawjson checks, reads and writes JSON text (RFC 8259) without reflection, so that it behaves the same under
// Go and TinyGo.
//
// It knows JSON's grammar and its limits. It does not know what any member means.
package rawjson
