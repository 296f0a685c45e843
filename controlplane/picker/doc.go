// Package picker chooses a pool's server for a request: the one that has most of the prompt in its block cache, if it
// is not too busy. It answers Envoy's ext_proc filter, as the Inference Extension's endpoint picker protocol says.
//
// It knows addresses, loads and hashes of blocks. It does not know prompts, and not how the servers of a pool are found.
package picker
