package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
)

// answerTurn answers a request as a server that has read so many tokens from its cache, or that reports none.
func answerTurn(t *testing.T, x *Exchange, server string, cached int) segments.Missed {
	t.Helper()
	x.ResponseHeaders(eventStream)
	answer := strings.TrimSuffix(answerOf("<|channel|>final<|message|>Yes.<|return|>"), "data: [DONE]\n\n")
	answer += fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":6,"total_tokens":15`+
		`,"prompt_tokens_details":{"cached_tokens":%d}}}`+"\n\ndata: [DONE]\n\n", cached)
	if cached < 0 {
		answer = strings.Replace(answer, `,"prompt_tokens_details":{"cached_tokens":-1}`, "", 1)
	}
	x.ResponseBody([]byte(answer), true)
	if missed := x.Report().Missed; missed.Tokens != 0 {
		t.Errorf("before the server is known %+v is missed", missed)
	}
	x.Answered(server)
	return x.Report().Missed
}

// TestMissed: what a server had to compute again, with prompts whose beginnings are remembered, and without.
func TestMissed(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"%s","parameters":{}}],"input":[`
	with := func(body, tool string) string { return strings.Replace(body, `"input":[`, fmt.Sprintf(tools, tool), 1) }
	all := longConversation(6, noReasoning)
	for _, remembered := range []int{0, 1 << 20} {
		g := recallGateway(t, remembered, func(o *Options) { o.Turns = segments.NewMemory(1 << 20) })
		send := func(body, server string, cached int, recall string) (segments.Missed, int) {
			t.Helper()
			x := forwarded(t, g, contract.ResponsesPath, body)
			if r := x.Report(); remembered > 0 && r.Recall != recall {
				t.Errorf("the prompt is a %s, want %s", r.Recall, recall)
			}
			return answerTurn(t, x, server, cached), x.Report().PromptTokens
		}
		if missed, _ := send(with(all[0], "f"), "a", 0, RecallMiss); missed.Tokens != 0 {
			t.Errorf("the first turn has missed %+v", missed)
		}
		_, tokens := send(with(all[1], "f"), "a", 800, RecallHit)
		if missed, _ := send(with(all[2], "f"), "a", tokens/16*16, RecallHit); missed.Tokens != 0 {
			t.Errorf("a turn that goes on has missed %+v", missed)
		}
		missed, tokens := send(with(all[3], "f"), "b", 160, RecallHit)
		if missed.Reason != segments.AnotherServer || missed.Tokens < tokens-260 || missed.Tokens > tokens-160 {
			t.Errorf("the turn of another server has missed %+v of %d", missed, tokens)
		}
		missed, tokens = send(with(all[4], "f"), "b", 0, RecallHit)
		if missed.Reason != segments.Evicted || missed.Tokens < tokens-100 || missed.Tokens > tokens {
			t.Errorf("the turn of an empty cache has missed %+v of %d", missed, tokens)
		}
		missed, tokens = send(with(all[5], "g"), "b", 64, RecallMiss)
		if missed.Reason != segments.Reason(segments.Tools) || missed.Tokens < tokens-200 || missed.Tokens > tokens-64 {
			t.Errorf("the turn with other tools has missed %+v of %d", missed, tokens)
		}
	}
}

// TestMissedOff: without the memory nothing is asked for, and nothing is missed.
func TestMissedOff(t *testing.T) {
	g := recallGateway(t, 0, nil)
	for _, body := range longConversation(2, noReasoning) {
		x := forwarded(t, g, contract.ResponsesPath, body)
		if missed := answerTurn(t, x, "a", 0); missed.Tokens != 0 || x.AwaitsServer() {
			t.Errorf("missed %+v", missed)
		}
	}
}

// TestMissedFailed: an answer of which nothing has come leaves nothing in the memory.
func TestMissedFailed(t *testing.T) {
	memory := segments.NewMemory(1 << 20)
	g := recallGateway(t, 0, func(o *Options) { o.Turns = memory })
	x := forwarded(t, g, contract.ResponsesPath, longConversation(1, noReasoning)[0])
	if memory.Bytes() == 0 {
		t.Error("the prompt is not kept while the server works")
	}
	x.ResponseHeaders(ResponseHead{Status: 503, ContentType: "text/plain"})
	x.ResponseBody([]byte("no"), true)
	if x.Answered("a"); memory.Bytes() != 0 {
		t.Errorf("%d bytes are kept", memory.Bytes())
	}
}

// TestMissedWithoutOutline: nothing is kept of prompts that another pool reads.
func TestMissedWithoutOutline(t *testing.T) {
	memory := segments.NewMemory(1 << 20)
	g := recallGateway(t, 0, func(o *Options) {
		o.Turns = memory
		o.Models[0].Prefill = contract.Prefill{Cluster: "c", Pool: "p", MinTokens: 1 << 20}
	})
	x := forwarded(t, g, contract.ResponsesPath, longConversation(1, noReasoning)[0])
	if memory.Bytes() != 0 || x.AwaitsServer() {
		t.Errorf("%d bytes are kept", memory.Bytes())
	}
}
