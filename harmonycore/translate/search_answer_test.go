package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// TestSearchCalls: the call of a client's search for tools is an item of its own, in a stream and in a whole answer.
func TestSearchCalls(t *testing.T) {
	for _, tt := range []struct {
		arguments, want, status string
		end                     harmony.End
		finish                  Finish
	}{
		{`{"query": "x", "limit":3}`, `{"query":"x","limit":3}`, "completed", harmony.EndedByCall, Stop},
		{` {} `, `{}`, "completed", harmony.EndedByCall, Stop},
		{`"x`, `"\"x"`, "completed", harmony.EndedByCall, Stop},
		{`[1]`, `"[1]"`, "completed", harmony.EndedByCall, Stop},
		{``, `""`, "completed", harmony.EndedByCall, Stop},
		{`{"query":"é`, `"{\"query\":\"é"`, "incomplete", harmony.Cut, Length},
	} {
		c := answerCase{turn: []msg{{"functions.tool_search", "commentary", strings.SplitAfter(tt.arguments, ":"), tt.end}},
			finish: tt.finish}
		for _, stream := range []string{"false", "true"} {
			r, err := read(Responses, `{"model":"m","stream":`+stream+`,"input":"q","tools":[`+searchTool+`]}`)
			if err != nil {
				t.Fatal(err)
			}
			got := play(r.NewAnswer(), c, never)
			want := `"type":"tool_search_call","status":"` + tt.status + `","execution":"client","arguments":` + tt.want +
				`,"call_id":"call_`
			times := 1
			if stream == "true" {
				times = 2 // when it is done, and in the response
				if !strings.Contains(got, `"status":"in_progress","execution":"client","arguments":{},"call_id":"call_`) {
					t.Errorf("%s does not begin empty: %s", tt.arguments, got)
				}
			}
			if strings.Count(got, want) != times || !strings.Contains(got, `"id":"tsc_`) || strings.Contains(got, "delta") {
				t.Errorf("%s, stream %s: want %s %d times in %s", tt.arguments, stream, want, times, got)
			}
		}
	}
}
