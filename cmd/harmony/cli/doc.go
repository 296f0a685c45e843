// Package cli has what the commands of harmony share: usage errors and exit statuses, listeners, TLS with Envoys, where
// the filter is found, where runs of harmony up are found, and how states are described. The commands version and
// filter are here too, which are about the program itself.
//
// It must not know what a command runs.
package cli
