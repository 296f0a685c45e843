// Package batch simulates how an inference engine of vLLM's kind uses its GPU: which requests are in the batch, which
// blocks of the KV cache hold them, what of a new prompt is in the cache, and how long a step takes.
//
// It knows token ids and durations. It does not know clocks, HTTP, or what the tokens mean.
package batch
