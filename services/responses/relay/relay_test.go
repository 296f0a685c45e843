package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// The events of answers, as the gateway writes them.
const (
	chatRole = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant",` +
		`"content":null,"reasoning":null},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	chatText = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"},` +
		`"logprobs":null,"finish_reason":null}]}` + "\n\n"
	chatEnd = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"logprobs":null,` +
		`"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	chatError = `data: {"error":{"message":"m","type":"server_error","param":null,"code":"server_error"}}` + "\n\n"
	chatCut   = `data: {"error":{"message":"The model's server ended the stream before the answer was complete. Try again.",` +
		`"type":"server_error","param":null,"code":"server_error"}}` + "\n\n"

	messageStart = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	blockStart   = "event: content_block_start\ndata: {\"type\":\"content_block_start\"}\n\n"
	blockDelta   = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\n"
	messageStop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	messageError = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}\n\n"
	messageCut   = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"The model's server " +
		"ended the stream before the answer was complete. Try again.\"}}\n\n"
	ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
)

// piece is a part of an answer that comes after a time. A piece with an error ends the answer.
type piece struct {
	after time.Duration
	text  string
	err   error
}

var errReset = errors.New("connection reset")

// answer is what a gateway answers after a time.
type answer struct {
	after  time.Duration
	status int
	header http.Header
	pieces []piece
}

// streamed is an answer with these events.
func streamed(pieces ...piece) answer {
	return answer{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}, "X-A": {"b"},
		"Server": {"envoy"}},
		pieces: pieces}
}

func answers(after time.Duration, status int, body string) answer {
	return answer{after: after, status: status, header: http.Header{"Content-Type": {"application/json"},
		"Retry-After": {"2"}}, pieces: []piece{{text: body}}}
}

// gateway answers in turn.
type gateway struct {
	answers []answer
	asked   []string
	keys    *seal.Keys
	// closed counts the answers that were read no further.
	closed int
}

func (g *gateway) Open(ctx context.Context, q *upstream.Question) (*http.Response, error) {
	body := q.Reader
	if body == nil {
		body = bytes.NewReader(q.Body)
	}
	text, _ := io.ReadAll(body)
	g.asked = append(g.asked, string(text))
	a := g.answers[len(g.asked)-1]
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.status == 0 {
		return nil, errReset
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: &answerBody{g: g, left: slices.Clone(a.pieces)}},
		nil
}

func (g *gateway) NewHandover(hold func(int64) error) *upstream.Handover {
	return upstream.New("", g.keys, slog.New(slog.DiscardHandler)).NewHandover(hold)
}

func (g *gateway) Unreachable(error) *openai.Error {
	return &openai.Error{Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerUnavailable,
		Message: "away"}
}

type answerBody struct {
	g    *gateway
	left []piece
}

func (b *answerBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	now := &b.left[0]
	time.Sleep(now.after)
	now.after = 0
	n := copy(p, now.text)
	if now.text = now.text[n:]; now.text != "" {
		return n, nil
	}
	err := now.err
	b.left = b.left[1:]
	return n, err
}

func (b *answerBody) Close() error { b.g.closed++; return nil }

// receiver is a client that notes when it gets something. It leaves after so many writes, unless that is 0.
type receiver struct {
	began  time.Time
	header http.Header
	status int
	text   strings.Builder
	times  []time.Duration
	leaves int
}

func (r *receiver) Header() http.Header { return r.header }

func (r *receiver) WriteHeader(status int) { r.status = status }

func (r *receiver) Write(p []byte) (int, error) {
	if r.leaves > 0 && len(r.times) >= r.leaves {
		return 0, errLeft
	}
	if r.status == 0 {
		r.status = 200
	}
	r.times = append(r.times, time.Since(r.began))
	return r.text.Write(p)
}

func (r *receiver) Flush() {}

// counts are metrics.
type counts struct {
	outcomes []string
	resumed  []string
	kept     int
}

func (c *counts) Relayed(_, outcome string) { c.outcomes = append(c.outcomes, outcome) }
func (c *counts) KeptAlive(string)          { c.kept++ }
func (c *counts) Resumed(_, outcome string) { c.resumed = append(c.resumed, outcome) }

// result is what became of a request.
type result struct {
	*receiver
	*counts
	failure *openai.Error
	aborted bool
}

// relay answers a request in a time of its own.
func relay(ctx context.Context, g *gateway, r *Request, leaves int) *result {
	got := &result{receiver: &receiver{began: time.Now(), header: http.Header{}, leaves: leaves}, counts: &counts{}}
	e := &Env{Log: slog.New(slog.DiscardHandler), Gateway: g, Metrics: got.counts}
	func() {
		defer func() {
			if fault := recover(); fault != nil {
				err, _ := fault.(error)
				if got.aborted = errors.Is(err, http.ErrAbortHandler); !got.aborted {
					panic(fault)
				}
			}
		}()
		got.failure = e.Answer(ctx, got.receiver, r)
	}()
	return got
}

func request(api *API, retry bool, every time.Duration) *Request {
	return &Request{API: api, Body: []byte(`{"model":"m"}`), Model: "m", Stream: true, Retry: retry, KeepAlive: every}
}

// TestAnswers has each way in which a stream ends, of both APIs.
func TestAnswers(t *testing.T) {
	const away = `{"error":{"message":"Busy.","type":"server_error","param":null,"code":"server_overloaded"}}`
	const lost = `{"error":{"message":"Lost.","type":"server_error","param":null,"code":"server_error"}}`
	const overloaded = `{"type":"error","error":{"type":"rate_limit_error","message":"Busy."},"request_id":"r"}`
	const gone = `{"type":"error","error":{"type":"api_error","message":"Lost."}}`
	chat := chatRole + chatText + chatEnd
	message := messageStart + blockStart + blockDelta + messageStop
	every := 15 * time.Second
	for _, tt := range []struct {
		name    string
		api     *API
		retry   bool
		every   time.Duration
		answers []answer
		status  int
		want    string
		outcome string
		aborted bool
	}{
		{"a whole one", Chat, false, 0, []answer{streamed(piece{text: chat})}, 200, chat, Completed, false},
		{"a whole one", Messages, false, 0, []answer{streamed(piece{text: message})}, 200, message, Completed, false},
		{"a reset after the end", Chat, false, 0, []answer{streamed(piece{text: chat, err: errReset})}, 200, chat, Completed,
			false},
		{"channel events", Chat, true, 0,
			[]answer{streamed(piece{text: "event: token\ndata: {}\n\nevent: done\ndata: {}\n\n"})},
			200, "event: token\ndata: {}\n\nevent: done\ndata: {}\n\n", Completed, false},

		{"cut", Chat, false, 0, []answer{streamed(piece{text: chatRole + chatText, err: errReset})}, 200,
			chatRole + chatText + chatCut, Cut, true},
		{"cut", Messages, false, 0, []answer{streamed(piece{text: messageStart + blockStart, err: errReset})}, 200,
			messageStart + blockStart + messageCut, Cut, false},
		{"cut within an event", Chat, false, 0, []answer{streamed(piece{text: chatRole + chatText[:40], err: errReset})}, 200,
			chatRole + chatCut, Cut, true},
		{"ended too early", Messages, false, 0, []answer{streamed(piece{text: messageStart + "event: mess"})}, 200,
			messageStart + messageCut, Cut, false},
		{"cut before anything", Chat, false, 0, []answer{streamed(piece{err: errReset})}, 0, "", Cut, false},
		{"cut in the prefill", Chat, false, every, []answer{streamed(piece{after: 20 * time.Second, err: errReset})}, 200,
			": keep-alive\n\n" + chatCut, Cut, true},
		{"failed", Chat, false, 0, []answer{streamed(piece{text: chatText + chatError, err: errReset})}, 200,
			chatText + chatError, Failed, true},
		{"failed", Messages, false, 0, []answer{streamed(piece{text: blockDelta + messageError})}, 200,
			blockDelta + messageError, Failed, false},

		{"refused", Chat, false, every, []answer{answers(0, 429, away)}, 429, away, Completed, false},
		{"refused", Messages, true, every, []answer{answers(0, 429, overloaded)}, 429, overloaded, Completed, false},
		{"away", Chat, false, every, []answer{{}}, 0, "", Failed, false},
		{"refused late", Chat, false, every, []answer{answers(20*time.Second, 429, away)}, 200,
			": keep-alive\n\n" + `data: {"error":{"message":"Busy. Please try again in 2s.","type":"server_error","param":null,` +
				`"code":"server_overloaded"}}` + "\n\n", Failed, true},
		{"refused late", Messages, false, every, []answer{answers(40*time.Second, 429, overloaded)}, 200,
			ping + ping + "event: error\ndata: " + overloaded + "\n\n", Failed, false},
		{"refused late without a form", Messages, false, every, []answer{answers(20*time.Second, 503, "no healthy upstream")},
			200, ping + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"The gateway " +
				"answered 503. Please try again in 2s.\"}}\n\n", Failed, false},

		{"asked again", Chat, true, 0, []answer{answers(0, 502, lost), streamed(piece{text: chat})}, 200, chat, Completed,
			false},
		{"asked again", Messages, true, 0, []answer{answers(0, 503, gone), streamed(piece{text: message})}, 200, message,
			Completed, false},
		{"asked again after the opening", Chat, true, 0, []answer{streamed(piece{text: chatRole, err: errReset}),
			streamed(piece{text: chat})}, 200, chat, Completed, false},
		{"asked again after the opening", Messages, true, every, []answer{
			streamed(piece{text: messageStart + blockStart}, piece{after: 20 * time.Second, err: errReset}),
			streamed(piece{text: message})}, 200, ping + message, Completed, false},
		{"asked again after a failure", Chat, true, 0, []answer{streamed(piece{text: chatRole + chatError, err: errReset}),
			streamed(piece{text: chat})}, 200, chat, Completed, false},
		{"once only", Chat, true, 0, []answer{streamed(piece{text: chatRole, err: errReset}),
			streamed(piece{text: chatRole, err: errReset})}, 200, chatRole + chatCut, Cut, true},
		{"not after a text", Chat, true, 0, []answer{streamed(piece{text: chatRole + chatText, err: errReset})}, 200,
			chatRole + chatText + chatCut, Cut, true},
		{"not with finish", Chat, false, 0, []answer{answers(0, 502, lost)}, 502, lost, Completed, false},
		{"not for another error", Chat, true, 0, []answer{answers(0, 504, away)}, 504, away, Completed, false},
		{"an opening and its end", Chat, true, 0, []answer{streamed(piece{text: chatRole + "data: [DONE]\n\n"})}, 200,
			chatRole + "data: [DONE]\n\n", Completed, false},
	} {
		t.Run(tt.api.Name+" "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gateway{answers: tt.answers}
				got := relay(t.Context(), g, request(tt.api, tt.retry, tt.every), 0)
				if got.text.String() != tt.want || got.status != tt.status || got.aborted != tt.aborted ||
					fmt.Sprint(got.outcomes) != "["+tt.outcome+"]" || (got.failure != nil) != (tt.status == 0) {
					t.Errorf("%d %q, %v, aborted %v, %+v\nwant %q", got.status, got.text.String(), got.outcomes, got.aborted,
						got.failure, tt.want)
				}
				if opened := len(tt.answers); len(g.asked) != opened || tt.name != "away" && g.closed != opened {
					t.Errorf("asked %d times, closed %d answers", len(g.asked), g.closed)
				}
				if tt.status == 429 && got.header.Get("retry-after") != "2" || got.header.Get("server") != "" {
					t.Errorf("headers %v", got.header)
				}
			})
		})
	}
}

// TestSignsOfLife: a quiet stream gets one after each time, before its first event and in pauses, and none while it is
// not quiet.
func TestSignsOfLife(t *testing.T) {
	for _, tt := range []struct {
		api         *API
		first, next string
		sign        string
	}{{Chat, chatRole + chatText, chatEnd, ": keep-alive\n\n"}, {Messages, messageStart + blockStart, messageStop, ping}} {
		synctest.Test(t, func(t *testing.T) {
			a := streamed(piece{text: tt.first}, piece{after: 14 * time.Second, text: tt.first},
				piece{after: 31 * time.Second, text: tt.next})
			a.after = 50 * time.Second
			got := relay(t.Context(), &gateway{answers: []answer{a}}, request(tt.api, false, 15*time.Second), 0)
			want := strings.Repeat(tt.sign, 3) + tt.first + tt.first + strings.Repeat(tt.sign, 2) + tt.next
			if got.text.String() != want || got.kept != 5 || got.header.Get("content-type") != "text/event-stream" {
				t.Errorf("%q\nwant %q", got.text.String(), want)
			}
			if times := fmt.Sprint(got.times); times != "[15s 30s 45s 50s 1m4s 1m19s 1m34s 1m35s]" {
				t.Errorf("%s at %s", tt.api.Name, times)
			}
			quiet := relay(t.Context(), &gateway{answers: []answer{a}}, request(tt.api, false, 0), 0)
			if quiet.times[0] != 50*time.Second || quiet.kept != 0 || quiet.header.Get("x-a") != "b" {
				t.Errorf("without the setting, %v, %v", quiet.times, quiet.header)
			}
			whole := request(tt.api, true, 15*time.Second)
			whole.Stream = false
			got = relay(t.Context(), &gateway{answers: []answer{answers(50*time.Second, 200, `{}`)}}, whole, 0)
			if got.text.String() != "{}" || got.times[0] != 50*time.Second || got.kept != 0 {
				t.Errorf("a whole answer has %q at %v", got.text.String(), got.times)
			}
		})
	}
}

// TestPieces cuts a stream at each byte. The client gets the same, and its events whole.
func TestPieces(t *testing.T) {
	for api, text := range map[*API]string{Chat: chatRole + chatText + chatEnd,
		Messages: messageStart + blockStart + ping + blockDelta + messageStop} {
		for _, retry := range []bool{false, true} {
			for at := range len(text) {
				g := &gateway{answers: []answer{streamed(piece{text: text[:at]}, piece{text: text[at:]})}}
				got := relay(t.Context(), g, request(api, retry, 0), 0)
				if got.text.String() != text || got.aborted {
					t.Fatalf("cut at %d: %q", at, got.text.String())
				}
				g = &gateway{answers: []answer{streamed(piece{text: text[:at], err: errReset})}}
				got = relay(t.Context(), g, request(api, false, 0), 0)
				whole := strings.LastIndex(text[:at], "\n\n")
				if whole < 0 {
					if got.failure == nil || got.text.Len() > 0 {
						t.Fatalf("reset at %d: %q", at, got.text.String())
					}
					continue
				}
				shown := text[:whole+2]
				if want := shown + string(api.appendFailure(nil, refusal.AnswerCut())); got.text.String() != want {
					t.Fatalf("reset at %d: %q, want %q", at, got.text.String(), want)
				}
			}
		}
	}
}

// TestLargeEvents: an event that is too large to be kept back is passed on as it comes, and one that is cut then has no
// event behind it, which would be a part of it.
func TestLargeEvents(t *testing.T) {
	large := "data: " + strings.Repeat("x", 3*maxPending) + "\n\n"
	for _, retry := range []bool{false, true} {
		g := &gateway{answers: []answer{streamed(piece{text: large + chatEnd})}}
		if got := relay(t.Context(), g, request(Chat, retry, 0), 0); got.text.String() != large+chatEnd || got.aborted ||
			len(got.times) < 3 {
			t.Errorf("%d bytes in %d pieces, aborted %v", got.text.Len(), len(got.times), got.aborted)
		}
		g = &gateway{answers: []answer{streamed(piece{text: chatText + large[:2*maxPending], err: errReset})}}
		if got := relay(t.Context(), g, request(Chat, retry, 0), 0); !got.aborted ||
			!strings.HasPrefix(chatText+large, got.text.String()) {
			t.Errorf("%d bytes, aborted %v", got.text.Len(), got.aborted)
		}
	}
	held := strings.Repeat(ping, maxHeld/len(ping)+2)
	g := &gateway{answers: []answer{streamed(piece{text: held, err: errReset})}}
	if got := relay(t.Context(), g, request(Messages, true, 0), 0); got.text.String() != held+messageCut {
		t.Errorf("%d bytes of openings", got.text.Len())
	}
}

// TestManyEvents passes a million events on and keeps none of them.
func TestManyEvents(t *testing.T) {
	p := &passing{api: Chat, client: &client{w: &discarding{header: http.Header{}}}}
	chunk := []byte(strings.Repeat("data: 1\n\n", 455)) // 4,095 bytes
	for range 2_200 {
		if err := p.take(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if cap(p.pending) > maxKept || len(p.held) > 0 {
		t.Errorf("%d bytes are kept", cap(p.pending))
	}
}

type discarding struct{ header http.Header }

func (d *discarding) Header() http.Header         { return d.header }
func (d *discarding) WriteHeader(int)             {}
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarding) Flush()                      {}

// TestClientLeaves: a client that takes nothing more ends the request to the gateway, also before the first token.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{answers: []answer{streamed(piece{text: chatText}, piece{after: time.Second, text: chatText},
			piece{after: time.Hour, text: chatEnd})}}
		got := relay(t.Context(), g, request(Chat, true, 0), 1)
		if got.outcomes[0] != Left || g.closed != 1 || time.Since(got.began) > time.Minute || got.aborted {
			t.Errorf("%v, %d answers closed after %v", got.outcomes, g.closed, time.Since(got.began))
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, leave)
		late := streamed(piece{text: chatEnd})
		late.after = time.Hour
		got = relay(ctx, &gateway{answers: []answer{late}}, request(Chat, true, 15*time.Second), 0)
		if got.outcomes[0] != Left || time.Since(got.began) > time.Minute || got.kept != 1 {
			t.Errorf("%v after %v, %d signs", got.outcomes, time.Since(got.began), got.kept)
		}
	})
}

// TestBodyIsForgotten: a large body is given back when it has been sent, unless it may be sent again.
func TestBodyIsForgotten(t *testing.T) {
	for _, tt := range []struct {
		size  int
		retry bool
		sent  int
	}{{minSpent, false, 1}, {minSpent, true, 0}, {minSpent - 1, false, 0}} {
		r, sent := request(Chat, tt.retry, 0), 0
		r.Body, r.Sent = bytes.Repeat([]byte("x"), tt.size), func() { sent++ }
		g := &gateway{answers: []answer{streamed(piece{text: chatEnd})}}
		relay(t.Context(), g, r, 0)
		if sent != tt.sent || (r.Body == nil) != (tt.sent == 1) || len(g.asked[0]) != tt.size {
			t.Errorf("%+v: sent %d times, %d bytes are left", tt, sent, len(r.Body))
		}
	}
}
