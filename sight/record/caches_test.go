package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// cacheTurn is a request whose prompt is a conversation in Harmony.
type cacheTurn struct {
	prompt, answer        string
	client, key, upstream string
	cached                int
	model                 string
}

// send records a request, and returns what the end of its record says of the cache.
func (a cacheTurn) send(t *testing.T, r *Recorder, number int) *line.Cache {
	t.Helper()
	t2 := o200k.Tokenizer()
	ids, _ := json.Marshal(t2.AppendEncodeSpecial(nil, a.prompt+"<|start|>assistant"))
	out, _ := json.Marshal(t2.AppendEncodeSpecial(nil, a.answer))
	head := vllmHead()
	if a.model != "" {
		head.Model = a.model
	}
	id := fmt.Sprintf("r-%d", number)
	var b batch
	b.add(tap.Request, 1, 0, tap.RequestHead{Method: "POST", Path: "/v1/responses", RequestID: id})
	b.add(tap.Body, 1, 0, fmt.Sprintf(`{"model":"m","prompt_cache_key":%q,"input":"x"}`, a.key))
	b.add(tap.Sent, 1, 1, head).add(tap.SentBody, 1, 1, fmt.Sprintf(`{"model":"m","prompt":%s}`, ids))
	b.add(tap.Head, 1, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	b.add(tap.Chunk, 1, 10, fmt.Sprintf(`data: {"choices":[{"index":0,"token_ids":%s}]}`+"\n\n", out))
	end := tap.EndReport{Status: 200, Model: head.Model, Server: "vllm", Client: a.client, CachedTokens: a.cached}
	end.Upstream = a.upstream
	b.add(tap.End, 1, 20, end).post(t, r, "1f")
	text, _ := r.Lines(id)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	last, err := line.Read(lines[len(lines)-1])
	l, ok := last.(*line.End)
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, text)
	}
	return l.Cache
}

var (
	aSystem = "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n" +
		"Knowledge cutoff: 2024-06\nCurrent date: 2026-11-29\n\nReasoning: medium\n\n# Valid channels: analysis, " +
		"commentary, final. Channel must be included for every message.<|end|>"
	aQuestion = "<|start|>user<|message|>What is in the file that I have written yesterday? " +
		strings.Repeat("Look at each of its words. ", 40) + "Which are not spelled as they should be in English?<|end|>"
	anAnswer  = "<|channel|>final<|message|>All words are spelled as they should be, but for one of them.<|return|>"
	aFollowUp = aSystem + aQuestion + "<|start|>assistant<|channel|>final<|message|>All words are spelled as they " +
		"should be, but for one of them.<|end|><|start|>user<|message|>Which one?<|end|>"
)

// TestCacheMissed records turns of a conversation, and looks at why the cache is said to be missed.
func TestCacheMissed(t *testing.T) {
	t2 := o200k.Tokenizer()
	held := t2.AppendEncodeSpecial(nil, aSystem+aQuestion+"<|start|>assistant"+anAnswer)
	could := (len(held) - 1) / segments.BlockSize * segments.BlockSize
	first := cacheTurn{prompt: aSystem + aQuestion, answer: anAnswer, upstream: "10.0.0.1:80", cached: 16}
	silent := first
	silent.cached = 0
	another := strings.Replace(aFollowUp, "11-29", "11-30", 1)
	const one, two = "10.0.0.1:80", "10.0.0.2:80"
	for name, tt := range map[string]struct {
		first, next cacheTurn
		reason      string
		cached      int
	}{
		"what the model wrote is there": {first, cacheTurn{prompt: aFollowUp, upstream: one, cached: could}, "none", could},
		"nothing is reported":           {silent, cacheTurn{prompt: aFollowUp, upstream: two}, "none", could},
		"another server":                {first, cacheTurn{prompt: aFollowUp, upstream: two, cached: 32}, "another_server", 32},
		"another server with nothing":   {first, cacheTurn{prompt: aFollowUp, upstream: two}, "another_server", 0},
		"evicted":                       {first, cacheTurn{prompt: aFollowUp, upstream: one}, "evicted", 0},
		"another day":                   {first, cacheTurn{prompt: another, upstream: one, cached: 32}, "date", 32},
		"another client":                {first, cacheTurn{prompt: aFollowUp, upstream: one, client: "c"}, "", 0},
		"another model":                 {first, cacheTurn{prompt: aFollowUp, upstream: one, model: "n"}, "", 0},
		"another key":                   {first, cacheTurn{prompt: aFollowUp, upstream: one, key: "k"}, "", 0},
		"another conversation": {first, cacheTurn{prompt: aSystem + "<|start|>user<|message|>Hello.<|end|>",
			upstream: one, cached: 32}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t, Options{})
			if c := tt.first.send(t, r, 1); c != nil {
				t.Errorf("the first prompt is compared with %+v", c)
			}
			c := tt.next.send(t, r, 2)
			if (c == nil) != (tt.reason == "") {
				t.Fatalf("got %+v", c)
			}
			s := r.Summaries()[0]
			if c == nil {
				if s.CacheMissed != "" || s.ComputedAgain != 0 {
					t.Errorf("the summary says %+v", s)
				}
				return
			}
			size := len(t2.AppendEncodeSpecial(nil, tt.next.prompt+"<|start|>assistant"))
			if c.Reason != tt.reason || c.Cached != tt.cached || c.Cached+c.Computed != size || c.Earlier != "r-1" ||
				c.Again < 0 || c.Again > c.Computed {
				t.Errorf("got %+v of %d tokens", c, size)
			}
			missed := c.Reason != "none"
			if missed != (s.CacheMissed == c.Reason) || missed != (s.ComputedAgain > 0) {
				t.Errorf("the summary says %q, %d; the record %+v", s.CacheMissed, s.ComputedAgain, c)
			}
			if (c.Message == 1) != (c.Reason == "date") {
				t.Errorf("message %d: %+v", c.Message, c)
			}
		})
	}
}

// TestCacheOfMany records forks of a conversation: each is compared with the one that it goes on from.
func TestCacheOfMany(t *testing.T) {
	r := newRecorder(t, Options{})
	cacheTurn{prompt: aSystem + aQuestion, answer: anAnswer}.send(t, r, 1)
	longer := aFollowUp + "<|start|>assistant<|channel|>final<|message|>The third.<|end|>" +
		"<|start|>user<|message|>Why?<|end|>"
	cacheTurn{prompt: longer}.send(t, r, 2)
	if c := (cacheTurn{prompt: aFollowUp}).send(t, r, 3); c == nil || c.Reason != "none" {
		t.Errorf("a part of a prompt: %+v", c)
	}
	fork := strings.Replace(aFollowUp, "Which one?", "Show it.", 1)
	if c := (cacheTurn{prompt: fork}).send(t, r, 4); c == nil || c.Reason != "none" || c.Earlier != "r-1" {
		t.Errorf("a fork: %+v", c)
	}
}

// TestCachesAreBounded records more prompts, and longer ones, than are kept.
func TestCachesAreBounded(t *testing.T) {
	var c caches
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, aSystem)
	for len(ids) < 200_000 {
		ids = append(ids, 200006, 1428, 200008, 64, uint32(len(ids)), 200007)
	}
	for i := range 300 {
		l := &line.End{EndReport: tap.EndReport{Model: "m", CachedTokens: 1}}
		ids[len(ids)-2] = uint32(i)
		short := ids[:200]
		if i%2 == 0 {
			short = ids
		}
		c.take(o200k.Tokenizer(), "r", asker{}, short, len(short), l)
		sum := 0
		for _, p := range c.earlier {
			sum += p.Bytes()
		}
		if sum != c.bytes || c.bytes > maxPromptBytes || len(c.earlier) > maxPrompts || len(c.earlier) == 0 {
			t.Fatalf("%d prompts of %d bytes, counted as %d", len(c.earlier), sum, c.bytes)
		}
	}
	if len(c.earlier) == 300 {
		t.Error("no prompt was dropped")
	}
	for i := range 2 * maxReporting {
		l := &line.End{EndReport: tap.EndReport{Model: "m", CachedTokens: 1, Pool: fmt.Sprintf("p-%d", i)}}
		c.take(o200k.Tokenizer(), "r", asker{}, ids[:10], 10, l)
	}
	if len(c.reporting) > maxReporting {
		t.Errorf("%d pools are known", len(c.reporting))
	}
}

// TestIDsAreGivenBack checks that the memory of prompts that run is counted, and given back.
func TestIDsAreGivenBack(t *testing.T) {
	r := newRecorder(t, Options{})
	cacheTurn{prompt: aFollowUp, answer: anAnswer}.send(t, r, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byID["r-1"]
	if e.used != cap(e.lines) || r.used != e.used {
		t.Errorf("the record takes %d of %d bytes, its lines %d", e.used, r.used, cap(e.lines))
	}
}
