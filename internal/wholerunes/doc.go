// Package wholerunes makes valid UTF-8 of bytes that come in pieces.
//
// It does not know where the bytes come from.
package wholerunes
