// Package tapjson writes the payloads of package tap, as encoding/json would, without reflection.
//
// It knows the reports of exchanges. It does not know when a payload is written, or how it is sent.
package tapjson
