package backend

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// chatAnswer is one choice as a reader of Chat streams reads it.
type chatAnswer struct {
	reasoning, text string
	calls           []string
	ids             []uint32
	logprobs        string
	finish          Finish
}

// chatOf reads the pieces of a stream and spells what they say, choice by choice. How the stream was cut into events is
// not in it.
func chatOf(r Reader, pieces ...string) string {
	answers := map[int]*chatAnswer{}
	var e Event
	end := ""
	for _, p := range pieces {
		chunk := []byte(p)
		r.Write(chunk)
		for reading := r.Next(&e); reading != Drained; reading = r.Next(&e) {
			if reading == Broken {
				return spellChat(answers) + end + " broken"
			}
			if reading == Garbled {
				end += " garbled"
				continue
			}
			a := answers[e.Index]
			if a == nil {
				a = &chatAnswer{}
				answers[e.Index] = a
			}
			a.reasoning += string(e.Reasoning)
			a.text += string(e.Text)
			a.ids = append(a.ids, e.SampledIDs...)
			for _, c := range e.Calls {
				if c.Index == len(a.calls) {
					a.calls = append(a.calls, fmt.Sprintf("%s=%s ", c.ID, c.Name))
				} else if len(c.ID)+len(c.Name) > 0 {
					end += " a call is named again"
				}
				a.calls[c.Index] += string(c.Arguments)
			}
			for _, l := range e.TextLogprobs {
				a.logprobs += fmt.Sprintf(" %q%s", l.Token, l.Logprob)
				for _, o := range l.Top {
					a.logprobs += fmt.Sprintf("/%q%s", o.Token, o.Logprob)
				}
			}
			if e.Finish != Running {
				a.finish = e.Finish
			}
			if len(e.PromptIDs) > 0 {
				end += fmt.Sprintf(" prompt %v", e.PromptIDs)
			}
			if e.HasUsage {
				end += spellUsage(&e.Usage)
			}
			if e.Error != nil {
				end += fmt.Sprintf(" error %+v", *e.Error)
			}
			if e.Done {
				end += " done"
			}
		}
		for i := range chunk {
			chunk[i] = '\n'
		}
	}
	return spellChat(answers) + end
}

func spellChat(answers map[int]*chatAnswer) string {
	out := ""
	for i := -1; i < 4; i++ {
		a := answers[i]
		if a == nil || reflect.DeepEqual(*a, chatAnswer{}) {
			continue
		}
		out += fmt.Sprintf("%d:", i)
		if a.reasoning != "" {
			out += fmt.Sprintf(" (%s)", a.reasoning)
		}
		if a.text != "" {
			out += fmt.Sprintf(" %q", a.text)
		}
		for _, c := range a.calls {
			out += " " + c
		}
		if a.ids != nil {
			out += fmt.Sprintf(" %v", a.ids)
		}
		out += fmt.Sprintf("%s %d ", a.logprobs, a.finish)
	}
	return strings.TrimSuffix(out, " ")
}

func TestChatRequest(t *testing.T) {
	r := &Request{
		Model: `q"wen`, Conversation: []byte(`,"messages":[{"role":"user","content":"é"}],"tools":[]`), Choices: 2,
		Logprobs: true, TopLogprobs: 3, StopTokens: []uint32{7},
		Sampling: Sampling{
			Temperature: "0.70", TopP: "0", Seed: "7", LogitBias: []Bias{{Token: 5, Value: "-1"}},
			Extras: []Member{{Name: "top_k", JSON: "3"}},
		},
	}
	const want = `{"model":"q\"wen","messages":[{"role":"user","content":"é"}],"tools":[],"n":2,"logprobs":true,` +
		`"top_logprobs":3,"stop_token_ids":[7],"temperature":0.70,"top_p":1e-6,"seed":7,"logit_bias":{"5":-1},"top_k":3,` +
		`"stream_options":{"include_usage":true},"stream":true}`
	if got := string(chat{}.AppendRequest([]byte("x"), r)); got != "x"+want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	const ids = `{"model":"m","messages":[],"max_tokens":9,"logprobs":true,"return_token_ids":true,` +
		`"stream_options":{"include_usage":true},"stream":true}`
	r = &Request{Model: "m", Conversation: []byte(`,"messages":[]`), MaxTokens: 9, TokenIDs: true}
	if got := string(chat{}.AppendRequest(nil, r)); got != ids || !json.Valid([]byte(got)) {
		t.Errorf("got %s\nwant %s", got, ids)
	}
	r = &Request{Model: "m", Sampling: Sampling{Extras: []Member{{"stream_options", "null"}}}}
	if got := string(chat{}.AppendRequest(nil, r)); got != `{"model":"m","stream_options":null,"stream":true}` {
		t.Errorf("got %s", got)
	}
	if k, ok := Named("chat"); !ok || !k.Facts().Conversations {
		t.Error("there is no kind chat that takes conversations")
	}
}

// TestChatServers reads the streams of testdata/chat in one piece, cut in two at each place, and in single bytes, with
// either end of lines. They have the documented forms of the servers.
func TestChatServers(t *testing.T) {
	files, err := filepath.Glob("testdata/chat/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no streams", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil || len(archive.Files) != 2 {
			t.Fatalf("%s: %v", file, err)
		}
		want := strings.TrimSpace(string(archive.Files[1].Data))
		for _, end := range []string{"\n", "\r\n"} {
			stream := strings.ReplaceAll(string(archive.Files[0].Data), "\n", end)
			if got := chatOf(chat{}.NewReader(), stream); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", file, got, want)
				break
			}
			if got := chatOf(chat{}.NewReader(), strings.Split(stream, "")...); got != want {
				t.Errorf("%s, in single bytes:\ngot  %s\nwant %s", file, got, want)
			}
			for at := range len(stream) {
				if got := chatOf(chat{}.NewReader(), stream[:at], stream[at:]); got != want {
					t.Fatalf("%s, cut at %d:\ngot  %s\nwant %s", file, at, got, want)
				}
			}
			checkTemplate(t, chat{}, stream)
		}
	}
}
