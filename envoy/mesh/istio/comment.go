package istio

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const fullComment = `Full mode: the filter holds headers, by allow_on_headers_stop_iteration in the EnvoyFilter below. An Istio that does
not know this field drops it without a word, and then requests are answered 500. After applying:

  harmony mesh check http://GATEWAY

Istio lets a client that waits on "Expect: 100-continue" wait until it gives up waiting (curl: one second), because its
gateways leave the answer to the server. ENABLE_100_CONTINUE_HEADERS=false at istiod makes gateways answer at once.
`

const reducedComment = `Reduced mode: Istio's API for filters cannot let a filter hold headers. What is lost beside full mode:

  - One model for each gateway, and no responses service.
  - A request is sent on before its body is read. A body that names another model is 404 and reaches no server.
  - A response begins before the first token. What fails later is an event in a stream, and cuts a whole answer.
  - A VM that dies is replaced after a second and not after a tenth, and that worker answers 503 in between.
`

const commonComment = `Not in it, because it is not a gateway's to say: admin, envoy.* and the overload manager. Set the pods' resources.
Metrics get their labels from the second EnvoyFilter, which pods read when they start with BOOTSTRAP_XDS_AGENT=true.
`

const inferenceComment = `
istiod must have ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true. The gateway is one of the Gateway API, of which Istio makes
the pods: %[1]s-istio. The filter is before Istio's filter for endpoint pickers, which is there when the HTTPRoute is
accepted. Until then no filter is there, and no request has a route. Pods whose labels the EnvoyFilters do not select
have the routes and no filter: harmony mesh check says so. Delete the gateway and its routes by
kubectl delete gtw,httproute too.
`

// Comment returns what an operator should know of the objects of a configuration before applying them.
func Comment(c *config.Config, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Istio's objects for %d model(s), written by harmony mesh istio.\nDelete them by: "+
		"kubectl delete gw,vs,se,dr,envoyfilter,wasmplugin,trafficextension -n %s \\\n  -l %s\n\n", len(c.Models), o.Namespace,
		mesh.Selector(o.Name))
	if c.Mode == contract.ModeReduced {
		b.WriteString(reducedComment)
	} else {
		b.WriteString(fullComment)
	}
	if mesh.HasInferencePools(c) {
		fmt.Fprintf(&b, inferenceComment, o.Name)
	}
	b.WriteString("\n" + commonComment)
	b.WriteString(mesh.Needs(c, o.Name, o.Namespace))
	return b.String()
}
