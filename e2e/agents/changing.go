package agents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Changing are conversations of agents that go on and that their clients change: they fork, are edited and compacted,
// lose reasoning, and get other tools, settings, forms, models, keys and tenants. Time passes, and some bodies are
// broken. The same seed and times make the same requests, but for what is sealed.
type Changing struct {
	*writer
	models []string
	now    func() time.Time
	all    []*changing
	// last is the conversation of the last request.
	last *changing
}

// Request is a request of [Changing].
type Request struct {
	// Form is that of the body. It may be broken.
	Form Form
	Body string
	// Key and Tenant are the client's, if it has one.
	Key, Tenant string
	// After is how much time passes before the request.
	After time.Duration
}

// changing is a conversation as it is now.
type changing struct {
	Session
	form               Form
	model, key, tenant string
	// searches reports whether the client has a search for tools, and declared whether all tools stand in the input.
	searches, declared bool
	// swaps are texts of its bodies, each with what stands in its place.
	swaps []string
}

const (
	// conversations go on at a time, each with so many items at most.
	conversations, mostItems = 8, 50
)

// changedForms are those in which they are written.
var changedForms = [...]Form{Responses, Sealed, Chat}

// NewChanging returns conversations with these models. now is the time, for what is sealed.
func NewChanging(seed uint64, now func() time.Time, models ...string) *Changing {
	return &Changing{writer: newWriter(Tuning, seed), models: models, now: now}
}

// Refused says that the last request was refused. Its conversation may end there.
func (c *Changing) Refused() {
	if c.IntN(2) == 0 {
		c.begin(c.last)
	}
}

// Next returns the next request.
func (c *Changing) Next() Request {
	s := c.choose()
	c.last = s
	r := Request{}
	if c.change(s, &r.After); len(s.items) > mostItems {
		c.begin(s)
	}
	s.ends = []int{len(s.items)}
	body := strings.NewReplacer(s.swaps...).Replace(s.bodies().Turn(1))
	if c.IntN(40) == 0 {
		body = c.broken(body)
	}
	r.Form, r.Body, r.Key, r.Tenant = s.form, body, s.key, s.tenant
	return r
}

func (c *Changing) choose() *changing {
	if len(c.all) < conversations && c.IntN(5) == 0 || len(c.all) == 0 {
		s := &changing{}
		c.begin(s)
		c.all = append(c.all, s)
		return s
	}
	return c.all[c.IntN(len(c.all))]
}

// begin makes a conversation a new one, of one of two agents.
func (c *Changing) begin(s *changing) {
	agent := &writer{rand.New(rand.NewPCG(c.Uint64()%2, 9)), c.words}
	*s = changing{form: changedForms[c.IntN(len(changedForms))], searches: c.IntN(3) == 0,
		declared: c.IntN(4) == 0, model: c.models[c.IntN(len(c.models))],
		key: c.one("", "a", "b"), tenant: c.one("", "", "t")}
	s.family, s.seed, s.instructions, s.tools = Tuning, c.Uint64(), agent.prose(4000), newTools(agent)[:3]
	if s.declared {
		s.items = append(s.items, item{kind: raw, text: additional(strings.Join(functions(s.tools, false), ","))})
	}
	if c.IntN(2) == 0 {
		s.say(c.writer, "developer", 300)
	}
	s.say(c.writer, "user", 300)
}

// bodies returns the bodies of a conversation as it is now.
func (s *changing) bodies() *Bodies {
	if s.form == Chat {
		return s.Bodies(s.form, s.model)
	}
	tools := functions(s.tools, false)
	if s.declared {
		tools = nil
	}
	if s.searches {
		tools = append(tools, searchTool)
	}
	b := &Bodies{}
	s.responses(b, s.model, tools, s.form == Sealed)
	return b
}

// declare adds items of the Responses API that declare tools, change the answer, or are nothing to the model.
func (c *Changing) declare(s *changing) {
	tools, add := newTools(c.writer)[:c.between(1, 3)], func(text string) {
		s.items = append(s.items, item{kind: raw, text: text})
	}
	declared := strings.Join(functions(tools, false), ",")
	if c.IntN(2) == 0 {
		declared = namespaced(c.IntN(2), tools, c.IntN(2) == 0)
	}
	switch c.IntN(8) {
	case 0, 1:
		add(additional(declared))
	case 2, 3, 4:
		id := "call_" + c.hex(24)
		add(`{"type":"tool_search_call","call_id":"` + id + `","execution":"client","arguments":{"query":"` + c.noun() +
			`"}}`)
		add(`{"type":"tool_search_output","call_id":"` + id + `","execution":"client","tools":[` + declared + `]}`)
	case 5:
		add(`{"type":"configuration_update","reasoning":{"effort":"` + c.one("low", "medium", "high") + `"}}`)
	case 6:
		add(`{"type":"compaction","encrypted_content":"gAAAAAB` + c.hex(40) + `"}`)
	case 7:
		add(c.one(`{"type":"unheard_of"}`, `{"type":"reasoning","summary":[],"encrypted_content":"gAAAAAB`+c.hex(90)+`"}`))
	}
}

func (s *changing) say(w *writer, role string, most int) {
	s.items = append(s.items, item{kind: message, id: "msg_" + w.hex(24), role: role, text: w.prose(w.between(1, most))})
}

// change lets a conversation go on, or changes it. It adds the time that passes.
func (c *Changing) change(s *changing, after *time.Duration) {
	switch c.IntN(36) {
	case 0: // a fork
		other := *s
		other.items = slices.Clone(s.items[:c.between(1, len(s.items))])
		*c.all[c.IntN(len(c.all))] = other
	case 1: // an edit
		s.items = slices.Clone(s.items)
		i := &s.items[c.IntN(len(s.items))]
		if i.text, i.seal = c.edited(i.text), ""; i.kind == reasoning {
			c.seal(s, i)
		} else if i.kind == raw {
			i.text = additional(strings.Join(functions(newTools(c.writer)[:1], false), ","))
		}
	case 2: // a compaction
		last := max(len(s.items)-c.IntN(6), 1)
		rest := slices.Clone(s.items[last:])
		s.items = s.items[:1:1]
		s.say(c.writer, "user", 1500)
		s.items = append(s.items, rest...)
	case 3: // without the reasoning, or without the older half of it
		older := len(s.items) / c.between(1, 2)
		s.items = append(slices.DeleteFunc(slices.Clone(s.items[:older]), func(i item) bool { return i.kind == reasoning }),
			s.items[older:]...)
		if len(s.items) == 0 {
			s.say(c.writer, "user", 300)
		}
	case 4: // other tools
		s.tools = newTools(c.writer)[:c.between(1, 4)]
	case 5:
		s.instructions = c.edited(s.instructions)
	case 6:
		*after = time.Duration(c.between(1, 100)) * []time.Duration{time.Second, 10 * time.Second}[c.IntN(2)]
	case 7:
		s.model = c.models[c.IntN(len(c.models))]
		c.sealAgain(s)
	case 8:
		s.key, s.tenant = c.one("", "a", "b"), c.one("", "t")
		c.sealAgain(s)
	case 9:
		s.form = changedForms[c.IntN(len(changedForms))]
		c.sealAgain(s)
	case 10, 11: // other settings, or other spaces
		s.swaps = [][]string{nil, {`"effort":"medium"`, `"effort":"low"`}, {`"stream":true`, `"stream":false`},
			{`"tool_choice":"auto"`, `"tool_choice":"none","temperature":0.5`}, {`},{`, "} ,\n {"},
			{`"store":false`, `"store":false,"truncation":"auto"`}, {`,"prompt_cache_key"`, `,"unknown":1,"prompt_cache_key"`},
			{`"reasoning_effort":"medium"`, `"seed":7`}, {`"type":"message",`, ""}}[c.IntN(9)]
	case 12, 13, 14: // again
	default:
		c.grow(s)
	}
}

// grow adds an answer of the model, with the results of its calls or the user's next question.
func (c *Changing) grow(s *changing) {
	ask := item{kind: call, id: "fc_" + c.hex(24), name: s.tools[c.IntN(len(s.tools))].name}
	if c.IntN(6) == 0 {
		c.declare(s)
	}
	if c.IntN(4) > 0 {
		thought := item{kind: reasoning, id: "rs_" + c.hex(24), text: c.prose(c.between(1, 400))}
		if c.IntN(2) == 0 {
			thought.next = ask.name
		}
		c.seal(s, &thought)
		s.items = append(s.items, thought)
	}
	if c.IntN(4) == 0 {
		s.items = append(s.items, item{kind: final, id: "msg_" + c.hex(24), role: "assistant", text: c.prose(c.between(1, 900))})
		if c.IntN(8) > 0 {
			s.say(c.writer, "user", 500)
		}
		return
	}
	if c.IntN(3) == 0 {
		s.items = append(s.items, item{kind: preamble, id: "msg_" + c.hex(24), role: "assistant", text: c.sentence(8)})
	}
	var results []item
	for range c.between(1, 3) {
		ask.call, ask.text = "call_"+c.hex(24), object("cmd", c.sentence(6), "workdir", "/repo")
		s.items = append(s.items, ask)
		size := c.between(1, 600)
		if c.IntN(15) == 0 {
			size = c.between(4000, 30_000)
		}
		results = append(results, item{kind: result, id: "fco_" + c.hex(24), call: ask.call, text: c.prose(size)})
	}
	if c.IntN(15) == 0 { // one never comes
		results = results[1:]
	}
	s.items = append(s.items, results...)
}

// seal seals a reasoning. A few can be opened for seconds or minutes only.
func (c *Changing) seal(s *changing, i *item) {
	until := c.now().Unix() + 100_000_000
	if c.IntN(30) == 0 {
		until = c.now().Unix() + int64(c.IntN(600))
	}
	i.seal = i.sealed(seal.Bound{Model: s.model, Tenant: s.tenant}, until)
}

// sealAgain mostly seals all reasoning again, as that of another model or tenant. Otherwise it does not open.
func (c *Changing) sealAgain(s *changing) {
	if c.IntN(4) == 0 {
		return
	}
	s.items = slices.Clone(s.items)
	for i := range s.items {
		if s.items[i].kind == reasoning {
			c.seal(s, &s.items[i])
		}
	}
}

// edited returns a text in which a word is another one, or one more.
func (c *Changing) edited(text string) string {
	from := c.IntN(len(text) + 1)
	to := min(from+c.IntN(20), len(text))
	return strings.ToValidUTF8(text[:from], "") + c.one("", " ", "x") + c.noun() + strings.ToValidUTF8(text[to:], "")
}

// broken returns a body in which some bytes are others.
func (c *Changing) broken(body string) string {
	from := c.IntN(len(body))
	to := min(from+c.IntN(3)*c.IntN(40), len(body))
	with := c.one("", "", `"`, `\`, "}", "]", ",", "0", " ", "\x80", "null,", `"input":[],`, `"messages":[],`,
		body[from:min(from+200, len(body))])
	return body[:from] + with + body[to:]
}

// String describes the request without its texts.
func (r Request) String() string {
	return fmt.Sprintf("%s, %d bytes, key %q, tenant %q, after %s", r.Form, len(r.Body), r.Key, r.Tenant, r.After)
}
