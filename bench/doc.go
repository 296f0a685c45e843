// Package bench is the root of a Go module of its own: benchmarks, and simulations that choose their parameters. The
// main module does not need them.
//
//	edge controlplane load routing   Envoy with the filter, the control plane, weights by load, policies of pools
//	overload                         queues of pools, and what clients get when more is asked than servers can do
//	agentloops                       what agents' turns make real engines compute again
//	core                             the tokenizer, Harmony's renderer and parser, beside their peers
//	routingsim capacity              a simulation of routing; the tables of docs/capacity.md
//	workload                         the conversations that routing, overload and routingsim play
//	stand                            the servers, the picker and the Envoy that routing and overload measure
//	chart command                    what the pictures of docs/bench have in common, and the programs
//
// They write docs/bench and docs/capacity.md. They know the program from outside, as e2e does, and the core.
package bench
