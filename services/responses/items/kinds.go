package items

import (
	"crypto/rand"
	"encoding/hex"
)

// The types of items that the service looks into.
const (
	TypeMessage   = "message"
	TypeReasoning = "reasoning"
	TypeReference = "item_reference"
	// TypeCompaction is an item that stands for others, and TypeTrigger one that asks for it.
	TypeCompaction = "compaction"
	TypeTrigger    = "compaction_trigger"
	// TypeUpdate is an item that changes the effort or the form of the answer.
	TypeUpdate = "configuration_update"
	// TypeTools is an item that declares tools. A search for tools is a TypeToolSearch, and has found those of a
	// TypeSearchOutput.
	TypeTools        = "additional_tools"
	TypeToolSearch   = "tool_search_call"
	TypeSearchOutput = "tool_search_output"
)

// The types of items of tools that the service runs.
const (
	TypeListTools        = "mcp_list_tools"
	TypeMCPCall          = "mcp_call"
	TypeApprovalRequest  = "mcp_approval_request"
	TypeApprovalResponse = "mcp_approval_response"
	TypeSearchCall       = "web_search_call"
	TypeCodeCall         = "code_interpreter_call"
)

// The namespaces of gpt-oss's own tools.
const (
	BrowserNamespace   = "browser"
	PythonNamespace    = "python"
	ContainerNamespace = "container"
)

// HiddenText is the member of a stored item whose text its client may not see: reasoning, or a compacted conversation.
// It is no member of the API.
const HiddenText = HiddenPrefix + "text"

// HiddenPrefix begins the names of members that only the service sees.
const HiddenPrefix = "harmony_"

// The members of items that no client can see or write. hiddenItems are what the model gets in place of the item, and
// hiddenClient is the id by which the browser's server knows the chain.
const (
	HiddenItems  = HiddenPrefix + "items"
	HiddenClient = HiddenPrefix + "client"
)

// Prefixes begin the ids of items, by type.
var Prefixes = map[string]string{
	TypeMessage:               "msg",
	TypeReasoning:             "rs",
	TypeCompaction:            "cmp",
	"function_call":           "fc",
	"function_call_output":    "fco",
	"custom_tool_call":        "ctc",
	"custom_tool_call_output": "ctco",
	"local_shell_call":        "lsh",
	"local_shell_call_output": "lsho",
	"shell_call":              "sh",
	"shell_call_output":       "sho",
	"apply_patch_call":        "apc",
	"apply_patch_call_output": "apco",
	TypeTools:                 "at",
	TypeToolSearch:            "tsc",
	TypeSearchOutput:          "tso",
	TypeListTools:             "mcpl",
	TypeMCPCall:               "mcp",
	TypeApprovalRequest:       "mcpr",
	TypeApprovalResponse:      "mcpa",
	TypeSearchCall:            "ws",
	TypeCodeCall:              "ci",
}

// NewID returns an id that nobody can guess.
func NewID(prefix string) string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + "_" + hex.EncodeToString(b[:])
}

// BuiltinItem returns the type of the item for a call of one of gpt-oss's own tools.
func BuiltinItem(namespace string) string {
	switch namespace {
	case BrowserNamespace:
		return TypeSearchCall
	case PythonNamespace:
		return TypeCodeCall
	}
	return TypeMCPCall
}

// The values of include that stored items need.
const (
	IncludeSealed   = "reasoning.encrypted_content"
	IncludeLogprobs = "message.output_text.logprobs"
	// includeCodeOutputs shows what code has printed, and includeSources which pages were opened from a search.
	includeCodeOutputs = "code_interpreter_call.outputs"
	includeSources     = "web_search_call.action.sources"
)
