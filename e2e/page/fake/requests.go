//go:build e2e

package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

const key = "a key of sixteen or more"

// Recorder is a recorder to which requests are added whole, as if they had been tapped.
type Recorder struct {
	*record.Recorder
	vocabulary *tokenizer.Tokenizer
	handler    http.Handler
	stream     uint32
}

// NewRecorder returns an empty one.
func NewRecorder(vocabulary *tokenizer.Tokenizer) (*Recorder, error) {
	r, err := record.New(record.Options{Tokenizer: func() *tokenizer.Tokenizer { return vocabulary }})
	if err != nil {
		return nil, err
	}
	return &Recorder{Recorder: r, vocabulary: vocabulary, handler: r.Handler(key)}, nil
}

// Request is a request that was answered some time ago.
type Request struct {
	ID, Model, API, Pool, Prompt string
	Began                        time.Time
	// First is the time to the first token, and Each that from one piece to the next.
	First, Each time.Duration
	// Output is what the model wrote, as Harmony text. A piece has so many tokens.
	Output         string
	TokensPerPiece int
	// Error is what the client got in place of an answer, with its status.
	Error  string
	Status int
	// Running leaves the request without its end.
	Running bool
	End     tap.EndReport
}

// Add records a request.
func (r *Recorder) Add(q Request) error {
	r.stream++
	at := q.Began
	var frames []byte
	add := func(kind tap.Kind, payload any) {
		text, ok := payload.([]byte)
		if !ok {
			text, _ = json.Marshal(payload) // the tap's own types
		}
		frames = tap.Append(frames, tap.Frame{Kind: kind, Stream: r.stream, At: at.UnixMicro(), Payload: text})
	}
	path := "/v1/responses"
	body := map[string]any{"model": q.Model, "stream": true, "input": q.Prompt}
	if q.API == "chat" {
		path = "/v1/chat/completions"
		body = map[string]any{"model": q.Model, "stream": true, "messages": []any{
			map[string]any{"role": "user", "content": q.Prompt}}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	add(tap.Request, tap.RequestHead{Method: "POST", Path: path, RequestID: q.ID})
	add(tap.Body, text)
	at = at.Add(700 * time.Microsecond)
	prompt := r.vocabulary.AppendEncodeSpecial(nil, "<|start|>user<|message|>"+q.Prompt+"<|end|><|start|>assistant")
	if text, err = json.Marshal(map[string]any{"model": q.Model, "prompt": prompt, "stream": true}); err != nil {
		return err
	}
	add(tap.Sent, tap.SentHead{Path: "/v1/completions", Pool: q.Pool, API: q.API, Model: q.Model, Server: "vllm",
		Speaks: "harmony", Translated: true})
	add(tap.SentBody, text)
	end := q.End
	end.API, end.Model, end.Server, end.Pool, end.Status = q.API, q.Model, "vllm", q.Pool, max(q.Status, 200)
	end.PromptTokens, end.FirstTokenMS = max(end.PromptTokens, len(prompt)), -1
	at = at.Add(q.First)
	if q.Error != "" {
		add(tap.AnswerHead, tap.ResponseHead{Status: q.Status, ContentType: "application/json", Local: true})
		add(tap.Answer, []byte(q.Error))
		end.Finish = "error"
	} else {
		end.FirstTokenMS = q.First.Milliseconds()
		add(tap.Head, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
		ids := r.vocabulary.AppendEncodeSpecial(nil, q.Output)
		end.CompletionTokens = len(ids)
		for len(ids) > 0 {
			piece := ids[:min(len(ids), max(1, q.TokensPerPiece))]
			ids = ids[len(piece):]
			add(tap.Chunk, eventOf(piece))
			at = at.Add(q.Each)
		}
		if end.Finish == "" {
			end.Finish = "stop"
		}
	}
	if !q.Running {
		add(tap.End, end)
	}
	return r.send(frames)
}

// Continue adds tokens to the request that was added last, which runs.
func (r *Recorder) Continue(after time.Duration, output string) error {
	at := time.Now().Add(after)
	var frames []byte
	for _, id := range r.vocabulary.AppendEncodeSpecial(nil, output) {
		frames = tap.Append(frames, tap.Frame{Kind: tap.Chunk, Stream: r.stream, At: at.UnixMicro(),
			Payload: eventOf([]uint32{id})})
	}
	return r.send(frames)
}

// eventOf is an event of a vLLM server with some tokens.
func eventOf(ids []uint32) []byte {
	list, _ := json.Marshal(ids)
	return fmt.Appendf(nil, `data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m",`+
		`"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null,"token_ids":%s}]}`+"\n\n", list)
}

// send hands over frames in pieces that the recorder takes.
func (r *Recorder) send(frames []byte) error {
	for len(frames) > 0 {
		size := 0
		for size < len(frames) && size < 4<<20 {
			_, rest, err := tap.Read(frames[size:])
			if err != nil {
				return err
			}
			size = len(frames) - len(rest)
		}
		request := httptest.NewRequest(http.MethodPost, tap.Path, bytes.NewReader(frames[:size]))
		request.Header.Set(tap.KeyHeader, key)
		request.Header.Set(tap.VMHeader, "1")
		answer := httptest.NewRecorder()
		r.handler.ServeHTTP(answer, request)
		if answer.Code >= 300 {
			return fmt.Errorf("the recorder answers %d: %s", answer.Code, answer.Body)
		}
		frames = frames[size:]
	}
	return nil
}
