package hosted

import (
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// This file narrows down the tools of a request in ways that only Anthropic's API has.

// LimitSearches says how often the web may be searched.
func (h *Tools) LimitSearches(most int64) { h.searchesLeft = most }

// CountSearch counts a call that searches the web, and denies one too many.
func (h *Tools) CountSearch(c *Call) {
	switch {
	case c.Namespace != items.BrowserNamespace || c.Name != "search" || h.searchesLeft < 0:
	case h.searchesLeft == 0:
		c.Denied = true
	default:
		h.searchesLeft--
	}
}

// TextOfDenied is what the model gets for a search of the web too many.
const TextOfDenied = "Error: max_uses_exceeded"

// Exclude takes tools away from the server with a label.
func (h *Tools) Exclude(label string, names []string) {
	if m := h.Server(label); m != nil {
		m.excluded = append(m.excluded, names...)
	}
}

// Approving returns the label of a server whose calls need an approval whatever the request says, or empty.
func (h *Tools) Approving() string {
	if h != nil {
		for _, m := range h.Servers {
			if m.always.all {
				return m.Label
			}
		}
	}
	return ""
}
