// Package wasmhost runs a proxy-wasm 0.2 filter under wazero by Envoy's rules: how streams move, what a filter may do
// when, and what becomes of it when it does something else.
//
// It knows the ABI and Envoy's filter manager, not HTTP on the wire (see the package proxy), nor any filter.
//
// A [Host] is one compiled and configured filter. A [Worker] is one thread of the proxy with a VM of its own. A
// [Stream] is one request and its response. Its driver pushes both sides in, piece by piece, and takes out [Event]
// values: what is to be done. Tests of filters are easier to write with
// [github.com/harmonyedge/harmonyedge/filter/filtertest].
//
// The package is promised: docs/library.md says what stays compatible.
//
// # Differences from proxytest
//
// The emulator that comes with the Go SDK is permissive, and each of its liberties hides a mistake that shows only in
// production. The rules were found out on Envoy 1.40 by a probe and recorded; TestRules (in e2e) holds both the real
// Envoy and this package against the recordings in e2e/rules, which the last column names.
//
//	proxytest                                       Envoy, and this package                          rules
//	----------------------------------------------  -----------------------------------------------  ----------------
//	body callbacks run while the headers are held   only with allow_on_headers_stop_iteration;       a01 to a07
//	                                                without it nothing runs until a resume
//	headers can be edited and read at any time      only while they are held, or in their callback;  b01 to b04
//	                                                edits later are refused or lost
//	the body can be edited in the trailers          only while it is held; otherwise refused         b05, c05
//	callback
//	a buffer can be written anywhere                before, behind, from the start; never inside     c02, c04
//	no limits                                       413 and 500 when a held body grows over the      e01 to e07
//	                                                buffer limit; which limit, and when it is
//	                                                raised by a route; 431 and 502 for too many      f01 to f03
//	                                                headers; a map of more than 1024 pairs is lost
//	no routes                                       the route is chosen again after an edit, until   g01, g02, k02
//	                                                the headers have gone; 404, 503, direct answers
//	properties have no prefix, an empty one panics  filter state by two names; attributes come and   l02, l03
//	                                                go with their phase; an empty path is an error
//	adding a header joins it to the first           a second field, but for those that Envoy keeps   k01, k03, k04
//	                                                once; required and illegal ones are checked
//	a reply is only recorded                        it passes the response callbacks, takes the      h01 to h06
//	                                                place of held headers, or cuts the stream
//	one VM that never dies                          a trap ends the VM and its streams, each when    j01 to j12
//	                                                it would move; reload with back-off
//	closing a stream is only logged                 both sides are reset, what the callback wrote    i01 to i03
//	                                                is lost
//	the end comes as the test writes it             with the last piece or by itself, by trailers,   d01 to d04
//	                                                with the headers
//	nothing is said of acts that come too late      a reply or a close in log, done or delete        TestDeadlyCalls
//	                                                crashes Envoy: a Violation here
//	callouts and queues only as the test calls      time-out and dead server are replies; a gone     m01 to m06, n01
//	them                                            stream's reply still comes to the plugin
//	servers do not fail                             before, while held, and after: status, details,  o01 to o07
//	                                                flags, and which callback comes last
//
// Where a rule differs in the proxy that is built on this package, the rule says so by a name from the list wazeroLacks
// (e2e/rules_wazero_test.go). Beyond the rules: a held stream slows its sender only if the driver asks Backlog, codecs
// and interim responses are the driver's business, gRPC calls are not there, and nor are the filters before and behind.
package wasmhost
