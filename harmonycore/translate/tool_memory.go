package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ToolMemory remembers the tools of recent requests: what they are read to, and their ids in the prompt. Agents send
// the same tools with every request. Tools are found by all of their JSON and by their client. So a client cannot
// change what another client's tools are read to, or learn by the time of a request what another has sent. The zero
// value is empty. It is not safe for concurrent use.
type ToolMemory struct {
	all []*rememberedTools
	// size is the sum of their sizes, and uses counts the requests that were found or added.
	size, uses int
	// grammars are what grammars of inputs were turned into, the last one first.
	grammars []rememberedGrammar
}

// The limits of a [ToolMemory]: how many tools of different requests it has, and how much memory they take in bytes.
const (
	maxRemembered     = 16
	maxRememberedSize = 1 << 20
)

// rememberedTools are the tools of a request.
type rememberedTools struct {
	owner    string
	api      API
	json     []byte
	declared openai.DeclaredTools
	section  harmony.ToolSection
	// size is about what they take, in bytes. lastUse is the value of [ToolMemory.uses] when they were last used.
	size, lastUse int
}

// find returns the tools of this JSON, or nil.
func (m *ToolMemory) find(owner string, api API, json []byte) *rememberedTools {
	for _, t := range m.all {
		if len(t.json) == len(json) && t.api == api && t.owner == owner && rawjson.After(json, 0, t.json) >= 0 {
			m.uses++
			t.lastUse = m.uses
			return t
		}
	}
	return nil
}

// add remembers tools, and forgets those that were not used for longest. It does not remember large ones, and then
// returns nil. json is copied.
func (m *ToolMemory) add(owner string, api API, json []byte, declared openai.DeclaredTools) *rememberedTools {
	// The JSON itself, its texts, its echo, and its ids: four bytes for about as many bytes of text.
	size := 4*len(json) + len(declared.Echo) + 1024
	if size > maxRememberedSize/2 {
		return nil
	}
	for len(m.all) >= maxRemembered || m.size+size > maxRememberedSize {
		m.forget()
	}
	m.uses++
	t := &rememberedTools{owner: owner, api: api, json: append([]byte(nil), json...), declared: declared, size: size,
		lastUse: m.uses}
	m.all, m.size = append(m.all, t), m.size+size
	return t
}

// forget forgets the tools that were not used for longest.
func (m *ToolMemory) forget() {
	oldest := 0
	for i, t := range m.all {
		if t.lastUse < m.all[oldest].lastUse {
			oldest = i
		}
	}
	last := len(m.all) - 1
	if last < 0 {
		return
	}
	m.size -= m.all[oldest].size
	m.all[oldest], m.all[last] = m.all[last], nil
	m.all = m.all[:last]
}

// toolRecall is what a [ToolMemory] has for one request. A nil one has nothing. It implements [openai.ToolMemory].
type toolRecall struct {
	memory *ToolMemory
	owner  string
	api    API
	json   []byte
	found  *rememberedTools
}

// recallTools makes a body's decoder ask the memory, if there is one.
func (e *Env) recallTools(body *openai.Body, api API) *toolRecall {
	if e.Tools == nil {
		return nil
	}
	t := &toolRecall{memory: e.Tools, owner: e.Owner, api: api}
	body.Remembers(t)
	return t
}

// Recall implements [openai.ToolMemory].
func (t *toolRecall) Recall(json []byte) *openai.DeclaredTools {
	t.json, t.found = json, t.memory.find(t.owner, t.api, json)
	if t.found == nil {
		return nil
	}
	return &t.found.declared
}

// section returns what keeps the ids of the tools, or nil if these tools are not remembered. They are not if some of
// them are left out, or if one of them is not a function of the developer message. echo is [openai.DeclaredTools.Echo].
func (t *toolRecall) section(tools []openai.Tool, echo string, choice *openai.ToolChoice) *harmony.ToolSection {
	if t == nil || len(tools) == 0 || choice.Limits() {
		return nil
	}
	if t.found == nil {
		for i := range tools {
			if tools[i].BuiltIn {
				return nil
			}
		}
		t.found = t.memory.add(t.owner, t.api, t.json, openai.DeclaredTools{Tools: tools, Echo: echo})
	}
	if t.found == nil {
		return nil
	}
	return &t.found.section
}
