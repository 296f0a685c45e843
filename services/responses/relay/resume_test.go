package relay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/handover"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// marks are the comments of a stream that can be handed over: the head, one with a token, and the one with which a
// stream goes on.
func marks() (head, token, onward string) {
	w := handover.NewWriter(&handover.Head{ID: "id", Now: 1, PromptTokens: 5})
	head = string(w.AppendMark(nil))
	w.Token(200005)
	token = string(w.AppendMark(nil))
	return head, token, string(handover.NewWriter(nil).AppendMark(nil))
}

// drained follows a mark of a stream whose server is drained.
const drained = handover.Drained + "\n\n"

// asksFinal follows a mark of a model that is asked for its answer.
const asksFinal = handover.Final + "\n\n"

// resuming is a request whose stream other servers may finish.
func resuming(api *API) *Request {
	r := request(api, true, 0)
	r.Resume, r.Hold = true, func(int64) error { return nil }
	return r
}

func resumingGateway(t *testing.T, answers ...answer) *gateway {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return &gateway{answers: answers, keys: keys}
}

// TestResume: the client gets a stream once that several servers have written, and nothing for which there is no mark.
func TestResume(t *testing.T) {
	head, token, onward := marks()
	for _, tt := range []struct {
		name    string
		api     *API
		answers []answer
		want    string
		outcome string
		resumed string
		aborted bool
	}{
		{name: "uncut", api: Chat, answers: []answer{streamed(piece{text: head + chatRole + token + chatText + token +
			chatEnd})}, want: chatRole + chatText + chatEnd, outcome: Completed, resumed: "[]"},
		{name: "once", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + chatText + token + "data: not marked\n\ndata: half", err: errReset}),
			streamed(piece{text: onward + chatText + token + chatEnd})},
			want: chatRole + chatText + chatText + chatEnd, outcome: Completed, resumed: "[resumed]"},
		{name: "before anything", api: Chat, answers: []answer{streamed(piece{text: head + chatRole, err: errReset}),
			streamed(piece{text: onward + chatRole + chatText + token + chatEnd})}, want: chatRole + chatText + chatEnd,
			outcome: Completed, resumed: "[resumed]"},
		{name: "by an error of the server's", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + chatText + token + chatError, err: errReset}),
			answers(0, 503, `{"error":{"message":"no server","code":"server_unavailable"}}`),
			streamed(piece{text: onward + chatEnd})}, want: chatRole + chatText + chatEnd, outcome: Completed,
			resumed: "[resumed]"},
		{name: "twice", api: Messages, answers: []answer{
			streamed(piece{text: head + messageStart + blockStart + token, err: errReset}),
			streamed(piece{text: onward + blockDelta + token + messageError}), streamed(piece{text: onward + messageStop})},
			want: messageStart + blockStart + blockDelta + messageStop, outcome: Completed, resumed: "[resumed resumed]"},
		{name: "refused", api: Chat, answers: []answer{
			streamed(piece{text: ": no-relay n\n\n" + chatRole + chatText, err: errReset})},
			want: chatRole + chatText + chatCut, outcome: Cut, resumed: "[refused]", aborted: true},
		{name: "refused before anything", api: Chat, answers: []answer{
			streamed(piece{text: ": no-relay n\n\n" + chatRole, err: errReset}),
			streamed(piece{text: ": no-relay n\n\n" + chatRole + chatText + chatEnd})},
			want: chatRole + chatText + chatEnd, outcome: Completed, resumed: "[]"},
		{name: "an older gateway", api: Chat, answers: []answer{streamed(piece{text: chatRole + chatText, err: errReset})},
			want: chatRole + chatText + chatCut, outcome: Cut, resumed: "[refused]", aborted: true},
		{name: "a request that has become another one", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + chatText + token + chatText, err: errReset}),
			answers(0, 409, `{"error":{"message":"no","code":"invalid_request"}}`)},
			want: chatRole + chatText + chatText + chatCut, outcome: Cut, resumed: "[given_up]", aborted: true},
		{name: "no server", api: Messages, answers: []answer{streamed(piece{text: head + messageStart + token, err: errReset}),
			answers(0, 503, "{}"), {}, answers(0, 502, "{}"), answers(0, 503, "{}")},
			want: messageStart + messageCut, outcome: Cut, resumed: "[given_up]"},
		{name: "moved", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + chatText + token + drained + chatText + token + chatEnd}),
			streamed(piece{text: onward + chatText + token + chatEnd})},
			want: chatRole + chatText + chatText + chatEnd, outcome: Completed, resumed: "[moved]"},
		{name: "moved twice, and cut", api: Messages, answers: []answer{
			streamed(piece{text: head + messageStart + token + drained}),
			streamed(piece{text: onward + blockStart + token}, piece{after: time.Minute, text: blockDelta + token + drained}),
			streamed(piece{text: onward + blockDelta, err: errReset}), streamed(piece{text: onward + messageStop})},
			want: messageStart + blockStart + blockDelta + messageStop, outcome: Completed, resumed: "[moved moved resumed]"},
		{name: "moved, and asked for its answer at once", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + token + drained}), streamed(piece{text: onward + chatText + token + asksFinal}),
			streamed(piece{text: onward + chatText + chatEnd})},
			want: chatRole + chatText + chatText + chatEnd, outcome: Completed, resumed: "[moved final]"},
		{name: "stays where it is", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + token + drained + chatText + token + drained}, piece{text: chatEnd}),
			answers(0, 503, "{}")}, want: chatRole + chatText + chatEnd, outcome: Completed, resumed: "[]"},
		{name: "a server ended by itself", api: Chat, answers: []answer{
			streamed(piece{text: head + chatRole + chatText + token, err: errReset}), streamed(piece{text: chatEnd})},
			want: chatRole + chatText + chatEnd, outcome: Completed, resumed: "[resumed]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := resumingGateway(t, tt.answers...)
			got := relay(t.Context(), g, resuming(tt.api), 0)
			if got.text.String() != tt.want || fmt.Sprint(got.outcomes) != "["+tt.outcome+"]" ||
				fmt.Sprint(got.resumed) != tt.resumed || got.aborted != tt.aborted || len(g.asked) != len(tt.answers) {
				t.Errorf("%s: %q, %v, %v, aborted %v, asked %d times\nwant %q", tt.name, got.text.String(), got.outcomes,
					got.resumed, got.aborted, len(g.asked), tt.want)
			}
		})
	}
}

// TestMovesAreBounded: a stream whose servers are all drained is moved a few times in an hour, and ends.
func TestMovesAreBounded(t *testing.T) {
	head, token, onward := marks()
	var all []answer
	for start := head; len(all) < 30; start = onward {
		pieces := []piece{{text: start + chatText + token + drained}}
		for range 3600 {
			pieces = append(pieces, piece{after: time.Second, text: chatText + token + drained})
		}
		all = append(all, streamed(append(pieces, piece{text: chatEnd})...))
	}
	synctest.Test(t, func(t *testing.T) {
		g := resumingGateway(t, all...)
		got := relay(t.Context(), g, resuming(Chat), 0)
		if n := len(g.asked); n != 13 || got.aborted || !strings.HasSuffix(got.text.String(), chatEnd) {
			t.Errorf("asked %d times: %d bytes", n, got.text.Len())
		}
	})
}

// TestResumeAnywhere cuts a stream at each byte.
func TestResumeAnywhere(t *testing.T) {
	head, token, onward := marks()
	parts := []string{chatRole + chatText, chatText, chatText, chatEnd}
	text := head + parts[0] + token + parts[1] + token + parts[2] + token + parts[3]
	whole := strings.Join(parts, "")
	for at := range len(text) - len("data: [DONE]\n\n") {
		kept := strings.Count(text[:at], token)
		first := onward + strings.Join(parts[kept:], token)
		synctest.Test(t, func(t *testing.T) {
			g := resumingGateway(t, streamed(piece{text: text[:at], err: errReset}), streamed(piece{text: first}))
			got := relay(t.Context(), g, resuming(Chat), 0)
			if got.text.String() != whole || got.aborted || len(g.asked) != 2 {
				t.Fatalf("cut at %d: %q", at, got.text.String())
			}
		})
	}
}

// TestResumeIsBounded: a stream whose servers all die is given up, events without marks are not kept for ever, and
// neither are tokens without memory.
func TestResumeIsBounded(t *testing.T) {
	head, token, onward := marks()
	synctest.Test(t, func(t *testing.T) {
		var all []answer
		for i := range 100 {
			start := onward
			if i == 0 {
				start = head
			}
			all = append(all, streamed(piece{text: start + chatText + token, err: errReset}))
		}
		g := resumingGateway(t, all...)
		got := relay(t.Context(), g, resuming(Chat), 0)
		if len(g.asked) != 17 || got.text.String() != strings.Repeat(chatText, 17)+chatCut {
			t.Errorf("asked %d times: %d bytes", len(g.asked), got.text.Len())
		}
		large := strings.Repeat(chatText, 5<<20/len(chatText))
		got = relay(t.Context(), resumingGateway(t, streamed(piece{text: head + large, err: errReset})), resuming(Chat), 0)
		if got.text.String() != large+chatCut || fmt.Sprint(got.resumed) != "[refused]" {
			t.Errorf("%d bytes, %v", got.text.Len(), got.resumed)
		}
		event := "data: " + strings.Repeat("x", 5<<20) + "\n\n"
		got = relay(t.Context(), resumingGateway(t, streamed(piece{text: head + event + chatEnd})), resuming(Chat), 0)
		if got.text.String() != event+chatEnd {
			t.Errorf("%d bytes", got.text.Len())
		}
		full := resuming(Chat)
		full.Hold = func(int64) error { return errors.New("full") }
		got = relay(t.Context(), resumingGateway(t, streamed(piece{text: head + chatText + token, err: errReset})), full, 0)
		if got.text.String() != chatText+string(Chat.appendFailure(nil, refusal.AnswerCut())) ||
			fmt.Sprint(got.resumed) != "[refused]" {
			t.Errorf("%q, %v", got.text.String(), got.resumed)
		}
	})
}
