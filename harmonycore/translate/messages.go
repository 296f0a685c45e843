package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// KeepMessages writes down what the model reads, for a response that shall tell it: the texts lie in a body that will be
// gone. Where clients are shown no reasoning nothing is kept. scratch is overwritten, and returned grown.
func (r *Request) KeepMessages(scratch []byte) []byte {
	if !r.messages || r.answers.HideReasoning {
		return scratch
	}
	r.transcript, scratch = harmony.NewTranscript(scratch, &r.Conversation, harmony.DropBeforeLastFinal, conversationLimit)
	return scratch
}

// keepMessages has the answer write down what the model writes.
func (a *responsesAnswer) keepMessages(r *Request) {
	if !r.messages {
		return
	}
	a.response.Messages = &openai.HarmonyMessages{}
	if r.transcript != nil {
		a.read = r.transcript
		a.written, _ = harmony.NewTranscript(nil, &harmony.Conversation{}, harmony.KeepAnalysis, conversationLimit)
	}
}

// tellMessages puts them into the response, at its end.
func (a *responsesAnswer) tellMessages() {
	if a.written == nil {
		return
	}
	a.written.Close(harmony.Cut)
	a.response.Messages.Input = a.read.AppendMessages(nil)
	a.response.Messages.Output = a.written.AppendMessages(nil)
}
