package turn

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// usage sums the tokens of the rounds.
type usage struct {
	Input, Cached, CacheWrites, Output, Reasoning, ToolOutput int64
	// before is the input and the output of the newest round.
	before int64
	known  bool
}

// add adds the usage of a round. The tokens that its prompt has more than the last one's and that the model has not
// written are tools' tokens.
func (u *usage) add(raw json.RawMessage) {
	var one upstream.Usage
	if !items.Given(raw) || json.Unmarshal(raw, &one) != nil {
		return
	}
	if u.known {
		u.ToolOutput += max(0, one.Input-u.before)
	}
	u.before, u.known = one.Input+one.Output, true
	u.Input += one.Input
	u.Output += one.Output
	u.Cached += one.InputDetails.Cached
	u.CacheWrites += one.InputDetails.Writes
	u.Reasoning += one.OutputDetails.Reasoning
}

// total writes the usage of all rounds into the object of the response.
func (u *usage) total(o upstream.Object) {
	if !u.known {
		return
	}
	o["usage"] = items.JSON(map[string]any{
		"input_tokens":         u.Input,
		"input_tokens_details": map[string]int64{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrites},
		"output_tokens":        u.Output,
		"output_tokens_details": map[string]int64{"reasoning_tokens": u.Reasoning,
			"tool_output_tokens": u.ToolOutput},
		"total_tokens": u.Input + u.Output,
	})
}
