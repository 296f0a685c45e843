package plugin

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// cutDetails are what the host's response.code_details begin with where something other than the filter has ended a
// response in the middle. They are Envoy's, as e2e/rules have recorded them: o02, o04 to o07 and o09 to o11.
var cutDetails = [...]struct{ prefix, cause string }{
	{"upstream_reset_after_response_started", exchange.CutServer},
	{"downstream_remote_disconnect", exchange.CutClient},
	{"http2.remote_reset", exchange.CutClient},
	{"stream_idle_timeout", exchange.CutTimeout},
	{"response_timeout", exchange.CutTimeout},
	{"max_duration_timeout", exchange.CutTimeout},
	{"upstream_per_try_idle_timeout", exchange.CutTimeout},
}

// cutBy is what ended a response in the middle, by the host's details.
func cutBy(details string) string {
	for _, d := range &cutDetails {
		if strings.HasPrefix(details, d.prefix) {
			return d.cause
		}
	}
	return exchange.CutOther
}
