// Package trtllm has the paths and the bytes of TensorRT-LLM's trtllm-serve.
//
// It knows TensorRT-LLM's contract. It does not know how requests are scheduled, and no other kind of server.
package trtllm
