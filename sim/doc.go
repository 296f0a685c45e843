// Package sim is a GPU server without a GPU: it honours vLLM's /v1/completions contract and answers Harmony prompts
// as a small gpt-oss would, deterministically, with the faults that a test asks for. Under a structural tag it says what
// keeps to the tag, and refuses a script that does not.
//
// It knows vLLM's wire contract and token ids, and nothing of the gateway: it shares no translation, rendering or
// parsing code with the filter, only the vocabulary, so that an error of the filter cannot be its own witness.
package sim
