// Package rustfrontend runs vLLM's Rust front end, `vllm-rs frontend` out of vLLM's wheel, before an engine of our own: the
// front end's HTTP server, its checks and its answers are the real ones, and the tokens are a script's or the simulated
// model's, without a GPU.
//
// It knows how the front end speaks with its engine (ZeroMQ, msgpack) and nothing of the gateway.
package rustfrontend
