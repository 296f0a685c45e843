package mesh

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Needs returns what an operator must know of a configuration's pools and certificates before applying its objects, as
// lines of text. The objects are of this gateway, in this namespace.
func Needs(c *config.Config, gateway, namespace string) string {
	var b strings.Builder
	for i := range c.Pools {
		p := &c.Pools[i]
		if p.ServersFile != "" {
			fmt.Fprintf(&b, "The servers of the pool %s are those in %s now. Write the objects again when they change.\n",
				p.Name, p.ServersFile)
		}
		if p.Load.Weights {
			fmt.Fprintf(&b, "The servers of the pool %s have no weights by load here: no control plane follows their load.\n",
				p.Name)
		}
		if p.RetryUntil == config.RetryUntilFirstToken {
			fmt.Fprintf(&b, "The pool %s has retry_until: headers here: a mesh has no filter that sees an attempt's answer.\n",
				p.Name)
		}
		b.WriteString(serviceComment(p))
		b.WriteString(inferencePoolComment(p))
	}
	for _, l := range c.AllListeners() {
		if l.TLS != "" {
			fmt.Fprintf(&b, "The Secret %s of type kubernetes.io/tls must exist in %s: the certificate of port %s.\n",
				Name(gateway, l.TLS), namespace, l.Address)
		}
	}
	return b.String()
}
