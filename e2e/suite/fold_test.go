//go:build e2e

package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// TestStreamsSayWhatWholeAnswersSay gives the tokens that the server answers to each case with to a stream and to a
// whole answer. The sum of the chunks by openai-python, and the response that ends a Responses stream, must be the
// whole answer; an error must be the same error.
func TestStreamsSayWhatWholeAnswersSay(t *testing.T) {
	var names []string
	var streams [][]map[string]any
	var wholes []map[string]any
	responses := 0
	for _, c := range cases.All(t) {
		// Channel events are not to be added up, and a server that falls silent has nothing to compare.
		if c.Settings["stall_timeout_ms"] != "" || c.Settings["events"] != "" || c.Header.Get(contract.EventsHeader) != "" {
			continue
		}
		stream, whole, ok := bothAnswers(t, c)
		if !ok {
			continue
		}
		if c.Target == lab.ResponsesPath {
			responses++
			checkLastResponse(t, c, stream, whole)
			continue
		}
		chunks, failure, done := chunksOf(t, stream)
		_, body, _ := strings.Cut(whole, "\n")
		answer := decodeJSON(t, c, body)
		switch {
		case failure != nil:
			if !reflect.DeepEqual(failure, answer) {
				t.Errorf("%s: the stream fails with %v, the whole answer is %s", c.Name, failure, whole)
			}
		case done:
			names, streams, wholes = append(names, c.Name), append(streams, chunks), append(wholes, answer)
		}
	}
	for i, folded := range foldChunks(t, streams) {
		got, want := comparable(folded), comparable(wholes[i])
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the stream adds up to\n%s\nwant\n%s", names[i], mustEncode(t, got), mustEncode(t, want))
		}
	}
	if len(names) == 0 || responses == 0 {
		t.Fatal("nothing was compared")
	}
	t.Logf("%d Chat and %d Responses answers are the same streamed and whole", len(names), responses)
}

// bothAnswers plays what the server answers to a case to a stream and to a whole answer. It reports false for a case
// that reaches no server, or whose answer ends before it is finished.
func bothAnswers(t *testing.T, c *cases.Case) (stream, whole string, ok bool) {
	t.Helper()
	if c.Target != lab.ChatPath && c.Target != lab.ResponsesPath {
		return "", "", false
	}
	config, err := c.Config("http://127.0.0.1:9") // never reached
	if err != nil {
		t.Fatal(err)
	}
	config.Mode = contract.ModeFull
	g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
	action, _ := c.Begin(g)
	if action.Forward == nil || action.Forward.Body == nil {
		return "", "", false
	}
	answer := askServer(t, c, action.Forward.Body, 0)
	if !answer.ended {
		return "", "", false
	}
	asStream, asWhole := *c, *c
	asStream.Body, asWhole.Body = withStream(t, c, true), withStream(t, c, false)
	return play(g, &asStream, answer, len(answer.body)), play(g, &asWhole, answer, len(answer.body)), true
}

// withStream is the case's body, asking for a stream with its usage or for a whole answer.
func withStream(t *testing.T, c *cases.Case, stream bool) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(c.Body, &members); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	delete(members, "stream_options")
	members["stream"] = json.RawMessage(fmt.Sprint(stream))
	if stream && c.Target == lab.ChatPath {
		members["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// chunksOf are the chunks of a Chat stream, its error if it has one, and whether it came to its end.
func chunksOf(t *testing.T, stream string) (chunks []map[string]any, failure map[string]any, done bool) {
	t.Helper()
	for event := range strings.SplitSeq(stream, "\n\n") {
		_, data, ok := strings.Cut("\n"+event, "\ndata: ")
		switch {
		case strings.HasPrefix(stream, "reply "):
			_, data, _ := strings.Cut(stream, "\n")
			return nil, decodeJSON(t, nil, data), false
		case !ok:
			continue
		case data == "[DONE]":
			return chunks, failure, true
		}
		chunk := decodeJSON(t, nil, data)
		if chunk["error"] != nil {
			failure = chunk
			continue
		}
		chunks = append(chunks, chunk)
	}
	return chunks, failure, false
}

func checkLastResponse(t *testing.T, c *cases.Case, stream, whole string) {
	t.Helper()
	at := strings.LastIndex(stream, "\ndata: ")
	_, body, _ := strings.Cut(whole, "\n")
	if at < 0 || !strings.HasPrefix(whole, "200 ") {
		return // an error, which has a shape of its own in each
	}
	last := decodeJSON(t, c, strings.TrimSpace(stream[at+len("\ndata: "):]))
	if !reflect.DeepEqual(last["response"], any(decodeJSON(t, c, body))) {
		t.Errorf("%s: the stream ends with\n%s\nwant\n%s", c.Name, mustEncode(t, last["response"]), body)
	}
}

func decodeJSON(t *testing.T, c *cases.Case, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		name := ""
		if c != nil {
			name = c.Name
		}
		t.Fatalf("%s: %v in %q", name, err, text)
	}
	return v
}

func mustEncode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// foldChunks has openai-python add up streams.
func foldChunks(t *testing.T, streams [][]map[string]any) []map[string]any {
	t.Helper()
	var in, stderr bytes.Buffer
	for _, chunks := range streams {
		in.WriteString(mustEncode(t, chunks) + "\n")
	}
	cmd := exec.Command(lab.Tool(t, "HARMONY_OPENAI_PYTHON"), "oracle/fold.py")
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("openai-python: %v\n%s", err, stderr.Bytes())
	}
	var folded []map[string]any
	for line := range bytes.Lines(out) {
		folded = append(folded, decodeJSON(t, nil, string(line)))
	}
	if len(folded) != len(streams) {
		t.Fatalf("%d answers of %d streams", len(folded), len(streams))
	}
	return folded
}

// comparable leaves out of a completion what only one of the two forms has: its own name, nulls and empty values, the
// index of a call, and what openai-python adds. A message's content stays as it is: none is not the same as an empty
// one.
func comparable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			switch key {
			case "object", "parsed", "parsed_arguments":
				continue
			case "content":
				if text, ok := member.(string); ok || member == nil {
					out[key] = fmt.Sprintf("%q, given: %v", text, ok)
					continue
				}
			}
			if member = comparable(member); member != nil {
				out[key] = member
			}
		}
		if out["function"] != nil || out["custom"] != nil {
			delete(out, "index")
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, element := range v {
			out = append(out, comparable(element))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}
