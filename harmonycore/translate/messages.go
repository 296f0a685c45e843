package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// KeepMessages keeps the messages that the model reads, for a response that includes them. It copies them, because
// their texts lie in a body that will be gone. If clients are shown no reasoning, it keeps nothing. KeepMessages
// overwrites scratch and returns it, grown if necessary.
func (r *Request) KeepMessages(scratch []byte) []byte {
	if !r.messages || r.answers.HideReasoning {
		return scratch
	}
	return r.transcribe(scratch, conversationLimit)
}

// transcribe begins the transcript with the messages that the model reads, for a client: without the control token of a
// content type, as a parser reads it.
func (r *Request) transcribe(scratch []byte, limit int) []byte {
	for i := range r.Conversation.Messages {
		if m := &r.Conversation.Messages[i]; m.ContentType.Value == constrainedJSON {
			m.ContentType.Value = jsonType
		}
	}
	r.transcript, scratch = harmony.NewTranscript(scratch, &r.Conversation, harmony.DropBeforeLastFinal, limit)
	return scratch
}

// keepMessages makes the answer keep the messages that the model writes.
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

// appendMessages puts the kept messages into the response, at its end.
func (a *responsesAnswer) appendMessages() {
	if a.written == nil {
		return
	}
	a.written.Close(harmony.Cut)
	a.response.Messages.Input = a.read.AppendMessages(nil)
	a.response.Messages.Output = a.written.AppendMessages(nil)
}
