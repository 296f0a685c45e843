package exchange

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// stopping is a server with a model of several choices, each of which says its tokens until a stop sequence is complete,
// and shows the whole token in which it is.
type stopping struct {
	tokens [][]string
	stops  []string
	// names is what it says about the sequence that has ended a choice. Without it another end is named.
	names func(stop string) string
}

// end returns how many tokens a choice shows, the sequence that ends it, and the text before that.
func (s *stopping) end(choice int) (shown int, stop, text string) {
	for i, token := range s.tokens[choice] {
		text += token
		first := len(text) + 1
		for _, q := range s.stops {
			at := strings.Index(text, q)
			if at < 0 {
				continue
			}
			if end := at + len(q); end < first || end == first && len(q) > len(stop) {
				first, stop = end, q
			}
		}
		if stop != "" {
			return i + 1, stop, text[:first-len(stop)]
		}
	}
	return len(s.tokens[choice]), "", text
}

func inJSON(text string) string {
	b, _ := json.Marshal(text)
	return strings.ReplaceAll(string(b), "😀", `\ud83d\ude00`)
}

// stream returns the stream of all choices, in turns. cut asks for it as the client should get it.
func (s *stopping) stream(model string, cut bool) string {
	var out strings.Builder
	for at, more := 0, true; more; at++ {
		more = false
		for i, tokens := range s.tokens {
			shown, stop, text := s.end(i)
			if at >= shown {
				continue
			}
			more = true
			token, reason := tokens[at], "null"
			if at == shown-1 {
				reason = `"stop","stop_reason":` + s.names(stop)
			}
			if before := min(len(strings.Join(tokens[:at], "")), len(text)); cut {
				token = text[before:min(before+len(token), len(text))]
			}
			fmt.Fprintf(&out, `data: {"id":"c","choices":[{"index":%d,"delta":{"x":"]}\"","content":%s},"finish_reason":%s,`+
				`"token_ids":[1]}],"model":%q}`+"\n\n", i, inJSON(token), reason, model)
		}
	}
	return out.String() + "data: [DONE]\n\n"
}

// whole returns the whole answer.
func (s *stopping) whole(model string, cut bool) string {
	var choices []string
	for i, tokens := range s.tokens {
		shown, stop, text := s.end(i)
		if !cut {
			text = strings.Join(tokens[:shown], "")
		}
		choices = append(choices, fmt.Sprintf(`{"finish_reason":"stop","stop_reason":%s,"index":%d,"message":{"reasoning":`+
			`"a b","content":%s}}`, s.names(stop), i, inJSON(text)))
	}
	return fmt.Sprintf(`{"model":%q,"choices":[%s],"usage":{"prompt_tokens":1}}`, model, strings.Join(choices, ","))
}

func (s *stopping) ask(stream bool, more string) string {
	return fmt.Sprintf(`{"model":"qwen","stream":%t,"n":%d,"stop":%s,%s"messages":[{"role":"user","content":"Hi"}]}`,
		stream, len(s.tokens), inJSONs(s.stops), more)
}

func inJSONs(texts []string) string {
	b, _ := json.Marshal(texts)
	return string(b)
}

// check compares what a client gets with what it should get, in pieces of some sizes.
func (s *stopping) check(t *testing.T, name, more string, cut bool) {
	t.Helper()
	for _, speaks := range []string{contract.SpeaksAuto, contract.SpeaksChat} {
		g := conversing(func(m *contract.Model) { m.Speaks = speaks })
		for _, a := range []struct{ request, contentType, answer, want string }{
			{s.ask(true, more), "text/event-stream", s.stream("q", false), s.stream("qwen", cut)},
			{s.ask(false, more), "application/json", s.whole("q", false), s.whole("qwen", cut)},
		} {
			for n := 1 + len(a.answer)/4000; n <= len(a.answer); n += 1 + n/2 + n/5*n {
				if _, got, _ := ask(t, g, contract.ChatPath, a.request, a.contentType, a.answer, n); got != a.want {
					t.Fatalf("%s, %s, %q in pieces of %d:\ngot  %s\nwant %s", name, speaks, s.stops, n, got, a.want)
				}
			}
		}
	}
}

func namesIt(stop string) string {
	if stop == "" {
		return "null"
	}
	return inJSON(stop)
}

// TestPassedStops: where a server shows the whole token in which a stop sequence ends, and names the sequence, the text
// ends before it. Nothing else changes: each event comes, with its other members.
func TestPassedStops(t *testing.T) {
	alphabet := []string{"a", "b", "ab", "ba", `"`, `\`, "\n", "ü", "😀", "😀a", " x", "aab", "\u2028<"}
	r := rand.New(rand.NewPCG(1, 2))
	some := func(n int) (out []string) {
		for range n {
			out = append(out, alphabet[r.IntN(len(alphabet))])
		}
		return out
	}
	cut := 0
	for range 100 {
		s := stopping{names: namesIt}
		for range 1 + r.IntN(3) {
			s.stops = append(s.stops, strings.Join(some(1+r.IntN(4)), ""))
		}
		for range 1 + r.IntN(3) {
			s.tokens = append(s.tokens, some(1+r.IntN(12)))
			if _, stop, _ := s.end(len(s.tokens) - 1); stop != "" {
				cut++
			}
		}
		s.check(t, "random", "", true)
	}
	if cut < 40 {
		t.Errorf("only %d choices are cut", cut)
	}
	long := stopping{names: namesIt, stops: []string{strings.Repeat("ab", 150) + "c"}}
	long.tokens = [][]string{slices.Concat(slices.Repeat([]string{"ab"}, 200), []string{"cd"})}
	long.check(t, "a long sequence", "", true)
}

// TestPassedStopsOtherwise: the text is the server's where it names no sequence, or another one, where the client wants
// to see the sequence, and where the gateway cannot know where the server looks for it.
func TestPassedStopsOtherwise(t *testing.T) {
	s := stopping{stops: []string{"b c"}, tokens: [][]string{{"a b", " c d"}}}
	for name, reason := range map[string]string{"an id": "200002", "nothing": "null", "another one": `"d"`} {
		s.names = func(string) string { return reason }
		s.check(t, name, "", false)
	}
	s.names = namesIt
	s.check(t, "named", `"min_tokens":0,"include_stop_str_in_output":false,"no_stop_trim":null,`, true)
	for _, more := range []string{`"include_stop_str_in_output":true,`, `"no_stop_trim":true,`, `"min_tokens":1,`} {
		s.check(t, more, more, false)
	}
	for name, stop := range map[string]string{"no text": `{}`, "many": inJSONs(slices.Repeat([]string{"b c"}, 65)),
		"long": inJSONs([]string{"b c", strings.Repeat("x", 4<<10)}), "a number": `["b c",1]`} {
		request := strings.Replace(s.ask(false, ""), `["b c"]`, stop, 1)
		if got, _ := passedAnswer(t, nil, request, "application/json", s.whole("q", false)); got != s.whole("qwen", false) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestPassedStopsGoesOn: a server that goes on after a sequence has not ended there, and what waits comes in any case.
func TestPassedStopsGoesOn(t *testing.T) {
	for name, answer := range map[string]string{
		"goes on":   chunk(`"content":"a b"`) + chunk(`"content":" c"`) + chunk(`"content":" d b"`) + finish("stop"),
		"length":    chunk(`"content":"a b"`) + chunk(`"content":" c"`) + finish("length"),
		"no end":    chunk(`"content":"a b"`) + chunk(`"content":" c"`),
		"a half":    chunk(`"content":"a b"`) + chunk(`"content":" "`),
		"reasoning": chunk(`"reasoning":"a b"`) + chunk(`"reasoning":" c"`) + finish("stop"),
		"calls": chunk(`"content":"a b"`) + call("0", `"a"`, `"functions.f"`, `{}`) + call("0", "null", "null", " ") +
			finish("tool_calls"),
		"error":  chunk(`"content":"a b"`) + "data: {\"error\":{\"message\":\"x\"}}\n\n",
		"broken": chunk(`"content":"a b"`) + "data: <html>\n\n" + chunk(`"content":" c"`),
	} {
		request := `{"stop":"b c",` + streamedAsk[1:]
		want := strings.NewReplacer(`"model":"q"`, `"model":"qwen"`, `"functions.f"`, `"f"`).Replace(answer)
		for n := 1; n <= len(answer); n += 1 + n/8 {
			_, got, _ := ask(t, conversing(nil), contract.ChatPath, request, "text/event-stream", answer, n)
			if name == "broken" { // behind it nothing is read
				got, want = strings.ReplaceAll(got, `"qwen"`, `"q"`), answer
			}
			if got != want {
				t.Fatalf("%s, in pieces of %d:\ngot  %s\nwant %s", name, n, got, want)
			}
		}
	}
	// What has come before an end that is none is the client's.
	request := `{"stop":"b c",` + streamedAsk[1:]
	waits := chunk(`"content":"a b"`) + finish("abort")
	got, _ := passedAnswer(t, nil, request, "text/event-stream", chunk(`"content":"a"`)+waits)
	if strings.Count(got, `"content":"a`) != 2 || !strings.Contains(got, `"error":{`) {
		t.Errorf("got %s", got)
	}
	if got, _ := passedAnswer(t, nil, request, "text/event-stream", waits); !strings.HasPrefix(got, `{"error":{`) {
		t.Errorf("got %s", got)
	}
}

// TestPassedStopsOfManyChoices: a server that numbers its choices as it likes makes the filter keep no more of them than
// a client can ask for.
func TestPassedStopsOfManyChoices(t *testing.T) {
	s := passedStops{sequences: []string{"ab"}}
	for i := range 10 * contract.MaxChoices {
		s.note(&backend.Event{Index: i, Text: []byte("a")}, 0)
	}
	if len(s.choices) != contract.MaxChoices {
		t.Errorf("%d choices are kept", len(s.choices))
	}
}
