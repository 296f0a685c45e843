package items

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Compaction is what an item of the type compaction stands for.
type Compaction struct {
	// Summary is what the model wrote about the items that it replaces.
	Summary string `json:"summary"`
	// Tools are items that declare the tools of those items.
	Tools []json.RawMessage `json:"tools,omitempty"`
	// Items are the newest ones, which are kept as they are.
	Items []json.RawMessage `json:"items,omitempty"`
}

// Expand returns what the model gets for a compaction.
func Expand(payload string) []json.RawMessage {
	var c Compaction
	_ = json.Unmarshal([]byte(payload), &c)
	list := append(c.Tools, UserMessage(summaryIntroduction+c.Summary))
	return append(list, c.Items...)
}

// Declared returns items that declare the tools that stand in a list, for a conversation without that list. What a
// search has found needs no search any more.
func Declared(list []json.RawMessage) (tools []json.RawMessage) {
	seen := map[string]bool{}
	for _, raw := range list {
		var item struct {
			Type  string
			Tools json.RawMessage
		}
		if json.Unmarshal(raw, &item) != nil || item.Type != TypeTools && item.Type != TypeSearchOutput ||
			!Given(item.Tools) || seen[string(item.Tools)] {
			continue
		}
		seen[string(item.Tools)] = true
		fields := map[string]json.RawMessage{"type": JSON(item.Type), "tools": item.Tools}
		if item.Type == TypeTools {
			fields["role"] = JSON("developer")
		}
		tools = append(tools, JSON(fields))
	}
	return tools
}

// UserMessage returns a message of the user.
func UserMessage(text string) json.RawMessage {
	return JSON(map[string]string{"type": TypeMessage, "role": "user", "content": text})
}

// summaryIntroduction is before a summary in the prompt.
const summaryIntroduction = "Summary of the conversation so far, which was removed to save space:\n\n"

// Tail returns where the newest items begin, which a compaction keeps: the user's last messages, or the last outputs of
// tools with their calls.
func Tail(items []json.RawMessage) int {
	kind := func(i int) (kind, role string) {
		var item struct{ Type, Role string }
		if i >= 0 {
			_ = json.Unmarshal(items[i], &item)
		}
		return item.Type, item.Role
	}
	end := len(items)
	for end > 0 {
		if last, _ := kind(end - 1); last != TypeUpdate { // it says nothing by itself
			break
		}
		end--
	}
	at := end
	back := func(belongs func(kind, role string) bool) {
		for at > 0 && belongs(kind(at-1)) {
			at--
		}
	}
	back(func(_, role string) bool { return role == "user" })
	if at < end {
		return at
	}
	back(func(kind, _ string) bool { return strings.HasSuffix(kind, "_output") })
	if at < end {
		back(func(kind, _ string) bool { return strings.HasSuffix(kind, "_call") || kind == TypeReasoning })
	}
	return at
}

// ForSummary returns the items that a summary is asked for: without those that change the form of the answer.
func ForSummary(list []json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(list), func(raw json.RawMessage) bool {
		return bytes.Contains(raw, []byte(TypeUpdate)) && Of(raw).Type == TypeUpdate
	})
}

// SummaryRequest returns the last message of a request for a summary.
func SummaryRequest() json.RawMessage {
	return UserMessage("The conversation so far is about to be removed, and only your next answer will be kept in its " +
		"place. Write down what is needed to go on without it: what the user wants and has asked for, decisions and the " +
		"reasons for them, what was done and found (names, paths, figures, errors, as they were), and what is still to be " +
		"done. Call no tools, and answer nothing else.")
}

// SummaryFields returns the fields of a request for a summary: the client's fields that do not shape its answer. No tool
// may be called, also none that an item declares.
func SummaryFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	kept := maps.Clone(fields)
	for _, name := range []string{"tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "text",
		"max_output_tokens", "include", "top_logprobs", "context_management"} {
		delete(kept, name)
	}
	kept["truncation"], kept["tool_choice"] = JSON("auto"), JSON("none")
	return kept
}
