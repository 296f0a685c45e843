// Package ids tests that llm-d's picker reads the token ids of the gateway's requests.
//
// It knows llm-d. It does not know the gateway: testdata has what the gateway sends.
package ids
