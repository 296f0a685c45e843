package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// leading has a chunk with the role for each choice.
func (chat) leading(j *job) []byte {
	var out []byte
	for i := range j.c.choices() {
		choice := object{{"index", i}, {"delta", object{{"role", "assistant"}, {"content", ""}}}, {"logprobs", nil},
			{"finish_reason", nil}}
		var prompt any
		if isTrue(j.c.ReturnTokenIDs) {
			prompt = j.c.ids
		}
		c := append(chatChunk(j, choice, 0), member{"prompt_token_ids", prompt}, member{"prompt_text", nil})
		out = append(out, frame(c)...)
	}
	return out
}

// chatChunk returns a chunk with a choice, of which n tokens have been sent.
func chatChunk(j *job, choice object, n int) object {
	c := object{{"id", j.id}, {"object", "chat.completion.chunk"}, {"created", j.created}, {"model", j.s.opt.Models[0]},
		{"choices", []any{choice}}}
	if j.c.wantsUsage() && isTrue(j.c.StreamOptions.ContinuousUsage) && !j.s.opt.NoUsage {
		c = append(c, member{"usage", j.usage(n)})
	}
	return c
}

// event has one chunk, or several where the order of the text needs it.
func (chat) event(j *job, index, from, to int) []byte {
	var out []byte
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
func chatEvent(j *job, index, from, to int) []byte {
	delta := chatDelta(j, index, from, to)
	hides := chatOf(j).hidesReasoning
	showsIDs := isTrue(j.c.ReturnTokenIDs) && !hides
	logprobs := chatLogprobs(j, from, to)
	ends := to == len(j.gen.ids)
	if len(delta) == 0 && !ends && logprobs == nil && !showsIDs {
		return nil
	}
	choice := object{{"index", index}, {"delta", delta}, {"logprobs", logprobs}, {"finish_reason", nil}}
	if ends {
		choice[3].value = chatFinish(j)
		choice = append(choice, member{"stop_reason", j.gen.stop})
	}
	var ids any
	if showsIDs {
		ids = list(j.gen.ids[from:to])
	}
	return frame(chatChunk(j, append(choice, member{"token_ids", ids}), to))
}

// reasoningMembers returns the names of the members with reasoning.
func reasoningMembers(j *job) []string {
	if j.s.opt.ChatForm == ChatBoth {
		return []string{"reasoning", "reasoning_content"}
	}
	return []string{j.s.opt.ChatForm}
}

// chatDelta returns what the tokens from..to add to the message of a choice.
func chatDelta(j *job, index, from, to int) object {
	var reasoning, content, arguments string
	var calls []any
	a := answerOf(j)
	var call object
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
			switch function := (object{{"arguments", arguments}}); {
			case p.begins:
				call = object{{"id", callID(j, index, at)}, {"type", "function"}, {"index", at},
					{"function", append(object{{"name", a.calls[at]}}, function...)}}
			case call == nil:
				call = object{{"index", at}, {"function", function}}
			default:
				f, _ := call[len(call)-1].value.(object)
				f[len(f)-1].value = arguments
			}
		}
	}
	endCall()
	delta := object{}
	if content != "" {
		delta = append(delta, member{"content", content})
	}
	if reasoning != "" {
		for _, name := range reasoningMembers(j) {
			delta = append(delta, member{name, reasoning})
		}
	}
	if len(calls) > 0 {
		delta = append(delta, member{"tool_calls", calls})
	}
	return delta
}

// callID returns the id of a call. It is always the same for an answer of the same id.
func callID(j *job, index, call int) string {
	h := fnv.New128a()
	fmt.Fprint(h, j.id, " ", index, " ", call)
	return fmt.Sprintf("chatcmpl-tool-%x", h.Sum(nil))
}

func chatFinish(j *job) string {
	if j.gen.finish == "stop" && len(answerOf(j).calls) > 0 && !strings.HasPrefix(chatOf(j).choice, "function ") {
		return "tool_calls"
	}
	return j.gen.finish
}

// chatLogprobs returns the logprobs of the tokens from..to, or nil without any.
func chatLogprobs(j *job, from, to int) any {
	if j.c.Logprobs == nil || chatOf(j).hidesReasoning {
		return nil
	}
	content := []any{}
	for at := from; at < to; at++ {
		_, sampled, all := alternatives(j.gen.ids[at], at, *j.c.Logprobs)
		// The sampled token is the first, whatever its rank.
		own := Alternative{Token: j.gen.ids[at], Logprob: sampled}
		all = slices.DeleteFunc(all, func(a Alternative) bool { return a.Token == own.Token })
		top := []any{}
		for _, a := range slices.Insert(all, 0, own)[:*j.c.Logprobs] {
			top = append(top, chatLogprob(j, a.Token, a.Logprob))
		}
		content = append(content, append(chatLogprob(j, j.gen.ids[at], sampled), member{"top_logprobs", top}))
	}
	return object{{"content", content}}
}

func chatLogprob(j *job, id uint32, value float64) object {
	b, _ := j.s.tok.TokenBytes(id)
	// The bytes are those of the text, in which a part of a character is U+FFFD.
	shown := []byte(lossy(b))
	numbers := make([]int, len(shown))
	for i, c := range shown {
		numbers[i] = int(c)
	}
	return object{{"token", j.tokenName(id)}, {"logprob", value}, {"bytes", numbers}}
}

// chatUsage returns the usage of the whole answer.
func chatUsage(j *job) object {
	n := j.c.choices()
	u := j.usage(n * len(j.gen.ids))
	usage := object{{"prompt_tokens", u.PromptTokens}, {"total_tokens", u.TotalTokens},
		{"completion_tokens", u.CompletionTokens}}
	if details := j.details(); details != nil {
		usage = append(usage, member{"prompt_tokens_details", details})
	}
	if parsesReasoning(j) {
		usage = append(usage, member{"completion_tokens_details", object{
			{"reasoning_tokens", n * answerOf(j).reasoningTokens}}})
	}
	return usage
}

// parsesReasoning reports whether the server takes the reasoning out of the text.
func parsesReasoning(j *job) bool {
	switch j.s.opt.ChatForm {
	case ChatReasoning, ChatReasoningContent, ChatBoth:
		return true
	}
	return false
}

func (chat) trailing(j *job) []byte {
	if !j.c.wantsUsage() || j.s.opt.NoUsage {
		return nil
	}
	return frame(object{{"id", j.id}, {"object", "chat.completion.chunk"}, {"created", j.created},
		{"model", j.s.opt.Models[0]}, {"choices", []any{}}, {"usage", chatUsage(j)}})
}

func (chat) whole(j *job) []byte {
	var prompt any
	if isTrue(j.c.ReturnTokenIDs) {
		prompt = j.c.ids
	}
	choices := []any{}
	for i := range j.c.choices() {
		var ids any
		if isTrue(j.c.ReturnTokenIDs) && !chatOf(j).hidesReasoning {
			ids = list(j.gen.ids)
		}
		choices = append(choices, object{{"index", i}, {"message", messageOf(j, i)},
			{"logprobs", chatLogprobs(j, 0, len(j.gen.ids))}, {"finish_reason", chatFinish(j)}, {"stop_reason", j.gen.stop},
			{"token_ids", ids}, {"routed_experts", nil}})
	}
	answer := object{{"id", j.id}, {"object", "chat.completion"}, {"created", j.created}, {"model", j.s.opt.Models[0]},
		{"choices", choices}, {"service_tier", nil}, {"system_fingerprint", nil}}
	if !j.s.opt.NoUsage {
		answer = append(answer, member{"usage", chatUsage(j)})
	}
	for _, name := range []string{"prompt_logprobs", "prompt_token_ids", "prompt_text", "kv_transfer_params",
		"ec_transfer_params", "metrics"} {
		var value any
		if name == "prompt_token_ids" {
			value = prompt
		}
		answer = append(answer, member{name, value})
	}
	return mustJSON(answer)
}

// messageOf returns the whole message of a choice. Several texts of one kind are lines of one.
func messageOf(j *job, index int) object {
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
	m := object{{"role", "assistant"}, {"content", orNull(contentPiece)}, {"refusal", nil}, {"annotations", nil},
		{"audio", nil}, {"function_call", nil}}
	if len(calls) > 0 {
		var all []any
		for i, arguments := range calls {
			all = append(all, object{{"id", callID(j, index, i)}, {"type", "function"},
				{"function", object{{"name", a.calls[i]}, {"arguments", string(arguments)}}}})
		}
		m = append(m, member{"tool_calls", all})
	}
	if parsesReasoning(j) {
		for _, name := range reasoningMembers(j) {
			m = append(m, member{name, orNull(reasoningPiece)})
		}
	}
	return m
}
