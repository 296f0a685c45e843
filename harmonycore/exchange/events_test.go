package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestEventsHeader: what the header and the model's setting make of each kind of request.
func TestEventsHeader(t *testing.T) {
	const chatPath, responsesPath = "/v1/chat/completions", "/v1/responses"
	whole, stream, two := chatBody(false), chatBody(true), strings.Replace(chatBody(true), "{", `{"n":2,`, 1)
	withLogprobs := strings.Replace(chatBody(true), "{", `{"logprobs":true,`, 1)
	other := `{"model":"` + testModel + `","stream":true,"input":"Hi"}`
	for _, tt := range []struct {
		header           string
		setting          bool
		path, body, want string
	}{
		{"", false, chatPath, stream, "chunks"}, {"", true, chatPath, stream, "events"},
		{"", true, chatPath, whole, "object"},
		{"", true, chatPath, two, "chunks"}, {"", true, chatPath, withLogprobs, "chunks"},
		{"", true, responsesPath, other, "responses"},
		{"chunks", true, chatPath, stream, "chunks"}, {"channels", false, chatPath, stream, "events"},
		{"chunks", true, responsesPath, other, "responses"}, {"channels", false, chatPath, whole, "stream"},
		{"channels", false, chatPath, two, "n"}, {"channels", false, chatPath, withLogprobs, "logprobs"},
		{"channels", false, responsesPath, other, contract.EventsHeader},
		{"Channels", false, chatPath, stream, contract.EventsHeader},
		{"channels\xff, chunks", false, chatPath, stream, contract.EventsHeader},
	} {
		x := testGateway(func(o *Options) {
			if tt.setting {
				o.Models[0].Answers.Events = contract.EventsChannels
			}
		}).Begin("POST", tt.path)
		x.Header(contract.EventsHeader, tt.header)
		action := x.Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		got := ""
		if action.Reply != nil {
			_, got, _ = strings.Cut(string(action.Reply.Body), `"param":"`)
			got, _, _ = strings.Cut(got, `"`)
		} else {
			got = formOf(x)
		}
		if got != tt.want {
			t.Errorf("%q, setting %v, %s %s: %s, want %s", tt.header, tt.setting, tt.path, tt.body, got, tt.want)
		}
	}
}

// formOf lets the server answer and says what the client gets.
func formOf(x *Exchange) string {
	x.ResponseHeaders(eventStream)
	a := x.ResponseBody([]byte(answerOf("<|channel|>final<|message|>Hi<|return|>")), true)
	for _, form := range [][2]string{{"event: token", "events"}, {"event: response.created", "responses"},
		{"data: {", "chunks"}, {"{", "object"}} {
		if strings.HasPrefix(string(a.Body), form[0]) {
			return form[1]
		}
	}
	return string(a.Body)
}

// TestNoFinalIsCounted: in every form of the answer, whether or not a final message is required.
func TestNoFinalIsCounted(t *testing.T) {
	for text, want := range map[string]int{
		"<|channel|>analysis<|message|>Hm<|return|>": 1, "<|channel|>commentary<|message|>Hm<|end|>": 1,
		"<|channel|>final<|message|>Hm<|return|>": 0, "Hm": 0,
	} {
		for _, body := range []string{chatBody(false), chatBody(true), `{"model":"` + testModel + `","input":"Hi"}`} {
			path := "/v1/chat/completions"
			if strings.Contains(body, "input") {
				path = "/v1/responses"
			}
			for _, header := range []string{"", "channels"} {
				x := testGateway(nil).Begin("POST", path)
				if body == chatBody(true) {
					x.Header(contract.EventsHeader, header)
				}
				x.Request([]byte(body), Host{Now: testNow, ID: testID})
				answer := answerOf(text)
				x.ResponseHeaders(eventStream)
				x.ResponseBody([]byte(answer), true)
				if got := x.Report().NoFinal; got != want {
					t.Errorf("%s, %s, %q: %d, want %d", text, body, header, got, want)
				}
			}
		}
	}
}
