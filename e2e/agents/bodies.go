package agents

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Form is how a session is written.
type Form int

// The forms. In Sealed, reasoning is sealed as the gateway seals it. In Found the model finds some of the tools by a
// search. In Lite all tools stand in the input, and the effort changes: both as Codex asks newer models.
const (
	Responses Form = iota
	Sealed
	Found
	Lite
	Chat
	Messages
)

// Forms are all forms.
var Forms = [...]Form{Responses, Sealed, Found, Lite, Chat, Messages}

// String returns the form's name.
func (f Form) String() string {
	return [...]string{"Responses", "Responses, sealed", "Responses, tools found", "Responses, tools in the input", "Chat",
		"Messages"}[f]
}

// Path returns the path that takes the form.
func (f Form) Path() string {
	switch f {
	case Chat:
		return contract.ChatPath
	case Messages:
		return contract.MessagesPath
	}
	return contract.ResponsesPath
}

// SealKeys are the keys of [Sealed]: the value of the gateway's HARMONY_SEAL_KEYS.
const SealKeys = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// Bodies are the requests of a session in one form.
type Bodies struct {
	head, tail string
	// parts are the elements of the array between head and tail. ends are how many each request has.
	parts []string
	ends  []int
}

// Turn returns the body of the request of a turn: 1 to [Turns].
func (b *Bodies) Turn(turn int) string {
	return b.head + strings.Join(b.parts[:b.ends[turn-1]], ",") + b.tail
}

// Bodies returns the session's requests to a model.
func (s *Session) Bodies(form Form, model string) *Bodies {
	b := &Bodies{}
	switch form {
	case Responses, Sealed:
		s.responses(b, model, functions(s.tools, false), form == Sealed)
	case Found:
		s.foundLater().responses(b, model, append(functions(s.tools[:toolsInFront], false), searchTool), false)
	case Lite:
		s.declared().responses(b, model, nil, false)
	case Chat:
		s.chat(b, model)
	case Messages:
		s.messages(b, model)
	}
	return b
}

// key returns the text that identifies the session to the gateway.
func (s *Session) key() string { return fmt.Sprintf("%08x-%016x", uint64(s.family), s.seed) }

// searchTool is the client's search for tools.
const searchTool = `{"type":"tool_search","execution":"client","description":"Searches for tools.","parameters":{` +
	`"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}`

func (s *Session) responses(b *Bodies, model string, tools []string, sealed bool) {
	b.head = `{"model":` + quote(model) + `,"instructions":` + quote(s.instructions) + `,"input":[`
	b.tail = `],"tools":[` + strings.Join(tools, ",") + `],"tool_choice":"auto","parallel_tool_calls":true,` +
		`"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,` +
		`"include":["reasoning.encrypted_content"],"prompt_cache_key":"` + s.key() + `"}`
	b.ends = s.ends
	for i := range s.items {
		b.parts = append(b.parts, s.items[i].responses(model, sealed))
	}
}

// responses returns an item of the Responses API.
func (i *item) responses(model string, sealed bool) string {
	switch i.kind {
	case raw:
		return i.text
	case reasoning:
		head := `{"type":"reasoning","id":"` + i.id + `","summary":[],`
		if sealed {
			text := i.seal
			if text == "" {
				text = i.sealed(seal.Bound{Model: model}, math.MaxInt64)
			}
			return head + `"encrypted_content":"` + text + `"}`
		}
		return head + `"content":[{"type":"reasoning_text","text":` + quote(i.text) + `}],"encrypted_content":null}`
	case call:
		return `{"type":"function_call","id":"` + i.id + `","name":"` + i.name + `","arguments":` + quote(i.text) +
			`,"call_id":"` + i.call + `"}`
	case result:
		return `{"type":"function_call_output","id":"` + i.id + `","call_id":"` + i.call + `","output":` + quote(i.text) + `}`
	}
	part, phase := "input_text", ""
	switch i.kind {
	case preamble:
		part, phase = "output_text", `,"phase":"commentary"`
	case final:
		part, phase = "output_text", `,"phase":"final_answer"`
	}
	return `{"type":"message","id":"` + i.id + `","role":"` + i.role + `","content":[{"type":"` + part + `","text":` +
		quote(i.text) + `}]` + phase + `}`
}

// sealed returns a reasoning as the gateway seals it: the ids of its message, after their number, and those of the
// header of the call that comes next. It opens until a time in Unix seconds.
func (i *item) sealed(bound seal.Bound, until int64) string {
	t := o200k.Tokenizer()
	ids := t.AppendEncodeSpecial(nil, "<|start|>assistant<|channel|>analysis<|message|>"+i.text+"<|end|>")
	packed := binary.AppendUvarint(nil, uint64(len(ids)))
	if i.next != "" {
		ids = t.AppendEncodeSpecial(ids,
			"<|start|>assistant to=functions."+i.next+"<|channel|>commentary json<|message|>")
	}
	for _, id := range ids {
		packed = binary.AppendUvarint(packed, uint64(id))
	}
	keys, err := seal.ParseKeys(SealKeys)
	if err != nil {
		panic(err) // it is a constant
	}
	text, err := keys.SealAs(seal.Message, nil, packed, bound, until)
	if err != nil {
		panic(err) // there are always random numbers
	}
	return string(text)
}

func (s *Session) chat(b *Bodies, model string) {
	b.head = `{"model":` + quote(model) + `,"messages":[`
	var tools []string
	for _, t := range s.tools {
		tools = append(tools, `{"type":"function","function":{"name":"`+t.name+`","description":`+quote(t.description)+
			`,"parameters":`+t.parameters+`}}`)
	}
	b.tail = `],"tools":[` + strings.Join(tools, ",") + `],"tool_choice":"auto","parallel_tool_calls":true,` +
		`"reasoning_effort":"medium","stream":true,"prompt_cache_key":"` + s.key() + `"}`
	b.parts = []string{`{"role":"system","content":` + quote(s.instructions) + `}`}
	s.grouped(b, func(a *answered) {
		text := `{"role":"assistant","content":` + quote(a.text)
		if a.reasoning != "" {
			text += `,"reasoning":` + quote(a.reasoning)
		}
		for i, c := range a.calls {
			text += []string{`,"tool_calls":[`, ","}[min(i, 1)] + `{"id":"` + c.call +
				`","type":"function","function":{"name":"` + c.name + `","arguments":` + quote(c.text) + `}}`
		}
		if len(a.calls) > 0 {
			text += "]"
		}
		b.parts = append(b.parts, text+"}")
		for _, r := range a.results {
			b.parts = append(b.parts, `{"role":"tool","tool_call_id":"`+r.call+`","content":`+quote(r.text)+`}`)
		}
	}, func(i *item) {
		b.parts = append(b.parts, `{"role":"`+i.role+`","content":`+quote(i.text)+`}`)
	})
}

func (s *Session) messages(b *Bodies, model string) {
	b.head = `{"model":` + quote(model) + `,"max_tokens":32000,"system":[{"type":"text","text":` + quote(s.instructions) +
		`}],"messages":[`
	var tools []string
	for _, t := range s.tools {
		tools = append(tools, `{"name":"`+t.name+`","description":`+quote(t.description)+`,"input_schema":`+t.parameters+`}`)
	}
	b.tail = `],"tools":[` + strings.Join(tools, ",") + `],"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},` +
		`"output_config":{"effort":"medium"},"metadata":{"user_id":"` + s.key() + `"},"stream":true}`
	s.grouped(b, func(a *answered) {
		text := `{"role":"assistant","content":[{"type":"thinking","thinking":` + quote(a.reasoning) + `,"signature":""}`
		if a.text != "" {
			text += `,{"type":"text","text":` + quote(a.text) + `}`
		}
		for _, c := range a.calls {
			text += `,{"type":"tool_use","id":"` + c.call + `","name":"` + c.name + `","input":` + c.text + `}`
		}
		b.parts = append(b.parts, text+"]}")
		for i, r := range a.results {
			text = []string{`{"role":"user","content":[`, text + ","}[min(i, 1)] +
				`{"type":"tool_result","tool_use_id":"` + r.call + `","content":` + quote(r.text) + `}`
		}
		if len(a.results) > 0 {
			b.parts = append(b.parts, text+"]}")
		}
	}, func(i *item) {
		role := i.role
		if role == "developer" {
			role = "system"
		}
		b.parts = append(b.parts, `{"role":"`+role+`","content":`+quote(i.text)+`}`)
	})
}

// answered is an answer of the model with the results of its calls.
type answered struct {
	reasoning, text string
	calls, results  []*item
}

// grouped calls answer for each answer of the model, and said for each message of another. It notes where requests
// end.
func (s *Session) grouped(b *Bodies, answer func(*answered), said func(*item)) {
	var a *answered
	end := func() {
		if a != nil {
			answer(a)
		}
		a = nil
	}
	next := 0
	for i := range s.items {
		m := &s.items[i]
		if m.kind == reasoning || m.kind == message || a != nil && len(a.results) > 0 && m.kind != result && m.kind != raw {
			end()
		}
		if a == nil && m.kind != message && m.kind != raw {
			a = &answered{} // its reasoning was left out
		}
		switch m.kind {
		case message:
			said(m)
		case reasoning:
			a.reasoning = m.text
		case preamble, final:
			a.text = m.text
		case call:
			a.calls = append(a.calls, m)
		case result:
			a.results = append(a.results, m)
		}
		if next < len(s.ends) && i+1 == s.ends[next] {
			end()
			b.ends = append(b.ends, len(b.parts))
			next++
		}
	}
}
