package translate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// spoken is a request for servers that take conversations, which [Request.AppendConversation] writes.
type spoken struct {
	in    *openai.ResponsesRequest
	model *contract.Model
	// instructions are the first message, of this role. The rest of the input begins at first.
	instructions []string
	role         string
	first        int
	// calls are from the input's items of calls, in their order.
	calls []chatserver.Call
	tools []chatserver.Tool
	// size is about how long the conversation is, in bytes of JSON.
	size int
	// given are the names of the members that are written.
	given []string
}

// ResponsesChat reads a Responses body for a model whose servers take conversations. [Request.AppendConversation] then
// writes what they are asked. There is no Harmony conversation.
//
// The texts of the conversation lie in the body's memory, which ResponsesChat overwrites.
func ResponsesChat(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	in, err := openai.DecodeResponsesConversation(body)
	if err != nil {
		return nil, err
	}
	if in.MessagesAt != "" {
		return nil, openai.NoMessages(in.MessagesAt)
	}
	r := &Request{
		API: ResponsesAPI, Model: in.Model, Stream: in.Stream, Choices: 1, unphased: true,
		Logprobs: in.Logprobs, TopLogprobs: in.TopLogprobs,
		answers: m.Answers, reasoning: reasoningFields(&m.Answers), env: env,
		oneCall: in.OneCall, sealed: in.SealedReasoning, echo: in.Echo, effortWord: in.Effort,
	}
	r.beginMarks(in.Entries, in.Counted)
	if err := r.speak(in, m, body.Size()); err != nil {
		return nil, err
	}
	return r, nil
}

// speak makes what the servers are asked. size is the length of the client's body, in bytes.
func (r *Request) speak(in *openai.ResponsesRequest, m *contract.Model, size int) *openai.Error {
	r.countAll()
	r.keepTokenIDs(m)
	if err := in.Sampling.Salted(m.ServerExtras); err != nil {
		return err
	}
	if err := r.setSampling(&in.Sampling, m); err != nil {
		return err
	}
	defaults := samplingIn(m.ExtraBody)
	r.echo.Complete(&defaults)
	r.MaxReasoning = reasoningLimit(m, in.Sampling.ThinkingBudget)
	builtIns := newBuiltInTools(in)
	r.tools = newToolset(in.Tools)
	r.tools.nameForServers()
	s := &spoken{in: in, model: m, tools: r.tools.forServers(in), size: size + len(m.ExtraBody) + minSize}
	s.takeInstructions()
	if err := s.readHistory(r, builtIns.recipients); err != nil {
		return err
	}
	r.spoken = s
	return nil
}

// samplingIn returns the parameters of an operator's object that a response names.
func samplingIn(operators contract.Object) (s openai.Sampling) {
	members := rawjson.Members([]byte(operators))
	for members.Next() {
		if members.Kind != rawjson.Number {
			continue
		}
		value := string(members.Value)
		switch rawjson.View(members.Key) {
		case "temperature":
			s.Temperature = openai.Number(value)
		case "top_p":
			s.TopP = openai.Number(value)
		case "presence_penalty":
			s.PresencePenalty = openai.Number(value)
		case "frequency_penalty":
			s.FrequencyPenalty = openai.Number(value)
		case "max_tokens", "max_completion_tokens":
			if n, err := strconv.Atoi(value); err == nil {
				s.MaxTokens = n
			}
		}
	}
	return s
}

const (
	// minSize is how long a request is apart from what the client sends, in bytes of JSON. It has room for what is written
	// after the conversation.
	minSize = 8 << 10
	// itemSize is how much longer an item may become, apart from its texts.
	itemSize = 64
)

// takeInstructions finds what becomes the first message: the instructions and the items of the system and the
// developer, the later ones only if the operator has not chosen otherwise. Many templates take only one such message,
// at the beginning.
func (s *spoken) takeInstructions() {
	s.role = openai.RoleSystem
	if s.in.Instructions != "" {
		s.instructions = append(s.instructions, s.in.Instructions)
	}
	developers := s.in.Instructions == ""
	for ; s.first < len(s.in.Input); s.first++ {
		item := &s.in.Input[s.first]
		if item.Kind != openai.ItemMessage || !isInstructions(item.Role) {
			break
		}
		developers = developers && item.Role == openai.RoleDeveloper
		s.instructions = append(s.instructions, strings.Join(item.Content, ""))
	}
	if s.model.Chat.LateInstructions == contract.LateFirst {
		for i := s.first; i < len(s.in.Input); i++ {
			if item := &s.in.Input[i]; item.Kind == openai.ItemMessage && isInstructions(item.Role) {
				developers = developers && item.Role == openai.RoleDeveloper
				s.instructions = append(s.instructions, strings.Join(item.Content, ""))
			}
		}
	}
	if developers {
		s.role = s.roleOf(openai.RoleDeveloper)
	}
}

// roleOf returns the role that servers know a system's or a developer's message by.
func (s *spoken) roleOf(role string) string {
	if s.model.Chat.DeveloperRole == contract.DeveloperKeep {
		return role
	}
	return openai.RoleSystem
}

// readHistory opens sealed reasoning, and finds the functions of all calls. Each result must have a call before it.
func (s *spoken) readHistory(r *Request, builtIns []string) *openai.Error {
	renamed, shown := r.tools.renamed(), r.tools.builtInNames()
	var calls pastCalls
	for i := range s.in.Input {
		item := &s.in.Input[i]
		if item.Kind != openai.ItemCall {
			continue
		}
		id, name := item.CallID, renamed.shown(item.Namespace, item.Name)
		if id == "" && item.Answered {
			id = "call_" + strconv.Itoa(item.Index)
		}
		if item.BuiltIn || item.Namespace == "" && !item.Answered && slices.Contains(builtIns, item.Name) {
			name = cmp.Or(shown[item.Name], undotted(item.Name)) // the client's choice may hide the tool
		}
		call := chatserver.NewCall(id, name, item.Arguments, item.Custom)
		s.calls, s.size = append(s.calls, call), s.size+call.Growth()
		calls.add(call.ID, calledTool{})
	}
	made := 0
	for i := s.first; i < len(s.in.Input); i++ {
		item := &s.in.Input[i]
		if err := r.checkTokenIDs(item.TokenIDs, "input", item.Index); err != nil {
			return err
		}
		switch item.Kind {
		case openai.ItemCall:
			made++
		case openai.ItemReasoning:
			if err := s.openReasoning(r, item); err != nil {
				return err
			}
		case openai.ItemCallOutput:
			if !item.Standalone() && calls.answer(item.CallID, made) == nil {
				return noCall(r.placeOfCallID(item))
			}
		}
	}
	return nil
}

// openReasoning puts the text of sealed reasoning into its item.
func (s *spoken) openReasoning(r *Request, item *openai.InputItem) *openai.Error {
	if len(item.Sealed) > 0 {
		content, err := r.reasoningText(item)
		if err != nil {
			return err
		}
		item.Content = content
	}
	for _, text := range item.Content {
		s.size += len(text) + len(text)/8 // it may be sent twice
	}
	return nil
}

// placeOf returns the place of an item in the request.
func (r *Request) placeOf(item *openai.InputItem) string {
	if r.API == MessagesAPI {
		return anthropic.Place(item.Index, item.Block)
	}
	return "input[" + strconv.Itoa(item.Index) + "]"
}

// placeOfCallID returns the place of the id by which a result names its call.
func (r *Request) placeOfCallID(item *openai.InputItem) string {
	if r.API == MessagesAPI {
		return r.placeOf(item) + ".tool_use_id"
	}
	return r.placeOf(item) + ".call_id"
}
