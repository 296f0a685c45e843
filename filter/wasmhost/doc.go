// Package wasmhost runs a proxy-wasm 0.2 filter in wazero under Envoy's rules: how streams move, which calls a filter
// may make when, and what Envoy does about the others.
//
// It knows the ABI and Envoy's filter manager. It knows no particular filter, and it does not know HTTP on the wire:
// that is the package proxy.
//
// A [Host] is one compiled and configured filter. A [Worker] is one thread of the proxy with a VM of its own. A
// [Stream] is one request and its response. The program that drives a stream pushes both sides in, piece by piece, and
// takes out [Event] values to act on. Tests of filters are easier to write with the package
// [github.com/harmonyedge/harmonyedge/filter/filtertest].
//
// The package's API is stable: docs/library.md lists what stays compatible.
//
// # Differences from proxytest
//
// The emulator of the Go SDK is permissive, and everything that it permits hides a mistake that shows only in
// production. The rules here were observed on Envoy 1.40 with a probe filter and recorded in e2e/rules. TestRules
// (there too) compares both the real Envoy and this package with the recordings, which the last column names.
//
//	proxytest                                       Envoy, and this package                          rules
//	----------------------------------------------  -----------------------------------------------  ----------------
//	body callbacks run while the headers are held   only with allow_on_headers_stop_iteration;       a01 to a07
//	                                                without it none runs until a resume
//	headers can be edited and read at any time      only while they are held, or in their callback;  b01 to b04
//	                                                later edits are refused or lost
//	the body can be edited in the trailers          only while it is held; otherwise refused         b05, c05
//	callback
//	a buffer can be written anywhere                inserted before, appended, replaced from the     c02, c04
//	                                                start; never written inside
//	no limits                                       413 and 500 when a held body exceeds the         e01 to e08
//	                                                buffer limit; which limit, and when a route
//	                                                raises it; 431 and 502 for too many headers;     f01 to f03
//	                                                a map of more than 1024 pairs is lost
//	no routes                                       the route is chosen again after an edit, until   g01, g02, k02
//	                                                the headers are sent; 404, 503, direct responses
//	properties have no prefix, an empty one panics  filter state has two names; attributes exist     l02, l03
//	                                                only in their phase; an empty path is an error
//	adding a header joins it to the first           adds a second field, except for headers that     k01, k03, k04
//	                                                Envoy stores once; required and illegal headers
//	                                                are checked
//	a reply is only recorded                        passes the response callbacks, replaces held     h01 to h06
//	                                                headers, or cuts the stream
//	one VM that never dies                          a trap ends the VM, and each of its streams      j01 to j12
//	                                                when it would move; reload with back-off
//	closing a stream is only logged                 both sides are reset; data written in the        i01 to i03
//	                                                callback is lost
//	the end comes as the test writes it             with the last piece or separately, with          d01 to d04
//	                                                trailers, with the headers
//	late calls are ignored                          a reply or a close in log, done or delete        TestDeadlyCalls
//	                                                crashes Envoy: here a Violation
//	callouts and queues only as the test calls      a timeout and a dead server are replies; after   m01 to m06, n01
//	them                                            a stream's end its reply goes to the plugin
//	servers do not fail                             before, while held, and after: status, details,  o01 to o07
//	                                                flags, and which callback comes last
//
// Where the proxy built on this package differs from a rule, the rule names the difference by a name from the list
// wazeroLacks (e2e/rules/wazero_test.go). Four things are outside the rules:
//
//   - A held stream slows its sender only if the driver asks [Stream.Backlog].
//   - Codecs and interim responses are the driver's part.
//   - gRPC calls are not implemented.
//   - Other filters, before or after this one, do not exist.
package wasmhost
