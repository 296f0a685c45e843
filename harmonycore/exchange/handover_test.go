package exchange

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/handover"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

func handoverKeys(t testing.TB) *seal.Keys {
	t.Helper()
	keys, err := seal.ParseKeys("a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// handedStream is what a server sends that writes the ids from a place on: size tokens in an event, each with a logprob
// if they are wanted, and at the end the usage that it knows.
func handedStream(ids []uint32, from, size int, logprobs bool, finish string) (events []string) {
	for at := from; at < len(ids); at += size {
		part := ids[at:min(at+size, len(ids))]
		last := "null"
		if at+size >= len(ids) {
			last = `"` + finish + `"`
		}
		if logprobs {
			events = append(events, logprobsChunk(part, at, last))
			continue
		}
		list, _ := json.Marshal(part)
		events = append(events, `data: {"choices":[{"token_ids":`+string(list)+`,"finish_reason":`+last+"}]}\n\n")
	}
	return append(events, fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n",
		1000+from, len(ids)-from), "data: [DONE]\n\n")
}

// handed is what the service has of a stream: what it has given the client, and what it tells another server. done
// reports whether the stream has ended.
type handed struct {
	shown, waiting string
	tail           []byte
	marks          int
	refused        string
}

// take reads a piece of the gateway's stream.
func (s *handed) take(t *testing.T, piece string) {
	t.Helper()
	for event := range strings.SplitAfterSeq(piece, "\n\n") {
		text, isMark := strings.CutPrefix(event, handover.MarkStart)
		reason, isRefused := strings.CutPrefix(event, handover.RefusedStart)
		switch {
		case isMark:
			var err error
			if s.tail, err = handover.AppendPiece(s.tail, []byte(strings.TrimSpace(text))); err != nil {
				t.Fatal(err)
			}
			s.shown, s.waiting = s.shown+s.waiting, ""
			s.marks++
		case isRefused:
			s.refused = strings.TrimSpace(reason)
		default:
			s.waiting += event
		}
	}
}

// askOf begins an exchange for the service, with what earlier servers have written.
func askOf(t *testing.T, g *Gateway, path, body string, tail []byte, h Host) (*Exchange, RequestAction) {
	t.Helper()
	value, err := handover.Sign(handoverKeys(t), tail, h.Now/1000)
	if err != nil {
		t.Fatal(err)
	}
	x := g.Begin("POST", path)
	x.Header(contract.ServiceHeader, contract.ServiceDeclined)
	if !x.Header(contract.RelayHeader, value) {
		t.Fatal("servers get the header")
	}
	return x, x.Request([]byte(body+string(tail)), h)
}

// promptOf returns the prompt and max_tokens of a request to a server.
func promptOf(t *testing.T, a RequestAction) (ids []uint32, most int) {
	t.Helper()
	if a.Forward == nil {
		t.Fatalf("not forwarded: %s", a.Reply.Body)
	}
	var body struct {
		Prompt    []uint32 `json:"prompt"`
		MaxTokens int      `json:"max_tokens"`
	}
	if err := json.Unmarshal(a.Forward.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Prompt, body.MaxTokens
}

// TestHandover cuts answers after each event, and has another server finish them. What the client gets is what it gets
// of one server, to the byte.
func TestHandover(t *testing.T) {
	const call = "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Paris\"}<|call|>"
	const thoughts = "<|channel|>analysis<|message|>We need 👩‍👧 the weather.<|end|><|start|>assistant"
	const final = "<|channel|>final<|message|>One two three 👩‍👧 four five six.<|return|>"
	tool := strings.TrimSuffix(weatherTool, "}")
	respTool := `"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object"}}]`
	for _, tt := range []struct {
		name, path, members, text, finish string
		logprobs                          bool
		model                             func(*contract.Model)
	}{
		{name: "text", path: contract.ChatPath, members: `"stream_options":{"include_usage":true}`, text: thoughts + final},
		{name: "logprobs", path: contract.ChatPath, members: `"logprobs":true,"top_logprobs":1`, text: thoughts + final,
			logprobs: true},
		{name: "stop", path: contract.ChatPath, members: `"logprobs":true,"stop":["six.","fi xe"]`, text: thoughts + final,
			logprobs: true},
		{name: "limit", path: contract.ChatPath, members: `"max_tokens":19`, text: thoughts + final, finish: "length"},
		{name: "call", path: contract.ChatPath, members: strings.TrimPrefix(tool, ","), text: thoughts + call},
		{name: "preamble", path: contract.ChatPath, members: strings.TrimPrefix(tool, ","),
			text: "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant" + call},
		{name: "broken", path: contract.ChatPath, members: `"seed":1`,
			text: "final words<|channel|>x<|message|>A<|start|>B<|end|>no header<|return|>"},
		{name: "strict", path: contract.ChatPath, members: `"seed":1`, text: thoughts + final,
			model: func(m *contract.Model) { m.Answers.Strict = true }},
		{name: "hidden", path: contract.ChatPath, members: `"seed":1`, text: thoughts + final,
			model: func(m *contract.Model) { m.Answers.HideReasoning = true }},
		{name: "ids", path: contract.ChatPath, members: `"seed":1`, text: thoughts + final, logprobs: true,
			model: func(m *contract.Model) { m.Answers.TokenIDs = true }},
		{name: "reasoning cap", path: contract.ChatPath, members: `"thinking_token_budget":4`, text: thoughts + final},
		{name: "channels", path: contract.ChatPath, members: `"seed":1` + tool, text: thoughts + call,
			model: func(m *contract.Model) { m.Answers.Events = contract.EventsChannels }},
		{name: "text", path: contract.ResponsesPath, members: `"store":false`, text: thoughts + final},
		{name: "logprobs", path: contract.ResponsesPath,
			members: `"include":["message.output_text.logprobs","turn.sampled_ids"],"top_logprobs":1`, text: thoughts + final,
			logprobs: true},
		{name: "call", path: contract.ResponsesPath, members: respTool, text: thoughts + call},
		{name: "text", path: contract.MessagesPath, members: `"stop_sequences":["five six"]`, text: thoughts + final},
		{name: "call", path: contract.MessagesPath, text: thoughts + call,
			members: `"tools":[{"name":"get_weather","input_schema":{"type":"object"}}]`},
	} {
		t.Run(tt.path+" "+tt.name, func(t *testing.T) {
			ids := o200k.Tokenizer().AppendEncodeSpecial(nil, tt.text)
			finish := "stop"
			if tt.finish == "length" {
				ids, finish = ids[:19], tt.finish
			}
			body := `{"model":"` + testModel + `","stream":true,` + tt.members
			switch tt.path {
			case contract.ResponsesPath:
				body += `,"input":"Hi"}`
			case contract.MessagesPath:
				body += `,"max_tokens":500,"thinking":{"type":"enabled","budget_tokens":100},"messages":[{"role":"user","content":"Hi"}]}`
			default:
				body += `,"messages":[{"role":"user","content":"Hi"}]}`
			}
			g := testGateway(func(o *Options) {
				o.SealKeys = nil
				if tt.model != nil {
					tt.model(&o.Models[0])
				}
			})
			g.options.SealKeys = handoverKeys(t) // only for what the service says: sealed texts differ each time
			begun := Host{Now: testNow, ID: testID}
			for _, size := range []int{1, 3} {
				x := g.Begin("POST", tt.path)
				first := x.Request([]byte(body), begun)
				prompt, most := promptOf(t, first)
				whole := outcome(t, x, handedStream(ids, 0, size, tt.logprobs, finish))
				whole = strings.TrimSuffix(strings.TrimPrefix(whole, "200 "), "(cut)")
				for cut := range len(ids)/size + 3 {
					x, _ := askOf(t, g, tt.path, body, nil, begun)
					var service handed
					events := handedStream(ids, 0, size, tt.logprobs, finish)
					if cut = min(cut, len(events)-1); cut == 0 {
						continue
					}
					x.ResponseHeaders(eventStream)
					for _, event := range events[:cut] {
						service.take(t, string(x.ResponseBody([]byte(event), false).Body))
					}
					if service.waiting == whole || strings.HasSuffix(whole, service.waiting) && x.client.state == outletClosed {
						continue // it has ended by itself
					}
					if service.marks < 2 && cut > 8 && tt.name != "strict" && tt.name != "hidden" || service.refused != "" {
						t.Fatalf("%d marks, %s: %+v", service.marks, service.refused, service)
					}
					if len(service.tail) == 0 {
						continue
					}
					from := handover.Tokens(service.tail)
					x, a := askOf(t, g, tt.path, body, service.tail, Host{Now: testNow + 90_000_000, ID: strings.Repeat("z", 24)})
					rest := ""
					if a.Reply != nil {
						rest = string(a.Reply.Body)
						if a.Reply.Status != 200 || from < len(ids) {
							t.Fatalf("cut after %d of %d events: %d %s", cut, size, a.Reply.Status, a.Reply.Body)
						}
					} else {
						again, room := promptOf(t, a)
						if want := append(prompt[:len(prompt):len(prompt)], ids[:from]...); fmt.Sprint(again) != fmt.Sprint(want) ||
							room != most-from {
							t.Fatalf("cut after %d: %d ids and room for %d, want %d and %d", cut, len(again), room, len(want), most-from)
						}
						rest = outcome(t, x, handedStream(ids, from, size, tt.logprobs, finish))
						rest = strings.TrimSuffix(strings.TrimPrefix(rest, "200 "), "(cut)")
					}
					end := handed{shown: service.shown}
					end.take(t, rest)
					got := end.shown + end.waiting
					if got, want := unsealed(got), unsealed(whole); got != want {
						t.Fatalf("cut after %d events of %d, from %d:\n%s", cut, size, from, differ(got, want))
					}
				}
			}
		})
	}
}

// differ shows where two streams begin to differ.
func differ(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-200, 0)
	return got[from:min(len(got), at+600)] + "\nwant\n" + want[from:min(len(want), at+600)]
}

// unsealed leaves out what differs each time: the nonces of sealed texts, and when the answer was complete.
func unsealed(s string) string {
	for _, name := range []string{`"encrypted_content":"`, `"signature":"`, `"sampled_ids":"`, `"completed_at":`} {
		parts := strings.Split(s, name)
		for i := 1; i < len(parts); i++ {
			parts[i] = parts[i][strings.IndexAny(parts[i], `",`):]
		}
		s = strings.Join(parts, name)
	}
	return s
}

// TestHandoverRefused has what cannot be handed over, and says why.
func TestHandoverRefused(t *testing.T) {
	for members, want := range map[string]string{
		`"n":2`: "n", `"presence_penalty":0.5`: "sampling", `"frequency_penalty":1`: "sampling", `"min_tokens":3`: "sampling",
		`"presence_penalty":0`: "",
		`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`: "grammar",
	} {
		g := testGateway(func(o *Options) {
			o.SealKeys, o.Models[0].StructuredOutputs = handoverKeys(t), contract.StructuralTags
			o.Models[0].ServerExtras = []string{"min_tokens"}
		})
		body := chatWith(true, members)
		x, _ := askOf(t, g, contract.ChatPath, body, nil, Host{Now: testNow, ID: testID})
		x.ResponseHeaders(eventStream)
		var service handed
		begun := handedStream(o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>{} and so on"), 0, 1,
			false, "stop")
		service.take(t, string(x.ResponseBody([]byte(strings.Join(begun[:5], "")), false).Body))
		if service.refused != want || (service.marks == 0) != (want != "") {
			t.Errorf("%s: refused with %q, %d marks", members, service.refused, service.marks)
		}
	}
}

// TestHandoverSaysDrained: behind a mark of a stream whose server is drained stands a comment, at each look at the server.
func TestHandoverSaysDrained(t *testing.T) {
	g := testGateway(func(o *Options) { o.SealKeys = handoverKeys(t) })
	events := handedStream(o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>"+
		strings.Repeat("one and two ", 20)), 0, 1, false, "stop")
	for members, want := range map[string]int{`"seed":1`: 3, `"presence_penalty":0.5`: 0} {
		x, _ := askOf(t, g, contract.ChatPath, chatWith(true, members), nil, Host{Now: testNow, ID: testID})
		if x.ResponseHeaders(eventStream); x.LooksAtServer() && want == 0 {
			t.Error("a stream that cannot be handed over looks at its server")
		}
		said, answer := 0, ""
		for i, event := range events[:48] {
			looks := x.LooksAtServer()
			if looks {
				x.NoteDrained()
			}
			piece := string(x.ResponseBody([]byte(event), false).Body)
			if answer += piece; strings.Contains(piece, handover.Drained) {
				said++
				rest, _ := strings.CutSuffix(piece, handover.Drained+"\n\n")
				if last := rest[strings.LastIndex(strings.TrimSpace(rest), "\n\n")+2:]; !strings.HasPrefix(last, handover.MarkStart) {
					t.Errorf("event %d: it does not end with a mark and the comment: %q", i, piece)
				}
			}
		}
		if said != want {
			t.Errorf("%s: said %d times, want %d: %s", members, said, want, answer)
		}
	}
	x := g.Begin("POST", contract.ChatPath)
	x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
	x.ResponseHeaders(eventStream)
	if x.LooksAtServer() {
		t.Error("a stream that is not handed over looks at its server")
	}
	x.NoteDrained() // does nothing
}

// TestHandoverIsGuarded: only a header that is signed for the very tail counts.
func TestHandoverIsGuarded(t *testing.T) {
	keys := handoverKeys(t)
	w := handover.NewWriter(&handover.Head{ID: testID, Now: testNow})
	w.Token(200005)
	tail, err := handover.AppendPiece(nil, []byte(strings.TrimSpace(strings.TrimPrefix(string(w.AppendMark(nil)),
		handover.MarkStart))))
	if err != nil {
		t.Fatal(err)
	}
	signed, _ := handover.Sign(keys, tail, testNow/1000)
	none, _ := handover.Sign(keys, nil, testNow/1000)
	late, _ := handover.Sign(keys, nil, testNow/1000-3600)
	others, _ := seal.ParseKeys("b:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	foreign, _ := handover.Sign(others, nil, testNow/1000)
	for _, tt := range []struct {
		name, value, tail string
		keys              *seal.Keys
		marks             bool
	}{
		{"the service's", none, "", keys, true}, {"no keys", none, "", nil, false}, {"another key", foreign, "", keys, false},
		{"too late", late, "", keys, false}, {"of another tail", signed, "", keys, false}, {"no form", "1", "", keys, false},
		{"a length alone", "0.", "", keys, false}, {"a negative length", "-1" + none[1:], "", keys, false},
		{"too long", strings.Repeat("9", 30) + none, "", keys, false}, {"another length", "2." + none[2:], "", keys, false},
	} {
		g := testGateway(func(o *Options) { o.SealKeys = tt.keys })
		x := g.Begin("POST", contract.ChatPath)
		x.Header(contract.RelayHeader, tt.value)
		if a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID}); a.Forward == nil {
			t.Errorf("%s: %+v", tt.name, a)
			continue
		}
		x.ResponseHeaders(eventStream)
		got := string(x.ResponseBody([]byte(inEvents(earlyFinal, 1)[:400]), false).Body)
		if strings.Contains(got, handover.MarkStart) != tt.marks {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	for name, body := range map[string]string{"another prompt": chatWith(true, `"stop":["x"],"reasoning_effort":"low"`),
		"a changed tail": chatBody(true)} {
		changed := append([]byte(nil), tail...)
		if name == "a changed tail" {
			changed[len(changed)-1] ^= 1
		}
		x := testGateway(func(o *Options) { o.SealKeys = keys }).Begin("POST", contract.ChatPath)
		x.Header(contract.RelayHeader, signed)
		a := x.Request(append([]byte(body), changed...), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 400 && a.Reply.Status != 409 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// FuzzHandover reads tails of all forms.
func FuzzHandover(f *testing.F) {
	w := handover.NewWriter(&handover.Head{ID: testID, Now: testNow, PromptTokens: 60, Logprobs: true})
	for i := range 5 {
		w.Token(uint32(200005 + i))
		w.Logprob([]byte("-"+strconv.Itoa(i)), 1)
		w.Alternative(7, []byte("-1"))
	}
	tail, _ := handover.AppendPiece(nil, []byte(strings.TrimSpace(strings.TrimPrefix(string(w.AppendMark(nil)),
		handover.MarkStart))))
	f.Add(tail)
	f.Fuzz(func(t *testing.T, tail []byte) {
		g := testGateway(func(o *Options) { o.SealKeys = handoverKeys(t) })
		h := Host{Now: testNow, ID: testID}
		value, err := handover.Sign(handoverKeys(t), tail, h.Now/1000)
		if err != nil {
			t.Fatal(err)
		}
		x := g.Begin("POST", contract.ChatPath)
		x.Header(contract.RelayHeader, value)
		x.Request(append([]byte(chatWith(true, `"logprobs":true`)), tail...), h)
		x.Report()
	})
}

// TestHandoverForFinal: a model whose reasoning repeats itself is asked for its answer, once, by another request.
func TestHandoverForFinal(t *testing.T) {
	const begin, asked = "<|channel|>analysis<|message|>Hm.", "<|end|><|start|>assistant<|channel|>final<|message|>"
	loop := strings.Repeat(" I should check that again. Wait,", 60)
	encode := func(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }
	h := Host{Now: testNow, ID: testID}
	for _, tt := range []struct {
		name, members string
		leaves        bool
	}{
		{"a stream", `"seed":1`, true},
		{"one that cannot be handed over", `"presence_penalty":0.5`, false},
		{"one with logprobs", `"logprobs":true`, false},
	} {
		for _, size := range []int{1, 7, 1000} {
			g := testGateway(func(o *Options) {
				o.SealKeys = handoverKeys(t)
				endRepetitions("final", "off")(o)
			})
			x, a := askOf(t, g, contract.ChatPath, chatWith(true, tt.members), nil, h)
			before, _ := promptOf(t, a)
			s := playHanded(t, x, handedStream(encode(begin+loop), 0, size, tt.name == "one with logprobs", "stop"))
			if left := strings.Contains(s.waiting, handover.Drained); left != tt.leaves {
				t.Fatalf("%s: leaves the server: %v, %d marks, refused %q\n%s", tt.name, left, s.marks, s.refused, s.waiting)
			}
			if r := x.Report(); r.EarlyEnd != EarlyRepetition || !r.Repeated {
				t.Errorf("%s: %q, %v", tt.name, r.EarlyEnd, r.Repeated)
			}
			if !tt.leaves {
				if !strings.Contains(s.shown+s.waiting, `"stop_reason":"repetition_detected"`) {
					t.Errorf("%s: it does not end: %s", tt.name, s.shown+s.waiting)
				}
				continue
			}
			s.waiting = ""
			y, a := askOf(t, g, contract.ChatPath, chatWith(true, tt.members), s.tail, h)
			after, _ := promptOf(t, a)
			if text, _ := o200k.Tokenizer().AppendDecode(nil, after[len(before):]); !strings.HasSuffix(string(text), " Wait,"+asked) &&
				!strings.HasSuffix(string(text), asked) {
				t.Errorf("%s: the next server goes on behind %q", tt.name, text)
			}
			// The answer repeats itself too, which is not looked at, and new reasoning does, which ends it.
			rest := playHanded(t, y, handedStream(encode("Yes.<|end|><|start|>assistant"+begin+loop), 0, size, false, "stop"))
			shown := s.shown + rest.shown + rest.waiting
			if !strings.Contains(shown, `"content":"Yes"`) || strings.Contains(rest.waiting, handover.Drained) ||
				strings.Count(shown, `"finish_reason":"length"`) != 1 || strings.Count(shown, `"role":"assistant"`) != 1 {
				t.Errorf("%s: got %s", tt.name, shown)
			}
		}
	}
}

// playHanded gives an exchange a server's events, and returns what the service has of them.
func playHanded(t *testing.T, x *Exchange, events []string) *handed {
	t.Helper()
	s := &handed{}
	x.ResponseHeaders(eventStream)
	for i, event := range events {
		action := x.ResponseBody([]byte(event), i == len(events)-1)
		s.take(t, string(action.Body))
		if action.Reset {
			break
		}
	}
	return s
}
