package tapjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// same checks that text is JSON of want, with the members that encoding/json would write.
func same[T any](t *testing.T, text []byte, want T) {
	t.Helper()
	var got T
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is %+v, want %+v", text, got, want)
	}
	marshalled, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var mine, theirs map[string]any
	if _, end := any(want).(tap.EndReport); end {
		return // it always says how many frames were lost
	}
	if json.Unmarshal(text, &mine) != nil || json.Unmarshal(marshalled, &theirs) != nil || !reflect.DeepEqual(mine,
		theirs) {
		t.Errorf("%s, want %s", text, marshalled)
	}
}

func TestHeads(t *testing.T) {
	for _, h := range []tap.RequestHead{
		{}, {Method: "POST", Path: "/v1/chat/completions", RequestID: "a-1"}, {Path: "/\"\\\n\x01é�"},
	} {
		same(t, AppendRequestHead([]byte("{")[:0], &h), h)
	}
	for _, h := range []tap.SentHead{
		{}, {Path: "/v1/completions", Pool: "p", API: "chat", Model: "m", Server: "vllm", Speaks: "auto", Translated: true},
		{Server: "responses_service"},
	} {
		same(t, AppendSentHead(nil, &h), h)
	}
	for _, h := range []tap.ResponseHead{{}, {Status: 200, ContentType: "text/event-stream"}, {Status: 503, Local: true}} {
		same(t, AppendResponseHead(nil, &h), h)
	}
}

// TestClientsTexts: what a client chooses is bounded, and is never broken JSON.
func TestClientsTexts(t *testing.T) {
	h := tap.RequestHead{Method: "POST", Path: "/" + strings.Repeat("\x00", 1<<20) + "\xff", RequestID: "\xff"}
	text := AppendRequestHead(nil, &h)
	if len(text) > 6*maxText+100 {
		t.Errorf("%d bytes", len(text))
	}
	var got tap.RequestHead
	if err := json.Unmarshal(text, &got); err != nil || len(got.Path) != maxText || got.RequestID != "�" {
		t.Errorf("%d bytes, %q, %v", len(got.Path), got.RequestID, err)
	}
}

func TestEnd(t *testing.T) {
	full := exchange.Report{API: "responses", Model: "m", Server: "vllm", Translated: true, Finish: "stop", Cut: "client",
		EarlyEnd: "call", PromptTokens: 1, CachedTokens: 2, CompletionTokens: 3, FirstToken: 4,
		Tally: translate.Tally{Reasoning: 5, Final: 6, ToolCall: 7, Preamble: 11}, Pool: "p", Policy: "session",
		Route: "p;why=length", Client: "team"}
	around := tap.Around{Upstream: "10.0.0.7:8000", Class: "batch", QueuedMS: 12}
	full.Recoveries[harmony.MissingStart], full.Recoveries[harmony.ImplicitSplit] = 8, 9
	same(t, AppendEndReport(nil, &full, &around, 200, 10), tap.EndReport{API: "responses", Model: "m", Server: "vllm",
		Status: 200,
		Finish: "stop", Cut: "client", EarlyEnd: "call", PromptTokens: 1, CachedTokens: 2, CompletionTokens: 3,
		FirstTokenMS: 4, ReasoningTokens: 5, FinalTokens: 6, ToolCallTokens: 7,
		PreambleTokens: 11, Pool: "p", Policy: "session", Route: "p;why=length", Client: "team", Around: around,
		Recoveries: map[string]uint64{"missing_start": 8, "implicit_split": 9}, LostFrames: 10})
	full.Translated = false
	same(t, AppendEndReport(nil, &full, &around, 0, 0), tap.EndReport{API: "responses", Model: "m", Server: "vllm",
		Pool:   "p",
		Policy: "session", Route: "p;why=length", Client: "team", Around: around, FirstTokenMS: -1})
	immediate := exchange.Report{Translated: true}
	same(t, AppendEndReport(nil, &immediate, &tap.Around{}, 0, 0), tap.EndReport{})
}

// TestAddLost: an end can be told of more losses while it waits.
func TestAddLost(t *testing.T) {
	end := AppendEndReport(nil, &exchange.Report{}, &tap.Around{}, 200, 7)
	for _, want := range []int{7, 8, 10, 1_000_010, 9_999_999_999} {
		var got tap.EndReport
		if err := json.Unmarshal(end, &got); err != nil || got.LostFrames > want {
			t.Fatalf("%s: %v", end, err)
		}
		size := len(end)
		AddLost(end, want-got.LostFrames)
		if err := json.Unmarshal(end, &got); err != nil || got.LostFrames != want || got.Status != 200 || len(end) != size {
			t.Errorf("%s, want %d: %v", end, want, err)
		}
	}
}
