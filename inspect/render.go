package inspect

import (
	"errors"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// The classes of errors, named as in the reference implementation.
const (
	harmonyError = "HarmonyError"
	valueError   = "ValueError"
)

// render appends the ids of a conversation, as a prompt and as a training example, or the ids of a request's prompt.
func (a *answerer) render(dst []byte, q *request) []byte {
	if api, body := bodyOf(q); body != nil {
		return a.renderBody(dst, q, api, body)
	}
	policy := harmony.KeepAnalysis
	if q.flag("auto_drop_analysis", false) {
		policy = harmony.DropReference
	}
	next := harmony.Assistant.String()
	if q.has("next_role") {
		next = q.text("next_role")
	}
	if !q.has("conversation") && !q.has("conversation_json") {
		q.fail("nothing to do; give a %q, or the body of a request to Chat Completions or Responses", "conversation")
	}
	var text []byte
	if q.exactlyOne("conversation", "conversation_json") == "conversation" {
		text = q.fields["conversation"] // unchanged, because the parser of conversations validates it
	} else {
		text = []byte(q.text("conversation_json"))
	}
	if q.err != nil {
		return dst
	}
	c, err := harmony.DecodeConversation(text)
	if err != nil {
		dst = appendRendered(append(dst, `"completion":`...), nil, err)
		return appendRendered(append(dst, `,"training":`...), nil, err)
	}
	dst = append(dst, `"completion":`...)
	if role := harmony.RoleOf(next); role == 0 {
		dst = appendRendered(dst, nil, errors.New("unknown role: "+next))
	} else {
		a.ids, err = a.renderer.AppendCompletion(a.ids[:0], c, role, policy)
		dst = appendRendered(dst, a.ids, err)
	}
	a.ids, err = a.renderer.AppendTraining(a.ids[:0], c, policy)
	return appendRendered(append(dst, `,"training":`...), a.ids, err)
}

func appendRendered(dst []byte, ids []uint32, err error) []byte {
	if err == nil {
		return appendIDs(dst, ids)
	}
	class := valueError
	var refused *harmony.RenderError
	if errors.As(err, &refused) && (refused.Kind == harmony.UnnamedTool || refused.Kind == harmony.MisplacedContent) {
		class = harmonyError
	}
	return append(appendError(append(dst, `{"error":`...), class, err.Error()), '}')
}
