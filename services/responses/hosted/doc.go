// Package hosted knows the tools of a request that the service runs: which they are, by whom they are run, what the
// gateway is told of them, and what their calls are.
//
// It knows the API's tools and the operator's settings of them. It does not know when a model is asked, and calls
// nothing.
package hosted
