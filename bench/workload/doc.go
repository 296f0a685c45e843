// Package workload makes the conversations with which routing is measured: who talks when, what is said, and what is the
// same in several conversations. The same seed always makes the same ones.
//
// It knows the messages of Chat Completions, and their prompts. It does not know servers, caches or policies.
package workload
