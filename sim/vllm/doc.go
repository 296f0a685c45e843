// Package vllm has the paths and the bytes of vLLM: /v1/completions behind both of its front ends, of today and of an
// older version, and /inference/v1/generate.
//
// It knows vLLM's contract. It does not know how requests are scheduled, and no other kind of server.
package vllm
