package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// MaxObject is the maximum length of an object of the operator's, in bytes of JSON. The filter sends it with every
// request.
const MaxObject = 64 << 10

// maxObjectDepth is how deeply such an object may be nested.
const maxObjectDepth = 32

// misplaced are settings of a model that mean nothing for a kind of servers, by their paths, with what to do instead.
// The path of a block stands for all its settings.
type misplaced []struct{ path, advice string }

// The settings that mean nothing where the servers take conversations.
var forPrompts = misplaced{
	{"structured_outputs", "leave it out: tool choices and JSON schemas go to the servers as they are"},
	{"thinking_token_budget", "leave it out, and write the servers' own limit into extra_body"},
	{"raw_prompts", "leave it out: clients' conversations reach the servers at " + contract.ChatPath},
	{"reasoning_efforts", "leave it out: a client's effort goes to the servers as it is"},
	{"drop_commentary_from_history", "leave it out"},
	{"history", "leave it out: the servers' chat template writes calls and results"},
	{"unsupported_content", "leave it out: images, files and sound go to the servers as they are"},
	{"answers.strict", "leave it out"},
	{"answers.harmony_messages", "leave it out"},
	{"system", "leave it out: the servers' chat template writes the prompt; chat.template_kwargs has its arguments"},
}

// The settings that mean nothing where the servers take prompts.
var forConversations = misplaced{
	{"chat", "leave it out"},
	{"control_spellings", "leave it out: the gateway knows gpt-oss's"},
}

// The settings about prompts that mean something where conversations are rendered, and nothing at other chat servers.
var forRendered = misplaced{
	{"control_tokens", "leave it out"},
	{"control_spellings", "leave it out"},
	{"repetition_detection", "leave it out, and write the servers' own limits into extra_body"},
}

// The settings about answers to Chat requests that mean nothing where these pass unchanged.
var forNewAnswers = misplaced{
	{"answers.reasoning_fields", "leave it out, or write hide_reasoning: true if clients must not see reasoning"},
}

// find returns the path of the first of the settings that does not have its default, and what to do about it.
func (all misplaced) find(m *Model) (path, advice string) {
	changed := changedSettings("", m.ModelSettings.Fields())
	for _, s := range all {
		for _, path := range changed {
			if path == s.path || strings.HasPrefix(path, s.path+".") {
				return path, s.advice
			}
		}
	}
	return "", ""
}

// changedSettings returns the paths of the settings that do not have their defaults.
func changedSettings(prefix string, fields []contract.Field) []string {
	var paths []string
	for i := range fields {
		f := &fields[i]
		if f.Block != nil {
			paths = append(paths, changedSettings(prefix+f.Key+".", f.Block)...)
		} else if !f.IsDefault() {
			paths = append(paths, prefix+f.Key)
		}
	}
	return paths
}

// fit returns the path of the first setting that does not fit the kind of the model's servers, and an error text.
func (m *Model) fit(kind *contract.Kind) (path, reason string) {
	if m.Answers.TokenIDs && m.Answers.HideReasoning {
		return "answers.token_ids", "gives clients the tokens of the reasoning that answers.hide_reasoning hides; leave one " +
			"of them out"
	}
	if _, e := openai.ReadOverrides(m.SamplingOverrides, kind); e != nil {
		return strings.TrimSuffix("sampling_overrides."+e.Param, "."), "cannot be set for all clients: " + e.Message +
			" Leave it out."
	}
	if !kind.Conversations {
		return m.fitPrompts(kind)
	}
	if path, advice := forPrompts.find(m); path != "" {
		return path, "is for servers that take prompts, and those of the kind " + kind.Name + " take conversations; " + advice
	}
	if path, advice := forRendered.find(m); path != "" && !kind.Renders {
		return path, "is for servers that take prompts or render, and those of the kind " + kind.Name +
			" take conversations; " + advice + ", or use servers of the kind " + contract.VLLMRender
	}
	if m.Repetition.Reasoning == contract.RepetitionFinal {
		return "repetition_detection.reasoning", "can only be final for gpt-oss, whose answer the gateway begins itself; write " +
			contract.RepetitionEnd
	}
	if path, advice := forNewAnswers.find(m); path != "" && !kind.Renders && !m.RemakesChat() {
		return path, "is for answers that the gateway makes, and answers of " + kind.Name + " servers to Chat requests " +
			"pass as they come; " + advice
	}
	if m.Marker != "" && (m.Speaks == contract.SpeaksChat || m.Speaks == contract.SpeaksAuto) {
		return "marker", "is for a model whose answers have one; write speaks: marker, or leave it out"
	}
	for _, name := range own {
		if hasMember(m.ExtraBody, name) {
			return "extra_body." + name, "is written by the gateway itself; leave it out"
		}
	}
	if hasMember(m.ExtraBody, templateKwargs) {
		return "extra_body." + templateKwargs, "is in the wrong place; write it as chat.template_kwargs of the model, with " +
			"which a client's own arguments are merged"
	}
	return "", ""
}

// fitPrompts is fit for servers that take prompts.
func (m *Model) fitPrompts(kind *contract.Kind) (path, reason string) {
	const chatKind = "and those of this model take prompts (kind %s); "
	if m.Speaks != contract.SpeaksAuto && m.Speaks != contract.SpeaksHarmony {
		return "speaks", fmt.Sprintf("%s is for servers that take conversations, "+chatKind+"write kind: %s in the pool, or "+
			"%s=URL in servers, or leave it out", m.Speaks, kind.Name, contract.Chat, contract.Chat)
	}
	if m.Marker != "" && !kind.EstimatesTokens() {
		return "marker", fmt.Sprintf("is for servers that answer in text, and those of this model answer in token ids "+
			"(kind %s); leave it out, or write kind: %s in the pool", kind.Name, contract.Chat)
	}
	if path, advice := forConversations.find(m); path != "" {
		return path, fmt.Sprintf("is for servers that take conversations, "+chatKind+"%s, or write kind: %s in the pool",
			kind.Name, advice, contract.Chat)
	}
	if m.Answers.TokenIDs && !kind.TracesTokens() {
		return "answers.token_ids", kind.Name + " servers do not send both token ids and logprobs; leave it out, or use " +
			"servers of a kind that does: " + kindsThat(func(k *contract.Kind) bool { return k.TracesTokens() })
	}
	if kind.TextAnswers && (m.Repetition.Reasoning != contract.RepetitionOff || m.Repetition.Text != contract.RepetitionOff) {
		return "repetition_detection", "is for servers that answer in token ids, and those of the kind " + kind.Name +
			" answer in text; leave it out, or use servers of another kind: " + kindsThat(func(k *contract.Kind) bool { return !k.TextAnswers })
	}
	if _, e := openai.ReadDefaults(m.ExtraBody, kind); e != nil {
		return strings.TrimSuffix("extra_body."+e.Param, "."), "cannot be a default: " + e.Message + " Leave it out."
	}
	return "", ""
}

// kindsThat lists the kinds of servers of which can says yes.
func kindsThat(can func(*contract.Kind) bool) string {
	return orList(slices.DeleteFunc(contract.ServerKinds(), func(name string) bool {
		return !can(contract.KindNamed(name))
	}))
}

// templateKwargs is the member with the arguments of a chat template.
const templateKwargs = "chat_template_kwargs"

// own are members of a conversation that the gateway writes itself, or reads answers by.
var own = []string{"model", "messages", "n", "stream", "stream_options"}

// checkObjects returns the path of the first object of the model's that cannot be sent, and an error text.
func (m *Model) checkObjects() (path, reason string) {
	for _, o := range []struct {
		path string
		text contract.Object
	}{
		{"extra_body", m.ExtraBody}, {"sampling_overrides", m.SamplingOverrides},
		{"chat.template_kwargs", m.Chat.TemplateKwargs},
	} {
		if len(o.text) > MaxObject {
			return o.path, fmt.Sprintf("is %d bytes of JSON; use at most %d", len(o.text), MaxObject)
		}
		if o.text == "" {
			continue
		}
		if _, err := rawjson.Parse([]byte(o.text), maxObjectDepth); err != nil {
			return o.path, fmt.Sprintf("is nested too deeply; use at most %d levels", maxObjectDepth)
		}
	}
	return "", ""
}

// hasMember reports whether an object has a member of this name.
func hasMember(o contract.Object, name string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(cmp.Or(o, "{}")), &members) == nil && members[name] != nil
}
