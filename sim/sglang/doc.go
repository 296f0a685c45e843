// Package sglang has the paths and the bytes of SGLang: /generate and /v1/completions.
//
// It knows SGLang's contract. It does not know how requests are scheduled, and no other kind of server.
package sglang
