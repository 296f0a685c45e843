package plugin

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// cutDetails are the beginnings of the host's response.code_details if something other than the filter ended a response
// in the middle. They are Envoy's, as recorded in e2e/rules: o02, o04 to o07 and o09 to o11.
var cutDetails = [...]struct{ prefix, cause string }{
	{"upstream_reset_after_response_started", exchange.CutServer},
	{"downstream_remote_disconnect", exchange.CutClient},
	{"http2.remote_reset", exchange.CutClient},
	{"stream_idle_timeout", exchange.CutTimeout},
	{"response_timeout", exchange.CutTimeout},
	{"max_duration_timeout", exchange.CutTimeout},
	{"upstream_per_try_idle_timeout", exchange.CutTimeout},
}

// cutBy returns the cause that ended a response in the middle, by the host's details.
func cutBy(details string) string {
	for _, d := range &cutDetails {
		if strings.HasPrefix(details, d.prefix) {
			return d.cause
		}
	}
	return exchange.CutOther
}
