// Package vllm runs vLLM's real server, with a scripted model, for tests: alone, and behind the gateway.
//
// It knows what vLLM answers and how the gateway answers then. It does not know how the server is started: that is
// package engines.
package vllm
