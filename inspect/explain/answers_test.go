package explain

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadAnswers(t *testing.T) {
	const ids = `"generation_token_ids":[200008,13225],"generation_log_probs":[0,0]`
	for _, tt := range []struct{ in, want string }{
		{"data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\n",
			"this is a stream of Chat Completions: "},
		{`{"object":"chat.completion","choices":[]}`, "this is an answer of Chat Completions: "},
		{` {"object":"response","output":[]}`, "this is an answer of Responses: "},
		{"event: response.created\ndata: {\"type\":\"response.created\"}\n\n", "this is a stream of Responses events: "},
		{"event: analysis\ndata: {\"message\":0,\"text\":\"They greet.\"}\n\n", "this is a stream of channel events: "},
		{`{"object":"chat.completion","choices":[{"message":{"content":"\"generation_token_ids\":[1]"}}]}`,
			"this is an answer of Chat Completions: "},
		{`{"object":"chat.completion","choices":[{"message":{` + ids + `}}]}`, "[200008 13225]"},
		{"event: response.created\ndata: {\"type\":\"response.created\"}\n\nevent: response.completed\ndata: {\"type\":" +
			"\"response.completed\",\"response\":{\"output\":[{" + ids + "}]}}\n\n", "[200008 13225]"},
		{`{"object":"chat.completion","x":{"generation_token_ids":[`, "this is an answer of Chat Completions: "},
	} {
		for _, mode := range []string{"ids", "sse"} {
			read := ReadIDs
			if mode == "sse" {
				read = ReadSSE
			}
			ids, err := read(strings.NewReader(tt.in))
			got := fmt.Sprint(ids)
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, tt.want) || err != nil && !strings.Contains(got, "harmony up --record FOLDER") {
				t.Errorf("%s: %s\nis read as %s\nwant %s", mode, tt.in, got, tt.want)
			}
		}
	}
}
