// Package found says what a probe of an inference server has found, for harmony probe and harmony up: the configuration
// file for the server, and the command line that does the same.
//
// It must not know what is done with a file.
package found
