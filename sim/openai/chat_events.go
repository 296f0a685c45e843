package openai

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/sim/gptoss"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Leading has a chunk with the role for each choice.
func (chat) Leading(j *server.Job) []byte {
	var out []byte
	for i := range j.Asked.Choices() {
		choice := server.Object{{"index", i}, {"delta", server.Object{{"role", "assistant"}, {"content", ""}}}, {"logprobs",
			nil},
			{"finish_reason", nil}}
		var prompt any
		if server.IsTrue(j.Asked.ReturnTokenIDs) {
			prompt = j.Asked.IDs
		}
		c := append(chatChunk(j, choice, 0), server.Member{"prompt_token_ids", prompt}, server.Member{"prompt_text", nil})
		out = append(out, server.Frame(c)...)
	}
	return out
}

// chatChunk returns a chunk with a choice, of which n tokens have been sent.
func chatChunk(j *server.Job, choice server.Object, n int) server.Object {
	c := server.Object{{"id", j.ID}, {"object", "chat.completion.chunk"}, {"created", j.Created}, {"model",
		j.Server.Options.Models[0]},
		{"choices", []any{choice}}}
	if j.Asked.WantsUsage() && server.IsTrue(j.Asked.StreamOptions.ContinuousUsage) && !j.Server.Options.NoUsage {
		c = append(c, server.Member{"usage", j.Usage(n)})
	}
	return c
}

// Event has one chunk, or several where the order of the text needs it. It has none for an answer that vLLM gives up
// before its first token.
func (chat) Event(j *server.Job, index, from, to int) []byte {
	var out []byte
	if to == 0 && j.Answer.Finish == "abort" {
		return out
	}
	pieces := answerOf(j).pieces
	last := pieceKind(0)
	for start, i := from, from; i <= to; i++ {
		if i < to {
			goesBack := len(pieces[i]) > 0 && pieces[i][0].kind < last
			for _, p := range pieces[i] {
				last = p.kind
			}
			if !goesBack {
				continue
			}
		}
		if i > start || from == to {
			out = append(out, chatEvent(j, index, start, i)...)
			start = i
		}
	}
	return out
}

// chatEvent returns the chunk with the tokens from..to. A chunk that says nothing is not sent.
func chatEvent(j *server.Job, index, from, to int) []byte {
	delta := chatDelta(j, index, from, to)
	hides := chatOf(j).hidesReasoning
	showsIDs := server.IsTrue(j.Asked.ReturnTokenIDs) && !hides
	logprobs := chatLogprobs(j, from, to)
	ends := to == len(j.Answer.IDs)
	if len(delta) == 0 && !ends && logprobs == nil && !showsIDs {
		return nil
	}
	choice := server.Object{{"index", index}, {"delta", delta}, {"logprobs", logprobs}, {"finish_reason", nil}}
	if ends {
		choice[3].Value = chatFinish(j)
		choice = append(choice, server.Member{"stop_reason", j.Answer.Stop})
	}
	var ids any
	if showsIDs {
		ids = server.List(j.Answer.IDs[from:to])
	}
	return server.Frame(chatChunk(j, append(choice, server.Member{"token_ids", ids}), to))
}

// reasoningMembers returns the names of the members with reasoning.
func reasoningMembers(j *server.Job) []string {
	if j.Server.Options.ChatForm == ChatBoth {
		return []string{"reasoning", "reasoning_content"}
	}
	return []string{j.Server.Options.ChatForm}
}

// chatDelta returns what the tokens from..to add to the message of a choice.
func chatDelta(j *server.Job, index, from, to int) server.Object {
	var reasoning, content, arguments string
	var calls []any
	a := answerOf(j)
	var call server.Object
	endCall := func() {
		if call != nil {
			calls = append(calls, call)
		}
		call = nil
	}
	at := -1
	for i := from; i < to; i++ {
		for _, p := range a.pieces[i] {
			switch {
			case p.kind == reasoningPiece:
				reasoning += p.text
				continue
			case p.kind == contentPiece:
				content += p.text
				continue
			case p.call != at:
				endCall()
				at, arguments = p.call, ""
			}
			arguments += p.text
			switch function := (server.Object{{"arguments", arguments}}); {
			case p.begins:
				call = server.Object{{"id", callID(j, index, at)}, {"type", "function"}, {"index", at},
					{"function", append(server.Object{{"name", a.calls[at]}}, function...)}}
			case call == nil:
				call = server.Object{{"index", at}, {"function", function}}
			default:
				f, _ := call[len(call)-1].Value.(server.Object)
				f[len(f)-1].Value = arguments
			}
		}
	}
	endCall()
	delta := server.Object{}
	if content != "" {
		delta = append(delta, server.Member{"content", content})
	}
	if reasoning != "" {
		for _, name := range reasoningMembers(j) {
			delta = append(delta, server.Member{name, reasoning})
		}
	}
	if len(calls) > 0 {
		delta = append(delta, server.Member{"tool_calls", calls})
	}
	return delta
}

// callID returns the id of a call. It is always the same for an answer of the same id.
func callID(j *server.Job, index, call int) string {
	h := fnv.New128a()
	fmt.Fprint(h, j.ID, " ", index, " ", call)
	return fmt.Sprintf("chatcmpl-tool-%x", h.Sum(nil))
}

func chatFinish(j *server.Job) string {
	if j.Answer.Finish == "stop" && len(answerOf(j).calls) > 0 && !strings.HasPrefix(chatOf(j).choice, "function ") {
		return "tool_calls"
	}
	return j.Answer.Finish
}

// chatLogprobs returns the logprobs of the tokens from..to, or nil without any.
func chatLogprobs(j *server.Job, from, to int) any {
	if j.Asked.Logprobs == nil || chatOf(j).hidesReasoning {
		return nil
	}
	return textLogprobs(j, from, to)
}

// textLogprobs returns the logprobs of the tokens from..to, which the request has asked for.
func textLogprobs(j *server.Job, from, to int) any {
	content := []any{}
	for at := from; at < to; at++ {
		_, sampled, all := server.Alternatives(j.Answer.IDs[at], at, *j.Asked.Logprobs)
		// The sampled token is the first, whatever its rank.
		own := server.Alternative{Token: j.Answer.IDs[at], Logprob: sampled}
		all = slices.DeleteFunc(all, func(a server.Alternative) bool { return a.Token == own.Token })
		top := []any{}
		for _, a := range slices.Insert(all, 0, own)[:*j.Asked.Logprobs] {
			top = append(top, chatLogprob(j, a.Token, a.Logprob))
		}
		content = append(content, append(chatLogprob(j, j.Answer.IDs[at], sampled), server.Member{"top_logprobs", top}))
	}
	return server.Object{{"content", content}}
}

func chatLogprob(j *server.Job, id uint32, value float64) server.Object {
	b, _ := j.Server.Tokenizer.TokenBytes(id)
	// The bytes are the text's, in which a part of a character is U+FFFD.
	shown := []byte(gptoss.Lossy(b))
	numbers := make([]int, len(shown))
	for i, c := range shown {
		numbers[i] = int(c)
	}
	return server.Object{{"token", j.TokenName(id)}, {"logprob", value}, {"bytes", numbers}}
}

// chatUsage returns the usage of the whole answer.
func chatUsage(j *server.Job) server.Object {
	n := j.Asked.Choices()
	u := j.Usage(n * len(j.Answer.IDs))
	usage := server.Object{{"prompt_tokens", u.PromptTokens}, {"total_tokens", u.TotalTokens},
		{"completion_tokens", u.CompletionTokens}}
	if details := j.Details(); details != nil {
		usage = append(usage, server.Member{"prompt_tokens_details", details})
	}
	if parsesReasoning(j) {
		usage = append(usage, server.Member{"completion_tokens_details", server.Object{
			{"reasoning_tokens", n * answerOf(j).reasoningTokens}}})
	}
	return usage
}

// parsesReasoning reports whether the server takes the reasoning out of the text.
func parsesReasoning(j *server.Job) bool {
	switch j.Server.Options.ChatForm {
	case ChatReasoning, ChatReasoningContent, ChatBoth:
		return true
	}
	return false
}

func (chat) Trailing(j *server.Job) []byte {
	if !j.Asked.WantsUsage() || j.Server.Options.NoUsage {
		return nil
	}
	return server.Frame(server.Object{{"id", j.ID}, {"object", "chat.completion.chunk"}, {"created", j.Created},
		{"model", j.Server.Options.Models[0]}, {"choices", []any{}}, {"usage", chatUsage(j)}})
}

func (chat) Whole(j *server.Job) []byte {
	var prompt any
	if server.IsTrue(j.Asked.ReturnTokenIDs) {
		prompt = j.Asked.IDs
	}
	choices := []any{}
	for i := range j.Asked.Choices() {
		var ids any
		if server.IsTrue(j.Asked.ReturnTokenIDs) && !chatOf(j).hidesReasoning {
			ids = server.List(j.Answer.IDs)
		}
		choices = append(choices, server.Object{{"index", i}, {"message", messageOf(j, i)},
			{"logprobs", chatLogprobs(j, 0, len(j.Answer.IDs))}, {"finish_reason", chatFinish(j)}, {"stop_reason",
				j.Answer.Stop},
			{"token_ids", ids}, {"routed_experts", nil}})
	}
	answer := server.Object{{"id", j.ID}, {"object", "chat.completion"}, {"created", j.Created}, {"model",
		j.Server.Options.Models[0]},
		{"choices", choices}, {"service_tier", nil}, {"system_fingerprint", nil}}
	if !j.Server.Options.NoUsage {
		answer = append(answer, server.Member{"usage", chatUsage(j)})
	}
	for _, name := range []string{"prompt_logprobs", "prompt_token_ids", "prompt_text", "kv_transfer_params",
		"ec_transfer_params", "metrics"} {
		var value any
		if name == "prompt_token_ids" {
			value = prompt
		}
		answer = append(answer, server.Member{name, value})
	}
	return server.MustJSON(answer)
}

// messageOf returns the whole message of a choice. Several texts of one kind are lines of one.
func messageOf(j *server.Job, index int) server.Object {
	texts := map[pieceKind][]byte{}
	a := answerOf(j)
	calls := make([][]byte, len(a.calls))
	said := map[pieceKind]bool{}
	for _, ofToken := range a.pieces {
		for _, p := range ofToken {
			if p.kind == callPiece {
				calls[p.call] = append(calls[p.call], p.text...)
				continue
			}
			if p.begins && said[p.kind] && parsesReasoning(j) {
				texts[p.kind] = append(texts[p.kind], '\n')
			}
			texts[p.kind] = append(texts[p.kind], p.text...)
			said[p.kind] = true
		}
	}
	orNull := func(kind pieceKind) any {
		if !said[kind] {
			return nil
		}
		return string(texts[kind])
	}
	m := server.Object{{"role", "assistant"}, {"content", orNull(contentPiece)}, {"refusal", nil}, {"annotations", nil},
		{"audio", nil}, {"function_call", nil}}
	if len(calls) > 0 {
		var all []any
		for i, arguments := range calls {
			all = append(all, server.Object{{"id", callID(j, index, i)}, {"type", "function"},
				{"function", server.Object{{"name", a.calls[i]}, {"arguments", string(arguments)}}}})
		}
		m = append(m, server.Member{"tool_calls", all})
	}
	if parsesReasoning(j) {
		for _, name := range reasoningMembers(j) {
			m = append(m, server.Member{name, orNull(reasoningPiece)})
		}
	}
	return m
}
