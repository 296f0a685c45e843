package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// harmonyText is a prompt in special spellings: system message, optional developer message, then turns.
const (
	systemText = "<|start|>system<|message|>You are ChatGPT.\n\nReasoning: low\n\n# Valid channels: analysis, " +
		"commentary, final. Channel must be included for every message.<|end|>"
	hello = systemText + "<|start|>user<|message|>Hello there<|end|><|start|>assistant"
)

func encode(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }
func spell(ids []uint32) string   { return o200k.Tokenizer().DecodeString(ids) }

// start runs a server on a free port for the time of the test.
func start(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	s := New(o)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, url
}

// body builds a request; fields are given as JSON, after the prompt.
func body(prompt string, fields string) string {
	ids, _ := json.Marshal(encode(prompt))
	return `{"model":"gpt-oss-120b","prompt":` + string(ids) + `,"max_tokens":4096` + fields + `}`
}

func post(t *testing.T, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// event is a chunk as a client reads it.
type event struct {
	ID      string
	Object  string
	Model   string
	Created int64
	Choices []struct {
		Index          int
		Text           string
		FinishReason   *string  `json:"finish_reason"`
		StopReason     any      `json:"stop_reason"`
		PromptTokenIDs []uint32 `json:"prompt_token_ids"`
		TokenIDs       []uint32 `json:"token_ids"`
	}
	Usage *struct {
		PromptTokens        int `json:"prompt_tokens"`
		TotalTokens         int `json:"total_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		PromptTokensDetails *struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// stream is a whole stream, taken apart.
type stream struct {
	events []event
	raw    []string // the data of each event
	done   bool
	err    error // how the body ended
	ids    []uint32
	text   string
	finish string
	stop   any
}

func read(t *testing.T, resp *http.Response) stream {
	t.Helper()
	var s stream
	r := bufio.NewReader(resp.Body)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			if err != io.EOF {
				s.err = err
			}
			return s
		}
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			s.done = true
			continue
		}
		s.raw = append(s.raw, data)
		var e event
		if json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		s.events = append(s.events, e)
		for _, c := range e.Choices {
			if c.Index == 0 {
				s.ids = append(s.ids, c.TokenIDs...)
				s.text += c.Text
				if c.FinishReason != nil {
					s.finish, s.stop = *c.FinishReason, c.StopReason
				}
			}
		}
	}
}

func completed(list []Request) bool {
	for _, q := range list {
		if !q.Done {
			return false
		}
	}
	return len(list) > 0
}

func await(t *testing.T, s *Server, ok func([]Request) bool) []Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	list, err := s.Await(ctx, ok)
	if err != nil {
		t.Fatalf("%v; requests %+v", err, list)
	}
	return list
}

func TestStream(t *testing.T) {
	s, url := start(t, Options{Models: []string{"gpt-oss-120b", "alias"}})
	ids, _ := json.Marshal(encode(hello))
	got := read(t, post(t, url, `{"model":"alias","prompt":`+string(ids)+
		`,"max_tokens":500,"stream":true,"return_token_ids":true,
		"skip_special_tokens":false,"include_stop_str_in_output":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		"X-Request-Id", "abc"))
	want := "<|channel|>analysis<|message|>The user wants an " +
		"answer.<|end|><|start|>assistant<|channel|>final<|message|>You said: Hello there. I read " +
		strconv.Itoa(len(encode(hello))) + " tokens.<|return|>"
	if got.text != want || spell(got.ids) != want {
		t.Errorf("text %q\nids  %q\nwant %q", got.text, spell(got.ids), want)
	}
	if got.finish != "stop" || got.stop != nil || !got.done || got.err != nil {
		t.Errorf("finish %q stop %v done %v err %v", got.finish, got.stop, got.done, got.err)
	}
	for i, e := range got.events {
		if e.ID != "cmpl-abc" || e.Object != "text_completion" || e.Model != "gpt-oss-120b" || e.Created == 0 {
			t.Fatalf("event %d: %s", i, got.raw[i])
		}
		last := i == len(got.events)-1
		if e.Usage == nil || e.Usage.PromptTokens != len(encode(hello)) || e.Usage.PromptTokensDetails != nil {
			t.Fatalf("usage in event %d: %s", i, got.raw[i])
		}
		if last {
			if len(e.Choices) != 0 || e.Usage.CompletionTokens != len(got.ids) {
				t.Errorf("usage chunk %s", got.raw[i])
			}
			continue
		}
		if e.Usage.CompletionTokens != i+1 || len(e.Choices[0].TokenIDs) != 1 ||
			(e.Choices[0].PromptTokenIDs != nil) != (i == 0) {
			t.Errorf("event %d: %s", i, got.raw[i])
		}
	}
	if !strings.Contains(got.raw[1], `"choices":[{"index":0,"text":"analysis","logprobs":null,"finish_reason":null,`+
		`"stop_reason":null,"prompt_token_ids":null,"token_ids":[35644]}]`) {
		t.Errorf("second event %s", got.raw[1])
	}
	q := await(t, s, completed)[0]
	if q.TokensSent != len(got.ids) || q.Finish != "stop" || q.Aborted || q.ID != "cmpl-abc" || q.Model != "alias" ||
		!q.Stream ||
		len(q.PromptIDs) != len(encode(hello)) || q.Status != 200 || q.Proto != "HTTP/1.1" || q.Method != "POST" ||
		len(q.Body) == 0 {
		t.Errorf("recorded %+v", q)
	}
}

// TestTextAndFinish checks which text is shown and how a completion ends, by the request's fields and a scripted
// answer.
func TestTextAndFinish(t *testing.T) {
	const reply = "<|channel|>final<|message|>Hi 🪿 there"
	for _, tc := range []struct {
		name, script, fields string
		text, finish         string
		stop                 any
		tokens               int // 0: all of the script
	}{
		{"defaults", reply + "<|return|>", ``, "finalHi 🪿 there", "stop", nil, 0},
		{"specials", reply + "<|return|>", `,"skip_special_tokens":false`, reply, "stop", nil, 0},
		{"stop token", reply + "<|return|>", `,"skip_special_tokens":false,"include_stop_str_in_output":true`,
			reply + "<|return|>", "stop", nil, 0},
		{"stop token skipped", reply + "<|return|>", `,"include_stop_str_in_output":true`, "finalHi 🪿 there", "stop",
			nil, 0},
		{"call", reply + "<|call|>", `,"skip_special_tokens":false`, reply, "stop", 200012.0, 0},
		{"endoftext", reply + "<|endoftext|>", ``, "finalHi 🪿 there", "stop", 199999.0, 0},
		{"return asked for", reply + "<|return|>", `,"stop_token_ids":[200002,200012]`, "finalHi 🪿 there", "stop", nil, 0},
		{"own stop token", reply + "<|return|>", `,"stop_token_ids":[200008],"skip_special_tokens":false`, "<|channel|>final",
			"stop", 200008.0, 3},
		{"end is not a stop", "a<|end|>b<|return|>", `,"skip_special_tokens":false`, "a<|end|>b", "stop", nil, 0},
		{"stop string", reply + "<|return|>", `,"stop":" there"`, "finalHi 🪿", "stop", " there", -1},
		{"stop strings shown", reply + "<|return|>", `,"stop":["zzz"," there"],"include_stop_str_in_output":true`,
			"finalHi 🪿 there", "stop", " there", -1},
		{"no stop string", reply + "<|return|>", `,"stop":["there, there"]`, "finalHi 🪿 there", "stop", nil, 0},
		{"length", reply + "<|return|>", `,"max_tokens":3,"skip_special_tokens":false`, "<|channel|>final<|message|>",
			"length", nil, 3},
		{"null max_tokens is 16", strings.Repeat(" a", 40) + "<|return|>", `,"max_tokens":null`, strings.Repeat(" a", 16),
			"length", nil, 16},
		{"ignore_eos", "a<|return|>", `,"ignore_eos":true,"max_tokens":5`, "aaa", "length", nil, 5},
		{"min_tokens", "a<|return|>", `,"min_tokens":3,"max_tokens":9`, "aa", "stop", nil, 4},
		{"out of script", "a", ``, "a", "length", nil, 0},
	} {
		for _, streaming := range []string{"false", "true"} {
			t.Run(tc.name+"/stream="+streaming, func(t *testing.T) {
				_, url := start(t, Options{Script: NewScript(Line{Tokens: encode(tc.script)})})
				resp := post(t, url, body(hello, `,"return_token_ids":true,"stream":`+streaming+tc.fields))
				var text, finish string
				var stop any
				var ids []uint32
				if streaming == "true" {
					s := read(t, resp)
					text, finish, stop, ids = s.text, s.finish, s.stop, s.ids
				} else {
					var e event
					if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
						t.Fatal(err)
					}
					c := e.Choices[0]
					text, finish, stop, ids = c.Text, *c.FinishReason, c.StopReason, c.TokenIDs
					if e.Usage.CompletionTokens != len(ids) || len(c.PromptTokenIDs) != e.Usage.PromptTokens {
						t.Errorf("usage %+v", e.Usage)
					}
				}
				if text != tc.text || finish != tc.finish || stop != tc.stop {
					t.Errorf("got %q %s %v, want %q %s %v", text, finish, stop, tc.text, tc.finish, tc.stop)
				}
				if want := tc.tokens; want >= 0 {
					if want == 0 {
						want = len(encode(tc.script))
					}
					if len(ids) != want {
						t.Errorf("%d ids %v, want %d", len(ids), ids, want)
					}
				}
			})
		}
	}
}

// A stream that would take hours, or wait for ever, goes to its end once it is released.
func TestRelease(t *testing.T) {
	for name, o := range map[string]Options{"pace": {TokensPerSecond: 0.001}, "hold": {HoldAfter: 1}} {
		t.Run(name, func(t *testing.T) {
			o.Script = NewScript(Line{Tokens: encode("one two three<|return|>")})
			s, url := start(t, o)
			resp := post(t, url, body(hello, `,"stream":true`)) // its headers are there before the first token
			s.Release()
			if got := read(t, resp); got.text != "one two three" {
				t.Errorf("text %q", got.text)
			}
		})
	}
}

// Text waits for whole characters, ids do not.
func TestHoldBack(t *testing.T) {
	goose := encode("🪿")
	if len(goose) < 2 {
		t.Fatal("the goose is one token")
	}
	_, url := start(t, Options{Script: NewScript(
		Line{Tokens: append(goose, encode("!<|return|>")...)}, Line{Tokens: append(goose[:1:1], encode("!<|return|>")...)},
		Line{Tokens: append(goose[:1:1], encode("<|return|>")...)})})
	for i, want := range []string{"🪿!", "\uFFFD!", ""} {
		got := read(t, post(t, url, body(hello, `,"stream":true,"return_token_ids":true`)))
		if got.text != want {
			t.Errorf("%d: text %q, want %q", i, got.text, want)
		}
		if c := got.events[0].Choices[0]; c.Text != "" || len(c.TokenIDs) != 1 {
			t.Errorf("%d: first event %s", i, got.raw[0])
		}
	}
}

func TestWhole(t *testing.T) {
	_, url := start(t, Options{PromptTokensDetails: true})
	resp := post(t, url, body(hello, ""))
	b, _ := io.ReadAll(resp.Body)
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" || resp.ContentLength != int64(len(b)) {
		t.Errorf("content type %q, length %d of %d", ct, resp.ContentLength, len(b))
	}
	for _, want := range []string{`"object":"text_completion"`, `"token_ids":null`, `"prompt_token_ids":null`,
		`"prompt_tokens_details":{"cached_tokens":0}`, `"stop_reason":null`} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s missing in %s", want, b)
		}
	}
	// The same prompt again is known but for its last block.
	var e event
	if err := json.NewDecoder(post(t, url, body(hello, "")).Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	if got, want := e.Usage.PromptTokensDetails.CachedTokens, (len(encode(hello))-1)/16*16; got != want {
		t.Errorf("cached %d, want %d", got, want)
	}
	// A salt of one's own is a cache of one's own.
	if err := json.NewDecoder(post(t, url, body(hello, `,"cache_salt":"x","n":2`)).Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	if e.Usage.PromptTokensDetails.CachedTokens != 0 || len(e.Choices) != 2 || e.Choices[1].Index != 1 {
		t.Errorf("salted: %+v", e)
	}
}
