// Package filtertest tests a proxy-wasm filter by Envoy's rules, in the process of the test: without Envoy, without
// sockets, and with a clock that moves only when the test says so.
//
// It knows how a client, a server and a proxy speak to each other around a filter, not any filter, nor HTTP on the
// wire.
//
// The test plays both sides. What it does as client or server passes the filter at once, and what the other side has
// got can be looked at after every step:
//
//	host := filtertest.New(t, "my-filter.wasm", `{"greeting":"hello"}`)
//	x := host.BeginRequest("POST", "/v1/things", "content-type", "application/json")
//	x.SendRequest(`{"a":`)
//	x.EndRequest(`1}`)
//	fmt.Println(x.Server()) // what the server has got
//	x.Respond(200, "done")
//	fmt.Println(x.Client()) // what the client has got
//
// A test that asks for what cannot happen (a response before the request has reached a server) fails and says why. So
// does a filter that does what Envoy does not survive, or that leaves a content-length that its body contradicts.
//
// A [Host] and all that belongs to it is for one goroutine.
//
// The filter's VM is [github.com/harmonyedge/harmonyedge/filter/wasmhost], whose rules are proved against Envoy itself.
// It does not have back-pressure, retries, more than one worker, or the headers that Envoy's router and codecs add
// after the filter (date, server, x-envoy-…). docs/testing-filters.md leads from nothing to a test.
//
// The package is promised: docs/library.md says what stays compatible.
package filtertest
