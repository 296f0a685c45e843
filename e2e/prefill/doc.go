// Package prefill tests requests that two servers share: one reads or renders the prompt, another writes the answer. In
// Envoy and in the wazero host, with simulated servers of vLLM and SGLang that are strict about it.
//
// It knows what servers and clients see, the access log and the filter's counts. It does not know how the filter calls
// servers.
package prefill
