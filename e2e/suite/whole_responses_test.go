//go:build e2e

package suite

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// TestWholeResponses asks for every Responses answer of the suite twice, whole and as a stream: the whole answer is the
// response that the stream ends with, to the last member. An answer that fails before it is finished fails in both, for
// the same reason.
func TestWholeResponses(t *testing.T) {
	completed, failed := 0, 0
	for _, c := range cases.All(t) {
		var request map[string]any
		if c.Target != lab.ResponsesPath || c.Settings["stall_timeout_ms"] != "" || json.Unmarshal(c.Body, &request) != nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			whole, sent := playWithStream(t, c, request, false)
			stream, _ := playWithStream(t, c, request, true)
			if !sent {
				if whole != stream {
					t.Errorf("refused with\n%s\nand as a stream with\n%s", whole, stream)
				}
				return
			}
			if message, isError := errorMessage(whole); isError {
				failed++
				// A reason stands as JSON text in either answer.
				if quoted, _ := json.Marshal(message); !bytes.Contains([]byte(stream), quoted) {
					t.Errorf("failed with %s, and as a stream with\n%s", quoted, stream)
				}
				return
			}
			completed++
			_, body, _ := strings.Cut(whole, "\n")
			events := strings.Split(strings.TrimSpace(stream), "\n\n")
			_, data, _ := strings.Cut(events[len(events)-1], "data: ")
			var got, want map[string]any
			if err := json.Unmarshal([]byte(data), &got); err != nil {
				t.Fatalf("the last event is no JSON: %v\n%s", err, stream)
			}
			if err := json.Unmarshal([]byte(body), &want); err != nil {
				t.Fatalf("the answer is no JSON: %v\n%s", err, whole)
			}
			if !reflect.DeepEqual(got["response"], any(want)) {
				t.Errorf("whole\n%s\nand at the end of the stream\n%s", body, data)
			}
		})
	}
	if completed == 0 || failed == 0 {
		t.Errorf("%d answers were whole, and %d failed: there must be some of either", completed, failed)
	}
}

// playWithStream plays a case with "stream" as said, and reports whether it was answered rather than refused.
func playWithStream(t *testing.T, c *cases.Case, request map[string]any, stream bool) (string, bool) {
	t.Helper()
	request = maps.Clone(request)
	request["stream"] = stream
	asked := *c
	var err error
	if asked.Body, err = json.Marshal(request); err != nil {
		t.Fatal(err)
	}
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
	action, _ := asked.Begin(g)
	switch {
	case action.Forward != nil:
	case action.Reply.Status == 200: // an empty answer, which a server might have given
		return "200\n" + string(action.Reply.Body), true
	default:
		return string(action.Reply.Body), false
	}
	answer := askServer(t, c, action.Forward.Body, 0)
	return play(g, &asked, answer, len(answer.body)), true
}

// errorMessage is the message of an answer of play that is an error.
func errorMessage(played string) (string, bool) {
	_, body, _ := strings.Cut(played, "\n")
	var answer struct{ Error *struct{ Message string } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error == nil {
		return "", false
	}
	return answer.Error.Message, true
}
