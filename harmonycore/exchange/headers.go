package exchange

import "strings"

// StrictHeader, set to 1, has the answer end at the first thing that the reference implementation would refuse.
const StrictHeader = "x-harmony-strict"

// ClientHeaders are the names of the headers by which clients ask something of the gateway itself. A host gives them to
// Exchange.Header before the body, and takes them out of a request that goes to a Harmony server.
func ClientHeaders() []string { return []string{StrictHeader, EventsHeader} }

// Header takes one of the request's ClientHeaders. Its memory is not kept.
func (e *Exchange) Header(name, value string) {
	switch name {
	case StrictHeader:
		e.strict = e.strict || value == "1" || value == "true"
	case EventsHeader:
		e.form = strings.Clone(value)
	}
}
