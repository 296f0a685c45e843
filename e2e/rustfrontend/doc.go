// Package rustfrontend runs vLLM's Rust front end, `vllm-rs frontend` from vLLM's wheel, with an engine of this
// package. The front end's HTTP server, its checks and its answers are the real ones. The tokens come from a script or
// from the simulated model, without a GPU.
//
// It knows the protocol between the front end and its engine (ZeroMQ, msgpack). It does not know the gateway.
package rustfrontend
