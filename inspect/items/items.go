package items

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// item has the members of all types of items. Members of several forms stay JSON.
type item struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	Role             string          `json:"role"`
	Phase            string          `json:"phase"`
	Status           string          `json:"status"`
	Name             string          `json:"name"`
	Namespace        string          `json:"namespace"`
	ServerLabel      string          `json:"server_label"`
	CallID           string          `json:"call_id"`
	ApprovalRequest  string          `json:"approval_request_id"`
	Container        string          `json:"container_id"`
	EncryptedContent string          `json:"encrypted_content"`
	Reason           string          `json:"reason"`
	Code             string          `json:"code"`
	Approve          *bool           `json:"approve"`
	Content          json.RawMessage `json:"content"`
	Summary          json.RawMessage `json:"summary"`
	Arguments        json.RawMessage `json:"arguments"`
	Input            json.RawMessage `json:"input"`
	Output           json.RawMessage `json:"output"`
	Outputs          json.RawMessage `json:"outputs"`
	Action           json.RawMessage `json:"action"`
	Error            json.RawMessage `json:"error"`
	Tools            []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
}

// ownMembers begin the names of members that the service adds to stored items. Clients do not see them. modelItems has
// the items that the model gets in place of the item.
const (
	ownMembers = "harmony_"
	modelItems = ownMembers + "items"
)

// Message returns an item as a message. JSON that is no item of the API is shown as it is.
func Message(raw json.RawMessage) *explain.Message {
	var i item
	if err := json.Unmarshal(raw, &i); err != nil {
		return &explain.Message{Author: "unknown", Warning: "not an item of the API",
			Parts: []explain.Part{{Text: compact(raw)}}}
	}
	m := &explain.Message{Author: i.author(), Reference: i.ID}
	if i.Status != "" && i.Status != "completed" {
		m.Warning = i.Status
	}
	if i.Type != "message" {
		m.Fields = append(m.Fields, explain.Field{Name: "type", Value: i.Type})
	}
	m.Fields = append(m.Fields, explain.Field{Name: "phase", Value: i.Phase},
		explain.Field{Name: "to", Value: i.recipient()}, explain.Field{Name: "call", Value: i.CallID},
		explain.Field{Name: "approval of", Value: i.ApprovalRequest}, explain.Field{Name: "container", Value: i.Container})
	m.Channel = i.channel()
	m.Parts = append(i.parts(raw), hidden(raw)...)
	return m
}

// author returns who wrote the item.
func (i *item) author() string {
	switch {
	case i.Role != "":
		return i.Role
	case strings.HasSuffix(i.Type, "_output"), i.Type == "mcp_list_tools":
		return "tool"
	case i.Type == "mcp_approval_response":
		return "user"
	}
	return "assistant"
}

// recipient returns the name of the tool that the item calls or lists, with the group that it is in.
func (i *item) recipient() string {
	group := cmp.Or(i.Namespace, i.ServerLabel)
	if group == "" || i.Name == "" {
		return group + i.Name
	}
	return group + "." + i.Name
}

// channel returns the channel on which the model writes such items.
func (i *item) channel() string {
	switch {
	case i.Type == "reasoning":
		return harmony.Analysis
	case i.Role == "assistant" && i.Phase != "commentary":
		return harmony.Final
	case i.Type != "message" && i.author() == "assistant", i.Phase == "commentary":
		return harmony.Commentary
	}
	return ""
}

// parts returns the texts of the item.
func (i *item) parts(raw json.RawMessage) []explain.Part {
	var all []explain.Part
	add := func(label string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				all = append(all, explain.Part{Label: label, Text: text})
			}
		}
	}
	add("", contents(i.Content)...)
	if i.EncryptedContent != "" {
		add("", fmt.Sprintf("(%d bytes of encrypted content)", len(i.EncryptedContent)))
	}
	add("summary", contents(i.Summary)...)
	add("", text(i.Arguments), text(i.Input), text(i.Action), i.Code)
	for _, t := range i.Tools {
		add("", strings.TrimSuffix(t.Name+": "+t.Description, ": "))
	}
	if i.Approve != nil {
		add("", map[bool]string{true: "approved", false: "refused"}[*i.Approve])
	}
	add("reason", i.Reason)
	results := slices.Concat(contents(i.Output), contents(i.Outputs))
	if strings.HasSuffix(i.Type, "_output") {
		add("", results...)
	} else {
		add("output", results...)
	}
	add("error", text(i.Error))
	if len(all) == 0 && !known[i.Type] {
		add("", compact(raw))
	}
	return all
}

// known are the types whose items may be without a text. Any other item without a text is shown as its JSON.
var known = map[string]bool{"message": true, "reasoning": true, "function_call": true, "function_call_output": true,
	"custom_tool_call": true, "custom_tool_call_output": true, "mcp_call": true, "mcp_list_tools": true}

// sampledIDs is the member with the ids with which a model has written its answer.
const sampledIDs = ownMembers + "sampled_ids"

// idCount returns how many ids there are. Each has seven bits of it in a byte, and its last byte no eighth bit.
func idCount(stored string) (n int) {
	packed, _ := base64.RawURLEncoding.DecodeString(stored)
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// hidden returns the members of an item that the service has added.
func hidden(raw json.RawMessage) []explain.Part {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	var all []explain.Part
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := text(members[name])
		switch {
		case name == modelItems:
			all = append(all, forModel(members[name])...)
		case name == sampledIDs:
			all = append(all, explain.Part{Label: name, Text: strconv.Itoa(idCount(value)) + " ids, as the model sampled them"})
		case strings.HasPrefix(name, ownMembers) && value != "":
			all = append(all, explain.Part{Label: name + ", which clients do not see", Text: value})
		}
	}
	return all
}

// forModel returns the texts of the items that the model gets.
func forModel(raw json.RawMessage) []explain.Part {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return []explain.Part{{Label: modelItems, Text: compact(raw)}}
	}
	var all []explain.Part
	for _, raw := range list {
		var i item
		if json.Unmarshal(raw, &i) != nil {
			all = append(all, explain.Part{Label: modelItems, Text: compact(raw)})
			continue
		}
		label := strings.TrimSpace("for the model, " + i.Type + " " + i.recipient())
		for _, part := range i.parts(raw) {
			all = append(all, explain.Part{Label: strings.TrimSpace(label + " " + part.Label), Text: part.Text})
		}
	}
	return all
}

// contents returns the texts of a member that is a text, or a list of parts with texts. Other parts are shown as their
// JSON.
func contents(raw json.RawMessage) []string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return []string{text(raw)}
	}
	var all []string
	for _, raw := range parts {
		all = append(all, content(raw)...)
	}
	return all
}

// content returns the texts of one part, and the sources that it cites.
func content(raw json.RawMessage) []string {
	var part struct {
		Text, Refusal, Logs *string
		Annotations         []struct{ Type, Title, URL string }
	}
	if json.Unmarshal(raw, &part) != nil {
		return []string{compact(raw)}
	}
	t := cmp.Or(part.Text, part.Refusal, part.Logs)
	if t == nil {
		return []string{compact(raw)}
	}
	all := []string{*t}
	for _, a := range part.Annotations {
		if a.URL != "" {
			all = append(all, "("+a.Type+": "+strings.TrimSpace(a.Title+" "+a.URL)+")")
		}
	}
	return all
}

// text returns a member as text: a text itself, or its JSON. A member that is absent or null has none.
func text(raw json.RawMessage) string {
	t := ""
	if len(raw) == 0 || json.Unmarshal(raw, &t) == nil {
		return t
	}
	return compact(raw)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
