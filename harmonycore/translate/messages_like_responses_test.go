package translate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// twins makes one conversation in the forms of two APIs.
type twins struct {
	*rand.Rand
	sealing Sealing
	// messages and input are the elements of the two.
	messages, input []string
	// deferred are the tools that are still hidden.
	deferred []string
	searches bool
	calls    int
	// ends are how many elements each has when the client could have asked.
	ends []twinEnd
}

// twinEnd is an end of the conversation. inTurn reports whether the turn before it goes on.
type twinEnd struct {
	messages, input int
	inTurn          bool
}

func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts and maps of texts
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var twinWords = []string{"the", "file", "größe", "日本", "🙂", "\"quoted\"", "a\\b", "line\n", "\ttab", "<|end|>",
	"{}", " ", "0.5", "\u2028"}

func (w *twins) text() string {
	words := make([]string, 1+w.IntN(8))
	for i := range words {
		words[i] = twinWords[w.IntN(len(twinWords))]
	}
	return strings.Join(words, " ")
}

func (w *twins) chance(percent int) bool { return w.IntN(100) < percent }

// texts returns a content of one to three texts, in the forms of both APIs.
func (w *twins) texts() (blocks []string, parts string) {
	var list []string
	for range 1 + w.IntN(3) {
		text := quoted(w.text())
		cache := ""
		if w.chance(30) {
			cache = `,"cache_control":{"type":"ephemeral"}`
		}
		blocks = append(blocks, `{"type":"text","text":`+text+cache+`}`)
		list = append(list, `{"type":"input_text","text":`+text+`}`)
	}
	return blocks, `[` + strings.Join(list, ",") + `]`
}

func (w *twins) add(message, items string) {
	if message != "" {
		w.messages = append(w.messages, message)
	}
	if items != "" {
		w.input = append(w.input, items)
	}
}

func (w *twins) user() {
	if w.chance(50) {
		text := quoted(w.text())
		w.add(`{"role":"user","content":`+text+`}`, `{"role":"user","content":`+text+`}`)
		return
	}
	blocks, parts := w.texts()
	w.add(`{"content":[`+strings.Join(blocks, ",")+`],"role":"user"}`, `{"role":"user","content":`+parts+`}`)
}

// system adds instructions in the middle, which may make a tool known.
func (w *twins) system() {
	text := quoted(w.text())
	message, item := `{"role":"system","content":`+text+`}`, `{"role":"developer","content":`+text+`}`
	if len(w.deferred) > 0 && w.chance(30) {
		name := w.deferred[0]
		w.deferred = w.deferred[1:]
		message = `{"role":"system","content":[{"type":"text","text":` + text + `},{"type":"tool_addition","tool":` +
			`{"type":"tool_reference","name":"` + name + `"}}]}`
		item += `,{"type":"additional_tools","role":"developer","tools":[` + twinTool(name, false) + `]}`
	}
	w.add(message, item)
}

// twinTool returns a tool that was deferred, in the form of an API.
func twinTool(name string, messages bool) string {
	schema := `{"type":"object","properties":{"` + name + `":{"type":"string","description":"é"}}}`
	if messages {
		return `{"name":"` + name + `","description":"Does ` + name + `.","input_schema":` + schema +
			`,"defer_loading":true}`
	}
	return `{"type":"function","name":"` + name + `","description":"Does ` + name + `.","parameters":` + schema + `}`
}

// reasoning returns reasoning in one of its forms: as text, as a seal or as both.
func (w *twins) reasoning() (block, item string) {
	text := w.text()
	var sealed string
	switch w.IntN(4) {
	case 0:
		return `{"type":"thinking","thinking":` + quoted(text) + `,"signature":""}`,
			`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":` + quoted(text) + `}]}`
	case 1:
		s := w.sealing.sealAs(seal.Text, []byte(text), "m", testEnv.Now)
		sealed = string(s)
	default:
		ids := o200k.Tokenizer().AppendEncodeSpecial(nil,
			"<|start|>assistant<|channel|>analysis<|message|>Hm, so.<|end|>")
		s := w.sealing.sealAs(seal.Message, appendAllPacked(appendPacked(nil, uint32(len(ids))), ids), "m", testEnv.Now)
		sealed, text = string(s), "Hm, so."
	}
	item = `{"type":"reasoning","summary":[],"encrypted_content":` + sealed + `}`
	switch w.IntN(3) {
	case 0:
		return `{"type":"redacted_thinking","data":` + sealed + `}`, item
	case 1:
		return `{"type":"thinking","thinking":"","signature":` + sealed + `}`, item
	}
	return `{"type":"thinking","thinking":` + quoted(text) + `,"signature":` + sealed + `}`, item
}

// step adds a turn of the assistant that calls tools, and their results in any order.
func (w *twins) step() {
	var blocks, items, results []string
	outputs := map[string]string{}
	if w.chance(70) {
		block, item := w.reasoning()
		blocks, items = append(blocks, block), append(items, item)
	}
	if w.chance(40) {
		texts, parts := w.texts()
		blocks = append(blocks, texts...)
		items = append(items, `{"role":"assistant","phase":"commentary","content":`+parts+`}`)
	}
	for range 1 + w.IntN(3) {
		w.calls++
		id, name := fmt.Sprintf("toolu_%d", w.calls), fmt.Sprintf("t%d", w.IntN(4))
		if w.searches && w.chance(30) {
			name = "ToolSearch"
		}
		arguments := quoted(map[string]string{"a": w.text(), "b": w.text()})
		input := arguments
		switch w.IntN(3) {
		case 0:
			var b bytes.Buffer
			if err := json.Indent(&b, []byte(arguments), " ", "\t"); err != nil {
				panic(err)
			}
			input = b.String()
		case 1:
			arguments = `{"a": ` + w.text()
			input = `{"__unparsedToolInput":{"raw":` + quoted(arguments) + `,"len":7}}`
		}
		blocks = append(blocks, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":`+input+`}`)
		items = append(items, `{"type":"function_call","call_id":"`+id+`","name":"`+name+`",`+
			`"arguments":`+quoted(arguments)+`}`)
		result, output := w.result(id, name)
		results = append(results, result)
		outputs[result] = output
	}
	w.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	for _, result := range results {
		items = append(items, outputs[result])
	}
	w.add(`{"role":"assistant","content":[`+strings.Join(blocks, ",")+`]}`, strings.Join(items, ","))
	message := strings.Join(results, ",")
	if w.chance(20) {
		text := quoted(w.text())
		message += `,{"type":"text","text":` + text + `}`
		w.input = append(w.input, `{"role":"user","content":`+text+`}`)
	}
	w.messages = append(w.messages, `{"role":"user","content":[`+message+`]}`)
}

// result returns the result of a call.
func (w *twins) result(id, name string) (block, item string) {
	begin := `{"type":"tool_result","tool_use_id":"` + id + `"`
	of := func(text string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":` + text + `}`
	}
	switch kind := w.IntN(5); {
	case name == "ToolSearch" && len(w.deferred) > 0:
		n := 1 + w.IntN(len(w.deferred))
		var references, declared []string
		for _, tool := range w.deferred[:n] {
			references = append(references, `{"type":"tool_reference","tool_name":"`+tool+`"}`)
			declared = append(declared, twinTool(tool, false))
		}
		w.deferred = w.deferred[n:]
		return begin + `,"content":[` + strings.Join(references, ",") + `]}`, of(quoted(openai.FoundText(n))) +
			`,{"type":"additional_tools","role":"developer","tools":[` + strings.Join(declared, ",") + `]}`
	case kind == 0:
		return begin + `}`, of(`""`)
	case kind == 1:
		blocks, parts := w.texts()
		return begin + `,"content":[` + strings.Join(blocks, ",") + `]}`, of(parts)
	case kind == 2:
		text := w.text()
		return begin + `,"is_error":true,"content":` + quoted(text) + `}`, of(quoted("Error:\n" + text))
	default:
		text := quoted(w.text())
		return begin + `,"content":` + text + `,"is_error":false}`, of(text)
	}
}

// final adds an answer.
func (w *twins) final() {
	blocks, parts := w.texts()
	message, item := strings.Join(blocks, ","), `{"role":"assistant","phase":"final_answer","content":`+parts+`}`
	if w.chance(50) {
		block, before := w.reasoning()
		message, item = block+","+message, before+","+item
	}
	w.add(`{"role":"assistant","content":[`+message+`]}`, item)
}

// asks notes that the client could ask here.
func (w *twins) asks(inTurn bool) {
	w.ends = append(w.ends, twinEnd{len(w.messages), len(w.input), inTurn})
}

// newTwins returns a conversation, and what is beside it in the bodies of both.
func newTwins(seed uint64, s Sealing) (w *twins, messages, responses string) {
	w = &twins{Rand: rand.New(rand.NewPCG(7, seed)), sealing: s}
	var own, other []string
	for i := range w.IntN(4) {
		name := fmt.Sprintf("t%d", i)
		own = append(own, strings.Replace(twinTool(name, true), `,"defer_loading":true`, "", 1))
		other = append(other, twinTool(name, false))
	}
	if w.searches = w.chance(50); w.searches {
		own = append(own, `{"name":"ToolSearch","input_schema":{"$schema":"x","type":"object"}}`)
		other = append(other, `{"type":"function","name":"ToolSearch","parameters":{"$schema":"x","type":"object"}}`)
		for i := range 1 + w.IntN(4) {
			w.deferred = append(w.deferred, fmt.Sprintf("mcp__s%d", i))
			own = append(own, twinTool(w.deferred[i], true))
		}
	}
	if w.chance(70) {
		a, b := w.text(), w.text()
		messages = `"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=` + quoted(w.calls) +
			`"},{"type":"text","text":` +
			quoted(a) + `},{"type":"text","text":` + quoted(b) + `,"cache_control":{"type":"ephemeral"}}],`
		responses = `"instructions":` + quoted(a+"\n\n"+b) + `,`
	}
	for range 1 + w.IntN(5) {
		w.user()
		if w.chance(25) {
			w.system()
		}
		w.asks(false)
		for range w.IntN(4) {
			w.step()
			w.asks(true)
		}
		w.final()
	}
	return w, `{"model":"m","max_tokens":9,` + messages + `"tools":[` + strings.Join(own, ",") + `],"messages":[`,
		`{"model":"m",` + responses + `"tools":[` + strings.Join(other, ",") + `],"input":[`
}

// TestMessagesLikeResponses: 300 conversations have the ids by Messages that they have by Responses, and servers that
// take conversations are asked the same.
func TestMessagesLikeResponses(t *testing.T) {
	env := testEnv
	env.Sealing, env.Tokenizer = sealing(t, 60), o200k.Tokenizer()
	requests, calls, late := 0, 0, 0
	for seed := range uint64(300) {
		w, messages, responses := newTwins(seed, env.Sealing)
		end := w.ends[len(w.ends)-1]
		messages += strings.Join(w.messages[:end.messages], ",") + `]}`
		responses += strings.Join(w.input[:end.input], ",") + `]}`
		r := checkEqual(t, messages, responses, messagesModel, env)
		if got, want := spokenOf(t, MessagesChat, messages, env), spokenOf(t, ResponsesChat, responses, env); got != want {
			t.Fatalf("chat: got\n%s\nwant\n%s", got, want)
		}
		requests, calls = requests+1, calls+w.calls
		if len(r.lasting) > 0 {
			late++
		}
	}
	if requests != 300 || calls < 500 || late < 50 {
		t.Errorf("%d conversations with %d calls, %d with late tools", requests, calls, late)
	}
}

// restated returns a message as Claude Code sends it with the next turn: the mark of the cache has moved on, and a
// message of one text block is that text.
func restated(message string) string {
	message = strings.ReplaceAll(message, `,"cache_control":{"type":"ephemeral"}`, "")
	const before, after = `{"content":[{"type":"text","text":`, `}],"role":"user"}`
	if strings.HasPrefix(message, before) && strings.Count(message, `"type":"text"`) == 1 {
		message = `{"role":"user","content":` + strings.TrimSuffix(strings.TrimPrefix(message, before), after) + `}`
	}
	return message
}

// TestMessagesPromptsGrow: the prompt of each request of a turn begins as the one before it, whatever the client says
// in another form.
func TestMessagesPromptsGrow(t *testing.T) {
	env := testEnv
	env.Sealing, env.Tokenizer = sealing(t, 60), o200k.Tokenizer()
	compared := 0
	for seed := range uint64(60) {
		w, begin, _ := newTwins(seed, env.Sealing)
		var before []uint32
		for i, end := range w.ends {
			messages := w.messages[:end.messages]
			if end.inTurn {
				for j := range w.ends[i-1].messages {
					messages[j] = restated(messages[j])
				}
			} else {
				before = nil // the turn before has lost its reasoning
			}
			r, err := readWith(Messages, begin+strings.Join(messages, ",")+`]}`, messagesModel, env)
			if err != nil {
				t.Fatal(err)
			}
			ids := rendered(t, &r.Conversation, harmony.DropBeforeLastFinal)
			if before != nil {
				compared++
				if len(ids) < len(before) || !slices.Equal(ids[:len(before)], before) {
					t.Fatalf("conversation %d, request %d: another prefix", seed, i)
				}
			}
			before = ids
		}
	}
	if compared < 100 {
		t.Errorf("%d prompts were compared", compared)
	}
}

// TestMessagesOfAgents: a long session of a coding agent has the same ids by both.
func TestMessagesOfAgents(t *testing.T) {
	s := agents.New(agents.Tuning, 1)
	messages, responses := s.Bodies(agents.Messages, "m"), s.Bodies(agents.Responses, "m")
	for turn := 1; turn <= agents.Turns; turn += 14 {
		checkEqual(t, messages.Turn(turn), responses.Turn(turn), messagesModel, testEnv)
	}
}
