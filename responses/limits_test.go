package responses

import (
	"strings"
	"testing"
)

// A model that calls tools although it must not ends the response.
func TestToolRoundsEnd(t *testing.T) {
	for members, limit := range map[string]struct{ rounds, calls int }{
		``:                     {3, 2},
		`"max_tool_calls":0,`:  {1, 0},
		`"max_tool_calls":1,`:  {2, 1},
		`"max_tool_calls":10,`: {3, 2},
	} {
		f, gateway, server := startTools(t, ToolOptions{Rounds: 3},
			[]string{answerOf("completed", 10, 5, callItem("t", "say_it", `{}`))}, saying("hello"))
		r := f.ask(`"input":"go",` + members + never)
		if r.Status != statusCompleted || len(server.Calls()) != limit.calls || len(gateway.asked) != limit.rounds ||
			!strings.Contains(gateway.last(), `"tool_choice":"none"`) {
			t.Errorf("%s %+v: %d calls, %d rounds", members, r, len(server.Calls()), len(gateway.asked))
		}
	}
}
