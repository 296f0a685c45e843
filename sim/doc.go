// Package sim is a GPU server without a GPU. It speaks the API of one of several kinds of servers. It answers Harmony
// prompts deterministically, as a small gpt-oss would, with the faults that a test asks for. Under a structural tag it
// writes only what fits the tag, and refuses a script that does not.
//
// It chooses the kind, and hands on the names that users of a server need. Package server serves requests, gptoss
// writes the answers, and each program has a package with its paths and its bytes. The arrows go one way: sim → {vllm,
// sglang, openai, …} → server → gptoss, and openai → vllm.
//
// It knows the servers' wire contracts and token ids. It does not know the gateway. It shares only the vocabulary with
// the filter, but no code for translation, rendering or parsing, so that an error in the filter cannot confirm itself.
package sim
