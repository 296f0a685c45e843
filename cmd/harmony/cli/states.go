package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
)

// StatusPath is the path of the state as JSON, on a control plane's --status and on the page of harmony up.
const StatusPath = "/status"

// ProgramText describes what a server has told about itself.
func ProgramText(program string, context int, vocabulary pools.Vocabulary) string {
	text := cmp.Or(program, "unknown")
	if context > 0 {
		text += fmt.Sprintf(", context: %d tokens", context)
	}
	return fmt.Sprintf("%s, vocabulary: %s", text, cmp.Or(vocabulary, pools.VocabularyNotAsked))
}

// EnvoyState returns "current", or what an Envoy refuses or has not acknowledged.
func EnvoyState(e *ads.Envoy) string {
	if e.Current {
		return "current"
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(e.Types)) {
		switch state := e.Types[name]; {
		case state.Refused != "":
			words = append(words, "refuses "+name+": "+strings.Join(strings.Fields(state.Error), " "))
		case !state.Current:
			words = append(words, "has not accepted "+name)
		}
	}
	if len(words) == 0 {
		return "has asked for nothing yet"
	}
	return strings.Join(words, "; ")
}
