// Package server is the control plane as a whole: it reads the operator's configuration, again at each change, follows the
// pools' servers, gives Envoys what comes of both, and tells over HTTP how things stand.
//
// It knows in which order things happen and what is kept when one of them fails, not how Envoy's resources look, how
// servers are found or how Envoys are told.
package server
