// Package opening reads the beginning of a server's answer, up to its first token, and says whether the answer has
// failed there. Until then nothing has been generated, so another server can be asked.
//
// It knows how each kind of server answers. It does not know clients, and not who asks another server.
package opening
