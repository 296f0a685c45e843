// Package seal encrypts texts that a client carries from one request to the next. The client can neither read nor
// change them, nor use them elsewhere.
//
// It does not know what the texts are or where keys come from.
package seal
