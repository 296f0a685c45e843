//go:build e2e

package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// This file reads the blocks of tools that a server runs.

// isCall says that a type of block is a call.
func isCall(kind string) bool { return kind == "tool_use" || isServedCall(kind) }

// isServedCall says that a type of block is a call that a server runs.
func isServedCall(kind string) bool { return kind == "server_tool_use" || kind == "mcp_tool_use" }

// isServed says that a type of block is of a tool that a server runs.
func isServed(kind string) bool { return isServedCall(kind) || servedBy(kind) != "" }

// servedBy is the type of the call of a result, or empty.
func servedBy(kind string) string {
	switch kind {
	case "web_search_tool_result":
		return "server_tool_use"
	case "mcp_tool_result":
		return "mcp_tool_use"
	}
	return ""
}

// answersServed says that the last block is no call that a server runs: its result comes next.
func answersServed(before []any) error {
	if n := len(before); n > 0 && isServedCall(fmt.Sprint(before[n-1].(Object)["type"])) {
		return errors.New("a call of a server's without its result")
	}
	return nil
}

// isServedBlock looks at a block of a tool that a server runs. Of calls and their results each pair stands together.
func isServedBlock(block Object, members []string, before []any, ids map[string]bool) error {
	if err := hasOnly(block, members...); err != nil {
		return err
	}
	last := Object{}
	if n := len(before); n > 0 {
		last = before[n-1].(Object)
	}
	if last["type"] == "tool_use" {
		return errors.New("a block of a server's behind a call of the client's")
	}
	kind := block["type"].(string)
	if call := servedBy(kind); call != "" {
		if last["type"] != call || last["id"] != block["tool_use_id"] {
			return errors.New("a result that does not follow its call")
		}
		return isServedResult(kind, block)
	}
	if err := answersServed(before); err != nil {
		return err
	}
	id, _ := block["id"].(string)
	name, _ := block["name"].(string)
	_, isObject := block["input"].(Object)
	prefix := map[string]string{"server_tool_use": "srvtoolu_", "mcp_tool_use": "mcptoolu_"}[kind]
	if !strings.HasPrefix(id, prefix) || ids[id] || name == "" || !isObject ||
		kind == "server_tool_use" && name != "web_search" {
		return errors.New("not a call of a server's with an id, a name and an input")
	}
	ids[id] = true
	return nil
}

// isServedResult looks at what a call has returned.
func isServedResult(kind string, block Object) error {
	list, isList := block["content"].([]any)
	if failed, isObject := block["content"].(Object); isObject && kind == "web_search_tool_result" {
		if failed["type"] != "web_search_tool_result_error" ||
			!slices.Contains([]any{"unavailable", "max_uses_exceeded"}, failed["error_code"]) {
			return errors.New("not an error of a search")
		}
		return hasOnly(failed, "type", "error_code")
	}
	if !isList || len(list) == 0 {
		return errors.New("a result without content")
	}
	for _, v := range list {
		part, _ := v.(Object)
		want, members := "web_search_result", []string{"type", "url", "title", "encrypted_content", "page_age"}
		if kind == "mcp_tool_result" {
			want, members = "text", []string{"type", "text"}
		}
		if part["type"] != want {
			return fmt.Errorf("not a part of a %s", kind)
		}
		for _, member := range members {
			if _, isText := part[member].(string); !isText && member != "page_age" {
				return fmt.Errorf("%s is not a text", member)
			}
		}
		if err := hasOnly(part, members...); err != nil {
			return err
		}
	}
	return nil
}

// areCitations looks at the citations of a text.
func areCitations(citations any) error {
	list, _ := citations.([]any)
	if len(list) == 0 {
		return errors.New("no citations")
	}
	for _, v := range list {
		c, _ := v.(Object)
		url, _ := c["url"].(string)
		if err := hasOnly(c, "type", "url", "title", "encrypted_index", "cited_text"); err != nil {
			return err
		}
		if c["type"] != "web_search_result_location" || !strings.HasPrefix(url, "http") {
			return errors.New("not a citation of a page")
		}
	}
	return nil
}

// countsServed looks at the counts of tools that a server has run.
func countsServed(counts any) error {
	c, _ := counts.(Object)
	if n, isNumber := c["web_search_requests"].(float64); !isNumber || n < 0 || c["web_fetch_requests"] != 0. {
		return fmt.Errorf("not counts of tools: %v", counts)
	}
	return hasOnly(c, "web_search_requests", "web_fetch_requests")
}
