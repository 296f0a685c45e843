//go:build e2e

package nemogym

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// theModel is the model of every vector.
const theModel = "Qwen/Qwen3-30B-A3B"

// configuration returns ours for a vector's settings, as docs/nemo-gym.md says them.
func configuration(t *testing.T, v *vector, server string) *config.Config {
	t.Helper()
	c := lab.OneModel("http://127.0.0.1:9")
	m := config.DefaultModel(theModel, contract.Chat+"="+server)
	// A VLLMModel takes any name for its model.
	m.Aliases = []string{"*"}
	m.Answers.ContextError, m.Answers.UndeclaredCalls = contract.ContextEmptyLength, contract.CallsAsCalls
	m.Answers.TokenIDs = v.isOn("return_token_id_information", false)
	m.Answers.ReasoningSummary = contract.SummaryAlways
	m.Chat.DeveloperRole, m.Chat.LateInstructions = contract.DeveloperKeep, contract.LateKeep
	if v.isOn("replace_developer_role_with_system", false) {
		m.Chat.DeveloperRole = contract.DeveloperSystem
	}
	m.Chat.ThinkTags, m.Chat.ReasoningHistory = contract.ThinkAnywhere, contract.ReasoningBoth
	if !v.isOn("uses_reasoning_parser", true) {
		m.Chat.ThinkTags = contract.ThinkOff
	}
	switch {
	case !v.isOn("uses_reasoning_parser", true), v.isOn("preserve_reasoning_in_assistant_content", false):
		m.Chat.ReasoningHistory = contract.ReasoningThinkTags
	case !v.isOn("uses_interleaved_reasoning", true):
		m.Chat.ReasoningHistory = contract.ReasoningNone
	}
	m.Chat.TemplateKwargs = settingObject(t, v, "chat_template_kwargs")
	m.ExtraBody = settingObject(t, v, "extra_body")
	m.SamplingOverrides = settingObject(t, v, "sampling_overrides")
	c.Models = []config.Model{m}
	return c
}

func settingObject(t *testing.T, v *vector, key string) contract.Object {
	t.Helper()
	value, ok := v.set(key).(map[string]any)
	if !ok {
		return ""
	}
	return contract.Object(encode(t, value))
}
