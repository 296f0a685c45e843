// Package e2e has the end-to-end tests, in rooms: the shipped filter in the real Envoy, real clients, and simulated GPU
// servers. They need the tag e2e and what `make e2e` builds and installs.
//
//	suite fields faults routing limits   the gateway
//	anthropic                            Anthropic's API: its endpoints, and errors in its form
//	picker                               pools whose servers are chosen by a picker
//	keys                                 clients' keys, and what is reserved for their requests
//	prefill                              requests that two servers share
//	books                                the rate limit service: its books balance, and what it costs
//	telemetry secrets monitoring         its metrics and logs, what must not be in them; dashboard and alerts
//	tap tracing                          what it shows a recorder, and its spans
//	controlplane up lifecycle            the program, and what becomes of it when its file changes
//	page                                 its page, in a browser
//	clients moreclients nemogym          real clients, and recorded exchanges with NeMo Gym
//	hardening                            what the pages about production say
//	rules                                proxy-wasm, as Envoy and wazero run it
//	responses tools                      the responses service, with its databases and with servers of tools
//	mesh chart kubernetes                gateways that Istio and Envoy Gateway program; the Helm chart; pools by a Service
//	vllm rustfrontend llamacpp           real servers
//	requestmodels                        their request models
//	promptrules                          their prompts beside ours
//	routers                              real routers between the gateway and its servers
//	hostile soak                         worker time and memory
//	release                              what is released, and how it is installed
//	instructions                         what the filter executes
//
// They share hosts (gateways), lab (servers, clients, the program), service (the program with a store), toolservers
// (MCP servers), cases (requests and expected answers), agents (sessions of coding agents), engines (real servers),
// grammar (the form of answers), and the filters probe, for rules, and panicfilter. No room imports another. The
// benchmarks are in a module of their own, bench. The tests know what clients and servers see. They do not know how the
// filter works.
package e2e
