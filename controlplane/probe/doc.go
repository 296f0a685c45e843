// Package probe asks one inference server which program it is, which model it has, and whether the gateway can use it:
// whether it takes token ids, returns them, and has the vocabulary of gpt-oss.
//
// It knows the servers' HTTP, and sends the requests that the filter would send. It does not know configurations,
// pools, or how a report is shown.
package probe
