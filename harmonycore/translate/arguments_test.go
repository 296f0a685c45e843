package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// TestArgumentsAreCheckedAgainstTheirSchema checks that arguments that do not match their schema are counted and sent
// unchanged.
func TestArgumentsAreCheckedAgainstTheirSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],` +
		`"additionalProperties":false}`
	tools := map[API]string{
		ChatAPI: `"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f",` +
			`"parameters":` + schema + `}},{"type":"function","function":{"name":"g"}}]}`,
		ResponsesAPI: `"input":"q","tools":[{"type":"function","name":"f","parameters":` + schema +
			`},{"type":"function","name":"g"}]}`,
	}
	for _, tt := range []struct {
		name  string
		calls []msg
		unfit int
	}{
		{"good", []msg{{"functions.f", "commentary", []string{`{"ci`, `ty":"Paris"}`}, harmony.EndedByCall}}, 0},
		{"another type", []msg{{"functions.f", "commentary", []string{`{"city":1}`}, harmony.EndedByCall}}, 1},
		{"no JSON", []msg{{"functions.f", "commentary", []string{"Paris"}, harmony.EndedByEnd}}, 1},
		{"empty", []msg{{"functions.f", "commentary", nil, harmony.EndedByCall}}, 1},
		{"two, of which one is bad", []msg{
			{"functions.f", "commentary", []string{`{}`}, harmony.EndedByCall},
			{"functions.f", "commentary", []string{`{"city":""}`}, harmony.EndedByCall},
		}, 1},
		{"cut off", []msg{{"functions.f", "commentary", []string{`{"ci`}, harmony.Cut}}, 0},
		{"no schema", []msg{{"functions.g", "commentary", []string{"x"}, harmony.EndedByCall}}, 0},
		{"undeclared", []msg{{"functions.h", "commentary", []string{"x"}, harmony.EndedByCall}}, 0},
		{"too long to look at", []msg{{"functions.f", "commentary", []string{strings.Repeat("x", maxArguments), "y"},
			harmony.EndedByCall}}, 0},
	} {
		for api, rest := range tools {
			for _, stream := range []string{"", `"stream":true,`, `"stream":true, `} {
				byChannels := api == ChatAPI && strings.HasSuffix(stream, " ")
				decoder := Chat
				if api == ResponsesAPI {
					decoder = Responses
				}
				r, err := read(decoder, `{"model":"m",`+stream+rest)
				if err != nil {
					t.Fatal(err)
				}
				if byChannels {
					r.ByChannels(nil)
				}
				a := r.NewAnswer()
				out := play(a, answerCase{turn: tt.calls, finish: Stop}, never)
				if got := a.Tally().UnfitArguments; got != tt.unfit {
					t.Errorf("%s, api %d %s: %d unfit, want %d", tt.name, api, stream, got, tt.unfit)
				}
				if stream == "" && tt.name == "no JSON" && !strings.Contains(out, `"arguments":"Paris"`) {
					t.Errorf("%s: %s", tt.name, out)
				}
			}
		}
	}
}
