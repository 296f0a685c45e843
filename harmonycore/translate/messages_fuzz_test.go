package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// FuzzMessages checks that a body is refused with an error of its own, or makes a conversation that can be rendered,
// and a valid request to servers that take conversations.
func FuzzMessages(f *testing.F) {
	for _, members := range []string{
		``, `"system":[{"type":"text","text":"x-anthropic-billing-header: a\nb"},{"type":"text","text":"\u00e9"}],`,
		`"tools":[` + toolF + `,` + searcher + `,` + deferredG + `],"tool_choice":{"type":"tool","name":"g"},`,
		`"thinking":{"type":"enabled","budget_tokens":5,"display":"omitted"},"output_config":{"effort":"max","format":` +
			`{"type":"json_schema","schema":{"type":"object"}}},"stop_sequences":["a"],"top_k":1,"unheard":[],`,
	} {
		for _, messages := range []string{
			last(userQ), searched + `{"role":"user","content":[` + resultOf +
				`,"content":[{"type":"tool_reference","tool_name":"g"}],"is_error":true}]}`,
			userQ + `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":` +
				`"t"},` + useF + `]},{"role":"user","content":[{"type":"text","text":"u"},` + resultOf + `}]}`,
			`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":` + toolF +
				`}},{"type":"text","text":"s"}],"output_config":{"effort":"low"}}`,
			userQ + systemOf(change("tool_addition", "g"), change("tool_removal", "g"), change("tool_removal", "f"),
				`{"type":"text","text":"s"}`),
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"A"}},` +
				`{"type":"document","title":"T","source":{"type":"content","content":[{"type":"text","text":"t"}]}},` +
				`{"type":"search_result","title":"T","source":"S","content":[{"type":"text","text":"t"}]}]}`,
			`{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"i","name":"n",` +
				`"input":{"__unparsedToolInput":{"raw":"{","len":1}}}]}`,
		} {
			f.Add(`{"model":"m",` + members + `"max_tokens":9,"messages":[` + messages + `]}`)
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		env := testEnv
		env.Tokenizer = o200k.Tokenizer()
		if opened, failure := openai.OpenWithin([]byte(body), 1<<12); failure == nil {
			r, failure := Messages(opened, messagesModel, env)
			checkRefused(t, body, failure)
			if failure == nil {
				rendered(t, &r.Conversation, harmony.DropBeforeLastFinal)
			}
		}
		if opened, failure := openai.OpenWithin([]byte(body), 1<<12); failure == nil {
			r, failure := MessagesChat(opened, chatModel("both"), env)
			checkRefused(t, body, failure)
			if failure == nil {
				sent := "{" + strings.TrimPrefix(string(r.AppendConversation(nil)), ",") + "}"
				if err := rawjson.Validate([]byte(sent), rawjson.MaxDepth); err != nil {
					t.Fatalf("%q: %v: %s", body, err, sent)
				}
			}
		}
	})
}

// checkRefused checks the error of a body that is refused.
func checkRefused(t *testing.T, body string, failure *openai.Error) {
	t.Helper()
	if failure != nil && (failure.Status != 400 || failure.Code == "" || failure.Message == "") {
		t.Fatalf("%q: %+v", body, failure)
	}
}
