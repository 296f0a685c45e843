package envoygateway

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const fullComment = `Full mode: patches of the EnvoyPatchPolicy let the filter hold headers (allow_on_headers_stop_iteration). A patch that
does not fit is left out without an error of the others, and then requests are answered 500. After applying:

  kubectl get envoypatchpolicy -o yaml      (Programmed must be True)
  harmony mesh check http://GATEWAY
`

const reducedComment = `Reduced mode: the filter cannot hold headers. What is lost beside full mode:

  - One model for each gateway, and no responses service.
  - A request is sent on before its body is read. A body that names another model is 404 and reaches no server.
  - A response begins before the first token. What fails later is an event in a stream, and cuts a whole answer.
`

const inferenceComment = `Envoy Gateway itself knows no InferencePool. Envoy AI Gateway must be its extension (extensionManager), with
backendResources for inference.networking.k8s.io/v1 InferencePool. It asks the pool's endpoint picker after the filter.
`

// Comment returns what an operator should know of the objects of a configuration before applying them.
func Comment(c *config.Config, o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Envoy Gateway's objects for %d model(s), written by harmony mesh envoy-gateway.\nDelete them by: "+
		"kubectl delete gtw,httproute,httproutefilter,backend,btp,ctp,eep,epp,securitypolicy \\\n  -n %s -l %s\n"+
		"Envoy Gateway must have extensionApis: { enableBackend: true, enableEnvoyPatchPolicy: true }.\n\n", len(c.Models),
		o.Namespace, mesh.Selector(o.Name))
	if c.Mode == contract.ModeReduced {
		b.WriteString(reducedComment)
	} else {
		b.WriteString(fullComment)
	}
	b.WriteString("\n")
	if c.CAFile != "" {
		fmt.Fprintf(&b, "The ConfigMap %s-ca must have the certificates of ca_file as ca.crt.\n", o.Name)
	}
	if mesh.HasInferencePools(c) {
		b.WriteString(inferenceComment)
	}
	b.WriteString(mesh.Needs(c, o.Name, o.Namespace))
	b.WriteString("Not in it: admin, envoy.* and the labels of metrics. They are for the EnvoyProxy of the gateway's class.\n")
	return b.String()
}
