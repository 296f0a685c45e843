package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Header takes a header of the request, its name in lower case: a host gives all of them before the body. Their memory is
// not kept. It reports whether the header is for the gateway alone: a host takes those out of a request that goes to a
// Harmony server.
func (e *Exchange) Header(name, value string) (own bool) {
	switch name {
	case "":
		return false
	case contract.StrictHeader:
		e.strict = e.strict || value == "1" || value == "true"
		return true
	case contract.EventsHeader:
		e.form = strings.Clone(value)
		return true
	case e.gateway.options.TenantHeader:
		e.tenant = strings.Clone(value)
	}
	return false
}
