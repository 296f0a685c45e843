// Package filtertest tests a proxy-wasm filter under Envoy's rules inside the test's own process. It needs neither
// Envoy nor sockets, and its clock moves only when the test moves it.
//
// It knows how a client, a server and a proxy behave around a filter. It knows no particular filter, and it does not
// know HTTP on the wire.
//
// The test plays both client and server. Everything that it sends passes through the filter at once, and after every
// step the test can look at what the other side has received:
//
//	host := filtertest.New(t, "my-filter.wasm", `{"greeting":"hello"}`)
//	x := host.BeginRequest("POST", "/v1/things", "content-type", "application/json")
//	x.SendRequest(`{"a":`)
//	x.EndRequest(`1}`)
//	fmt.Println(x.Server()) // what the server has received
//	x.Respond(200, "done")
//	fmt.Println(x.Client()) // what the client has received
//
// Three mistakes fail the test, with the reason:
//
//   - The test asks for something impossible, such as a response before the request has reached a server.
//   - The filter makes a call that crashes Envoy.
//   - The filter leaves a content-length that does not match the body.
//
// A [Host], and everything that belongs to it, must be used from one goroutine.
//
// The VM comes from [github.com/harmonyedge/harmonyedge/filter/wasmhost], whose rules are tested against Envoy itself.
// This package leaves out back-pressure, retries, more than one worker, and the headers that Envoy's router and codecs
// add after the filter (date, server, x-envoy-…). docs/testing-filters.md shows every step from an empty directory to a
// test.
//
// The package's API is stable: docs/library.md lists what stays compatible.
package filtertest
