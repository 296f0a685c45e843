// Package routers runs real routers between the gateway and simulated servers: smg, sglang-router and vllm-router, from
// their wheels. It holds docs/routers.md against what they do.
//
// It knows how the routers are started. It does not know what they are made of.
package routers
