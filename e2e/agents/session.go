package agents

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Turns is how many requests a session has.
const Turns = 43

// Family is an agent: all its sessions have the same instructions and tools.
type Family uint64

// What a gateway is tuned on, and what decides whether that was worth it.
const (
	Tuning  Family = 1
	HoldOut Family = 20261128
)

// Session is what a coding agent and a model have said. It is as long as a median session of Codex, whose last request
// has about 138,000 tokens: more than gpt-oss's context.
type Session struct {
	family       Family
	seed         uint64
	instructions string
	tools        []tool
	items        []item
	// ends are how many of the items each request has.
	ends []int
}

// item is a part of the conversation.
type item struct {
	kind kind
	// id is the item's, and call the id that a call and its result have in common.
	id, call string
	// role is a message's, name a call's.
	role, name string
	// text is a message's, a reasoning's or a result's, or the arguments of a call, or all of a raw item.
	text string
	// next is the name of the call that follows a reasoning. seal is the reasoning, if it was sealed before.
	next, seal string
}

type kind int

const (
	message kind = iota
	preamble
	final
	reasoning
	call
	result
	// raw is an item of the Responses API, which no other form has.
	raw
)

const (
	// calls are in a session: as many as steps, and more where the model asks for several at once.
	calls, twice, thrice = 53, 10, 2
	preambles            = 15
	// outputs is how many bytes all results have, if a token has bytesAnID tenths of a byte.
	outputs, bytesAnID = 445_000, 37
)

// asked are the turns that begin with a question.
var asked = []int{1, 14, 26, 37}

// New returns a session of an agent.
func New(family Family, seed uint64) *Session {
	agent := newWriter(family, math.MaxUint64)
	w := newWriter(family, seed)
	s := &Session{family: family, seed: seed, instructions: agent.prose(12_000), tools: newTools(agent)}
	b := &builder{Session: s, project: newProject(w), plan: plan(w)}
	b.say("developer", "<permissions instructions>"+w.prose(500)+"</permissions instructions>")
	b.say("user", "# AGENTS.md instructions\n\n<INSTRUCTIONS>\n"+w.prose(900)+"\n</INSTRUCTIONS>")
	b.say("user", "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>bash</shell>\n  <id>"+w.hex(16)+
		"</id>\n</environment_context>")
	for turn := 1; turn <= Turns; turn++ {
		if slices.Contains(asked, turn) {
			b.say("user", w.prose(w.between(150, 900)))
		}
		s.ends = append(s.ends, len(s.items))
		if turn < Turns {
			b.answer(slices.Contains(asked, turn+1))
		}
	}
	return s
}

// builder adds what is said.
type builder struct {
	*Session
	*project
	plan *planned
	// owed is how much longer the next result must be, because those before it are short of what they should have.
	owed int
}

// planned is what the steps of a session have, in their order.
type planned struct {
	calls   []int
	preface []bool
	// sizes are those of the results.
	sizes []int
}

func plan(w *writer) *planned {
	steps := Turns - len(asked)
	p := &planned{calls: make([]int, steps), preface: make([]bool, steps), sizes: make([]int, calls)}
	for i := range steps {
		p.preface[i] = i < preambles
		switch {
		case i < thrice:
			p.calls[i] = 3
		case i < thrice+twice:
			p.calls[i] = 2
		default:
			p.calls[i] = 1
		}
	}
	w.Shuffle(steps, func(i, j int) { p.calls[i], p.calls[j] = p.calls[j], p.calls[i] })
	w.Shuffle(steps, func(i, j int) { p.preface[i], p.preface[j] = p.preface[j], p.preface[i] })
	for i := range calls {
		if i%5 > 0 { // a fifth are patches, whose results are short
			p.sizes[i] = int(100 * math.Pow(200, w.Float64()))
		}
	}
	p.fit()
	return p
}

// fit makes the results' sizes grow or shrink until they come to [outputs].
func (p *planned) fit() {
	const smallest, largest = 100, 20_000
	for range 20 {
		all := 0
		for _, n := range p.sizes {
			all += n
		}
		for i, n := range p.sizes {
			if n > 0 {
				p.sizes[i] = min(max(n*outputs/all, smallest), largest)
			}
		}
	}
}

func (b *builder) add(i item, prefix string) {
	i.id = prefix + "_" + b.hex(24)
	b.items = append(b.items, i)
}

func (b *builder) say(role, text string) { b.add(item{kind: message, role: role, text: text}, "msg") }

// answer adds an answer of the model, and the results of its calls.
func (b *builder) answer(last bool) {
	thought := item{kind: reasoning, text: b.prose(int(50 * math.Pow(50, b.Float64())))}
	if last {
		b.add(thought, "rs")
		b.add(item{kind: final, role: "assistant", text: b.prose(b.between(300, 1500))}, "msg")
		return
	}
	p := b.plan
	n, preface := p.calls[0], p.preface[0]
	p.calls, p.preface = p.calls[1:], p.preface[1:]
	var asks, results []item
	for range n {
		ask, answered := b.step(p.sizes[0], (calls-len(p.sizes))%5 == 0)
		p.sizes = p.sizes[1:]
		ask.kind, answered.kind = call, result
		ask.call = "call_" + b.hex(24)
		answered.call = ask.call
		asks, results = append(asks, ask), append(results, answered)
	}
	if !preface {
		thought.next = asks[0].name
	}
	b.add(thought, "rs")
	if preface {
		b.add(item{kind: preamble, role: "assistant", text: b.sentence(14)}, "msg")
	}
	for _, ask := range asks {
		b.add(ask, "fc")
	}
	for _, answered := range results {
		b.add(answered, "fco")
	}
}

// step returns a call and its result, of about n bytes.
func (b *builder) step(n int, patches bool) (ask, answered item) {
	if patches {
		f, text := b.patch(b.between(200, 2100))
		return item{name: "apply_patch", text: object("input", text)},
			item{text: "Success. Updated the following files:\nM " + f.path + "\n"}
	}
	ran := b.run(max(n+b.owed, 100))
	b.owed += n - len(o200k.Tokenizer().AppendEncode(nil, ran.output))*bytesAnID/10
	head := fmt.Sprintf("Chunk ID: %s\nWall time: %d.%04d seconds\nProcess exited with code %d\n"+
		"Original token count: %d\nOutput:\n", b.hex(6), b.IntN(9), b.IntN(10_000), b.IntN(2), len(ran.output)/4)
	arguments := object("cmd", ran.command, "workdir", "/repo", "justification", b.sentence(9))
	return item{name: "exec_command", text: arguments}, item{text: head + ran.output}
}

// object returns an object of JSON whose members are texts.
func object(members ...string) string {
	var text strings.Builder
	for i := 0; i < len(members); i += 2 {
		text.WriteByte("{,"[min(i, 1)])
		text.WriteString(quote(members[i]) + ":" + quote(members[i+1]))
	}
	return text.String() + "}"
}
