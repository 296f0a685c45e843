//go:build e2e

package grammar

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
)

// TestSchemasRefuse shows that the schemas find what is wrong with an answer.
func TestSchemasRefuse(t *testing.T) {
	s := LoadSchemas(t)
	const (
		chunk = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,` +
			`"delta":{"content":"a","reasoning":"b"},"logprobs":null,"finish_reason":null}]}`
		fault = `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`
	)
	whole := cases.Load(t, "responses_preamble_whole")
	_, response, _ := strings.Cut(whole.Member("want"), "\n\n")
	events := strings.Split(wantedStream(t, "responses_preamble_stream"), "\n\n")
	event := func(i int) string { _, data, _ := strings.Cut(events[i], "data: "); return data }
	added, delta, done := s.responsesEvents["response.output_item.added"], s.responsesEvents["response.output_text.delta"],
		s.responsesEvents["response.output_item.done"]
	good := map[*jsonschema.Schema]string{
		s.chatChunk: chunk, s.failure: fault, s.responses: response, added: event(2), delta: event(11), done: event(21),
	}
	for schema, text := range good {
		if err := s.one(schema, text); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []struct {
		schema   *jsonschema.Schema
		old, new string
	}{
		{s.chatChunk, `"index":0,`, ``},
		{s.chatChunk, `"finish_reason":null`, `"finish_reason":"done"`},
		{s.chatChunk, `"content":"a"`, `"content":7`},
		{s.chatChunk, `"reasoning"`, `"thoughts"`},
		{s.chatChunk, `"chat.completion.chunk"`, `"chat.completion"`},
		{s.chatChunk, `"logprobs":null`, `"logprobs":{"content":[]}`},
		{s.failure, `,"param":null`, ``},
		{s.failure, `"code":"c"`, `"code":1`},
		{s.responses, `"object":"response"`, `"object":"answer"`},
		{s.responses, `"metadata"`, `"meta"`},
		{s.responses, `"store":false`, `"store":null`},
		{s.responses, `"max_tool_calls"`, `"max_calls"`},
		{s.responses, `"phase":"commentary"`, `"face":"commentary"`},
		{s.responses, `"summary":[],`, ``},
		{s.responses, `"annotations":[],`, ``},
		{s.responses, `"call_id"`, `"callid"`},
		{s.responses, `"cached_tokens":0,`, ``},
		{s.responses, `"total_tokens":`, `"total":`},
		{added, `"item":{`, `"item":{"encrypted":null,`},
		{added, `"output_index":0`, `"index":0`},
		{delta, `,"logprobs":[]`, ``},
		{delta, `"content_index":0`, `"content_index":null`},
		{delta, `"delta":`, `"obfuscation":"x","delta":`},
		{done, `"status":"completed"`, `"status":"done"`},
		{done, `"name":"get_time"`, `"function":"get_time"`},
	} {
		text := good[bad.schema]
		changed := strings.Replace(text, bad.old, bad.new, 1)
		if changed == text {
			t.Errorf("%s is not there", bad.old)
		}
		if s.one(bad.schema, changed) == nil {
			t.Errorf("accepted: %s", changed)
		}
	}
}
