//go:build e2e

package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file is the part of the grammar for the items of hosted tools, which a service runs itself:
//
//	item = output_item.added  stage*  output_item.done
//
// Only a call has a status, and only the text of a call comes in deltas.

// hostedForm is the form of an item of hosted tools. prefix begins the names of its events, and stages are the rests of
// them, in order. Of alternatives one comes. A stage that ends in ".delta" comes any number of times, for the text in
// the member whole. check looks at an item that is done, and returns the members that may have changed since it opened.
type hostedForm struct {
	prefix string
	stages []string
	whole  string
	check  func(h *hostedItem, item, open Object) (changed []string, err error)
}

var hostedForms = map[string]hostedForm{
	"mcp_list_tools": {prefix: "response.mcp_list_tools", stages: []string{".in_progress", ".completed|.failed"},
		check: (*hostedItem).listed},
	"mcp_call": {prefix: "response.mcp_call", whole: "arguments",
		stages: []string{".in_progress", "_arguments.delta", "_arguments.done", ".completed|.failed"},
		check:  (*hostedItem).called},
	"mcp_approval_request": {check: (*hostedItem).requested},
	"web_search_call": {prefix: "response.web_search_call", stages: []string{".in_progress", ".searching", ".completed"},
		check: (*hostedItem).searched},
	"code_interpreter_call": {prefix: "response.code_interpreter_call", whole: "code",
		stages: []string{".in_progress", "_code.delta", "_code.done", ".interpreting", ".completed"},
		check:  (*hostedItem).interpreted},
	serverSearch: {check: (*hostedItem).looked},
	searchOutput: {check: (*hostedItem).found},
}

// serverSearch is a search for tools that the server runs, which has the type of a client's. searchOutput is what it
// has found.
const (
	serverSearch = "tool_search_call of a server"
	searchOutput = "tool_search_output"
)

// formName returns the name of an item's form: its type, or [serverSearch].
func formName(item Object) string {
	kind, _ := item["type"].(string)
	if kind == "tool_search_call" && item["execution"] == "server" {
		return serverSearch
	}
	return kind
}

// hostedItem is an open item of hosted tools: the stage that comes next, its text so far, and how it has ended.
type hostedItem struct {
	form     hostedForm
	next     int
	text     strings.Builder
	textDone bool
	outcome  string
}

// The ends of an item.
const (
	completed = ".completed"
	failed    = ".failed"
)

// added looks at an item that opens.
func (f hostedForm) added(item Object) error {
	tools, _ := item["tools"].([]any)
	text, _ := item[f.whole].(string)
	switch kind := item["type"]; {
	case text != "":
		return errors.New("a call begins with its text")
	case item["error"] != nil || item["output"] != nil || item["outputs"] != nil:
		return errors.New("an item begins with its end")
	case kind == "mcp_list_tools" && (tools == nil || len(tools) > 0):
		return errors.New("a list begins without an empty list")
	case kind == "mcp_list_tools" || kind == "mcp_approval_request":
		return nil
	case kind == searchOutput:
		if item["execution"] != "server" || item["call_id"] != nil {
			return errors.New("the output of a search of a client's")
		}
		return nil
	case kind == "tool_search_call" && (item["call_id"] != nil || !isEmptyCall(item, itemForm{whole: "arguments"})):
		return errors.New("a search begins with its arguments, or with an id")
	case item["status"] != "in_progress":
		return errors.New("a call begins in another state than in_progress")
	}
	return nil
}

// event is an event of the open item.
func (h *hostedItem) event(name string, e Object) error {
	rest, ours := strings.CutPrefix(name, h.form.prefix)
	for ; ours && h.form.prefix != "" && h.next < len(h.form.stages); h.next++ {
		stage := h.form.stages[h.next]
		if slices.Contains(strings.Split(stage, "|"), rest) {
			return h.stage(rest, e)
		}
		if !strings.HasSuffix(stage, ".delta") {
			break
		}
	}
	return errors.New("out of order, or not an event of this item")
}

// stage is the event of the next stage.
func (h *hostedItem) stage(name string, e Object) error {
	if strings.HasSuffix(name, ".delta") {
		delta, _ := e["delta"].(string)
		h.text.WriteString(delta)
		if delta == "" || !utf8.ValidString(delta) {
			return errors.New("a delta without text, or not UTF-8")
		}
		return nil
	}
	h.next++
	switch {
	case strings.HasSuffix(name, ".done"):
		h.textDone = true
		if e[h.form.whole] != h.text.String() {
			return fmt.Errorf("the deltas add up to %q", h.text.String())
		}
	case name == completed || name == failed:
		h.outcome = name
	}
	return nil
}

// done looks at the whole item, which was opened as open.
func (h *hostedItem) done(item, open Object) error {
	members, err := h.form.check(h, item, open)
	if err != nil {
		return err
	}
	changed := Object{}
	for _, member := range members {
		if value, ok := item[member]; ok {
			changed[member] = value
		}
	}
	if h.form.whole != "" {
		if !h.textDone {
			return errors.New("an item is done whose text is not")
		}
		changed[h.form.whole] = h.text.String()
	}
	return sameBut(item, open, changed)
}

// ends says in which status an item is done that has ended in a way; "" is without an end.
func (h *hostedItem) ends(item Object, statuses map[string][]string) error {
	status, _ := item["status"].(string)
	if !slices.Contains(statuses[h.outcome], status) {
		return fmt.Errorf("a call is %s whose last event is %q", status, h.outcome)
	}
	return nil
}

func (h *hostedItem) listed(item, _ Object) ([]string, error) {
	tools, _ := item["tools"].([]any)
	text, _ := item["error"].(string)
	switch {
	case h.outcome == "":
		return nil, errors.New("a list that has neither failed nor succeeded")
	case (h.outcome == failed) != (text != ""):
		return nil, errors.New("a list that failed without an error, or did not fail with one")
	case h.outcome == failed && len(tools) > 0:
		return nil, errors.New("a list that failed has tools")
	}
	return []string{"tools", "error"}, nil
}

func (h *hostedItem) called(item, _ Object) ([]string, error) {
	err := h.ends(item, map[string][]string{completed: {"completed"}, failed: {"failed"}, "": {"incomplete"}})
	output, isText := item["output"].(string)
	fault, _ := item["error"].(Object)
	switch {
	case err != nil:
		return nil, err
	case isText != (h.outcome == completed):
		return nil, fmt.Errorf("the output %q of a call that has ended by %q", output, h.outcome)
	case (fault != nil) != (h.outcome == failed):
		return nil, fmt.Errorf("the error %v of a call that has ended by %q", fault, h.outcome)
	}
	return []string{"status", "output", "error"}, nil
}

func (h *hostedItem) requested(item, _ Object) ([]string, error) {
	if text, _ := item["arguments"].(string); text == "" {
		return nil, errors.New("a request for an approval of nothing")
	}
	return nil, nil
}

func (h *hostedItem) searched(item, open Object) ([]string, error) {
	err := h.ends(item, map[string][]string{completed: {"completed"}, "": {"failed"}})
	action, _ := item["action"].(Object)
	begun, _ := open["action"].(Object)
	if err == nil && (action["type"] == nil || action["type"] != begun["type"]) {
		err = errors.New("a search ends as another than it began")
	}
	return []string{"status", "action"}, err
}

func (h *hostedItem) interpreted(item, _ Object) ([]string, error) {
	err := h.ends(item, map[string][]string{completed: {"completed"}, "": {"failed", "incomplete"}})
	return []string{"status", "outputs"}, err
}

func (h *hostedItem) looked(item, _ Object) ([]string, error) {
	return []string{"status", "arguments"}, h.ends(item, map[string][]string{"": {"completed", "incomplete"}})
}

func (h *hostedItem) found(item, _ Object) ([]string, error) {
	tools, _ := item["tools"].([]any)
	err := h.ends(item, map[string][]string{"": {"completed", "incomplete"}})
	if err == nil && item["status"] != "completed" && len(tools) > 0 {
		err = errors.New("a search that has not ended has found tools")
	}
	return nil, err
}

// citesText says that annotations of a text are within it, one behind the other. They count characters.
func citesText(annotations []any, text string) error {
	size, at := utf8.RuneCountInString(text), 0.0
	for _, annotation := range annotations {
		a, _ := annotation.(Object)
		if a["type"] != "url_citation" {
			continue
		}
		from, _ := a["start_index"].(float64)
		to, _ := a["end_index"].(float64)
		if from < at || to <= from || to > float64(size) {
			return fmt.Errorf("a citation from %v to %v, of %d characters and after %v", from, to, size, at)
		}
		at = to
	}
	return nil
}
