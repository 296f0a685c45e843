package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The types of items that declare tools where they stand.
const (
	itemAdditionalTools = "additional_tools"
	itemSearchCall      = "tool_search_call"
	itemSearchOutput    = "tool_search_output"
)

const (
	// typeToolSearch is a tool of the Responses API that finds other tools. executionClient is its execution if the client
	// runs it. The model then sees a function of this name.
	typeToolSearch  = "tool_search"
	executionClient = "client"
	// plainNamespace is the name of the namespace in which the model finds the functions that are in none.
	plainNamespace = "functions"
)

// Declaration is tools that stand in the input.
type Declaration struct {
	// Before is the index in [ResponsesRequest.Input] of the item before which they stand, or its length.
	Before int
	Tools  []Tool
	// Element is the index of the element that declares them.
	Element int
}

func countTools(declared []Declaration) (n int) {
	for i := range declared {
		n += len(declared[i].Tools)
	}
	return n
}

// readToolSearch reads the client's search for tools.
func (r *toolReader) readToolSearch(at string, f *toolFields) *Error {
	r.search = true
	tool := Tool{Name: typeToolSearch, Search: true}
	if err := f.description.text(join(at, "description"), &tool.Description); err != nil {
		return err
	}
	if err := f.parameters.schema(join(at, "parameters"), &tool); err != nil {
		return err
	}
	return r.add(join(at, "type"), &tool)
}

// SearchArguments appends the arguments of a call of tool_search as JSON: the object that they are, or else a string.
func SearchArguments(dst, arguments []byte) []byte {
	if rawjson.Validate(arguments, rawjson.MaxDepth) == nil {
		if from := rawjson.Space(arguments, 0); from < len(arguments) && arguments[from] == '{' {
			return rawjson.AppendCompact(dst, arguments)
		}
	}
	return rawjson.AppendString(dst, rawjson.View(arguments))
}

// appendSearchCall appends the members of a call of tool_search behind its id. Without content it has just begun.
func (o *OutputItem) appendSearchCall(dst []byte, content bool) []byte {
	dst = appendMember(dst, `,"type":"tool_search_call","status":`, o.Status)
	dst = append(dst, `,"execution":"client","arguments":`...)
	if content {
		dst = append(dst, o.Text...)
	} else {
		dst = append(dst, "{}"...)
	}
	return appendMember(dst, `,"call_id":`, o.CallID)
}

// declaredNames is what is known of the tools of a request while its input is read.
type declaredNames struct {
	// latest has the last declaration of each tool, by its namespace, a dot and its name.
	latest map[string]declaredTool
	// leading are the tools that the input begins with, among so many instructions. items is how many items had tools.
	leading             []Tool
	instructions, items int
	// element is the element that is read.
	element Lasting
	// searches are the ids of the calls of tool_search.
	searches map[string]bool
	// unshown has the tools that were withdrawn from those in front, each with the number of leading ones up to there.
	unshown map[string]int
}

// declaredTool is a tool, and which of the items with tools it is from. Those of the request itself are 0. gone reports
// whether it was withdrawn since then.
type declaredTool struct {
	*Tool
	item int
	gone bool
}

// readAdditionalTools reads an item that declares tools.
func (r *ResponsesRequest) readAdditionalTools(at string, f *itemFields) *Error {
	if !f.tools.given() {
		return missing(join(at, "tools"))
	}
	if r.leads() {
		r.Leading = r.declared.element.Element + 1
	}
	_, err := r.declare(join(at, "tools"), f.tools, len(r.Input), false)
	return err
}

// readSearchCall reads a call of tool_search.
func (r *ResponsesRequest) readSearchCall(at string, f *itemFields) (item InputItem, err *Error) {
	item = InputItem{Kind: ItemCall, Name: typeToolSearch, Arguments: "{}"}
	if err = f.readSearchID(at, &item); err != nil {
		return item, err
	}
	if f.arguments.given() {
		item.Arguments, err = f.arguments.textOrJSON(join(at, "arguments"))
	}
	if r.declared.searches == nil {
		r.declared.searches = map[string]bool{}
	}
	r.declared.searches[item.CallID] = true
	return item, err
}

// readSearchID reads the id that connects a search with its output. A search that a server has run has none: its output
// follows it.
func (f *itemFields) readSearchID(at string, item *InputItem) *Error {
	if f.callID.given() {
		return f.readCallID(at, item)
	}
	item.CallID = typeToolSearch
	return nil
}

// readSearchOutput reads the tools that a search has found. They are declared from here on. The model sees a result
// too, if the call is in the input.
func (r *ResponsesRequest) readSearchOutput(at string, f *itemFields) (item InputItem, err *Error) {
	if err = f.readSearchID(at, &item); err != nil {
		return item, err
	}
	n, before := 0, len(r.Input)
	if r.declared.searches[item.CallID] {
		item.Kind, before = ItemCallOutput, before+1
	} else if r.follows != nil && r.declared.element.Element >= r.follows.Elements {
		return item, Invalid(at, "Invalid '"+at+"': its call is out of sight.") // no client sees it
	}
	if f.tools.given() {
		n, err = r.declare(join(at, "tools"), f.tools, before, true)
	}
	item.Content = []string{foundText(n)}
	return item, err
}

// foundText is the result of a search for the model, which is shown the tools themselves behind it.
func foundText(n int) string {
	switch n {
	case 0:
		return "No tools were found."
	case 1:
		return "1 tool was found. It can be called from now on."
	}
	return strconv.Itoa(n) + " tools were found. They can be called from now on."
}

// declare reads tools that stand before the item at this index of the input, and returns how many these are. found
// reports whether a search has found them. Tools that are declared already, just as they are, are not declared again.
// All tools of a request together may be as long as its own tools.
func (r *ResponsesRequest) declare(param string, v value, before int, found bool) (n int, err *Error) {
	if r.toolBytes+len(v.raw) > MaxTools {
		return 0, Invalid(param, "Invalid '"+param+"': with the tools before them these are larger than the limit of "+
			strconv.Itoa(MaxTools)+" bytes.")
	}
	reader := toolReader{}
	err = v.elements(param, func(_ int, at string, v value) *Error {
		f, err := v.toolFields(at)
		if err != nil || !reader.shows(&f) {
			return err
		}
		return reader.read(at, &f)
	})
	if err != nil {
		return 0, err
	}
	n = len(reader.tools)
	if fresh := r.takeNew(reader.tools, found); len(fresh) > 0 {
		r.toolBytes += len(v.raw)
		r.place(fresh, before)
	}
	return n, nil
}

// takeNew returns the tools that are not declared yet as they are. It overwrites the list.
func (r *ResponsesRequest) takeNew(tools []Tool, found bool) []Tool {
	d := &r.declared
	r.beginLatest(len(tools))
	d.items++
	fresh := tools[:0]
	for i := range tools {
		t := &tools[i]
		t.Deferred = t.Deferred && !found
		last, again := d.latest[t.key()]
		switch {
		case again && !last.gone && last.same(t):
		case again && last.item == d.items:
			*last.Tool = *t
		default:
			fresh = append(fresh, *t)
			d.latest[t.key()] = declaredTool{Tool: &fresh[len(fresh)-1], item: d.items}
		}
	}
	return fresh
}

// beginLatest begins the last declarations with the request's own tools. more is how many others there will be.
func (r *ResponsesRequest) beginLatest(more int) {
	d := &r.declared
	if d.latest != nil {
		return
	}
	d.latest = make(map[string]declaredTool, len(r.Tools)+more)
	for i := range r.Tools {
		d.latest[r.Tools[i].key()] = declaredTool{Tool: &r.Tools[i]}
	}
}

// place puts tools where the model is shown them: in front, if nothing but instructions came before them, or else where
// they stand. Servers that take conversations know one place only. A conversation whose turns may be left out has all
// tools in front. So are built-in tools.
func (r *ResponsesRequest) place(tools []Tool, before int) {
	d := &r.declared
	if r.isFront(before) {
		d.leading = append(d.leading, tools...)
		r.changesFront()
		return
	}
	r.lasts(false)
	later := make([]Tool, 0, len(tools))
	for i := range tools {
		if tools[i].BuiltIn {
			d.leading = append(d.leading, tools[i])
			r.turns(d.element.Element)
		} else {
			later = append(later, tools[i])
		}
	}
	r.Declared = append(r.Declared, Declaration{before, later, d.element.Element})
}

// isFront reports whether what is said of tools before the item at this index changes the tools in front.
func (r *ResponsesRequest) isFront(before int) bool {
	return r.leads() && before == len(r.Input) || r.keepsMedia || r.Truncate
}

// changesFront notes that the element that is read changes the tools in front.
func (r *ResponsesRequest) changesFront() {
	d := &r.declared
	if r.lasts(true); d.element.Element >= r.Leading {
		r.turns(d.element.Element)
	}
}

// leads reports whether there are only instructions among the items so far.
func (r *ResponsesRequest) leads() bool {
	d := &r.declared
	if f := r.follows; f != nil {
		if at := d.element.Element; at < f.Elements || !f.Joins {
			return at < f.Front
		}
	}
	for d.instructions < len(r.Input) && r.Input[d.instructions].isInstructions() {
		d.instructions++
	}
	return d.instructions == len(r.Input)
}

func (item *InputItem) isInstructions() bool {
	return item.Kind == ItemMessage && (item.Role == RoleSystem || item.Role == RoleDeveloper)
}

// key returns what a tool is known by. Neither part can have a dot in it.
func (t *Tool) key() string { return t.Namespace + "." + t.Name }

// same reports whether two tools of one key are the same in everything.
func (t *Tool) same(o *Tool) bool {
	return t.Description == o.Description && t.Custom == o.Custom && t.Grammar == o.Grammar &&
		t.LocalShell == o.LocalShell && t.Search == o.Search && t.Deferred == o.Deferred &&
		t.BuiltIn == o.BuiltIn && t.Strict == o.Strict &&
		t.NamespaceDescription == o.NamespaceDescription && string(t.Parameters) == string(o.Parameters)
}

// settleTools decides which tools the model is shown, when all have been read. Of tools of one name in front the last
// one is. Deferred tools are not shown if there is a search that could find them, unless the choice names them.
func (r *ResponsesRequest) settleTools() *Error {
	leading := r.declared.leading
	own := len(r.Tools)
	all := r.front()
	if !r.searched {
		r.turnsWithFirst(hasSearch, all)
	}
	searches := r.searched || hasSearch(all)
	for i := range r.Declared {
		searches = searches || hasSearch(r.Declared[i].Tools)
	}
	if searches {
		all = r.withoutDeferred(all)
		for i := range r.Declared {
			r.Declared[i].Tools = r.withoutDeferred(r.Declared[i].Tools)
		}
	}
	if len(leading) > 0 {
		all = lastOfEach(all)
		for i := range leading {
			if leading[i].BuiltIn {
				r.BuiltIns = append(r.BuiltIns, leading[i].Name)
			}
		}
	}
	r.OwnTools = len(leading)+len(r.declared.unshown) == 0 && (len(all) == own || r.searched &&
		len(all) == own-countDeferred(r.Tools))
	r.Withdrawn = r.declared.gone()
	r.declared = declaredNames{}
	var err *Error
	r.Tools, err = r.Choice.filter(all, r.Declared, r.Withdrawn)
	r.turnsWithFirst(hasFunctions, r.Tools)
	return err
}

func countDeferred(tools []Tool) (n int) {
	for i := range tools {
		if tools[i].Deferred {
			n++
		}
	}
	return n
}

// hasFunctions reports whether there are tools that stand in developer messages: then the system message names them.
func hasFunctions(tools []Tool) bool {
	for i := range tools {
		if !tools[i].BuiltIn {
			return true
		}
	}
	return false
}

func hasSearch(tools []Tool) bool {
	for i := range tools {
		if tools[i].Search {
			return true
		}
	}
	return false
}

// withoutDeferred returns the tools without those that a search has to find. It changes nothing in tools.
func (r *ResponsesRequest) withoutDeferred(tools []Tool) []Tool {
	n := 0
	for i := range tools {
		if r.hides(&tools[i]) {
			n++
		}
	}
	if n == 0 {
		return tools
	}
	kept := make([]Tool, 0, len(tools)-n)
	for i := range tools {
		if !r.hides(&tools[i]) {
			kept = append(kept, tools[i])
		}
	}
	return kept
}

func (r *ResponsesRequest) hides(t *Tool) bool { return t.Deferred && !r.Choice.mentions(t) }

// lastOfEach returns the last tool of each key, in their order.
func lastOfEach(tools []Tool) []Tool {
	last := make(map[string]int, len(tools))
	for i := range tools {
		last[tools[i].key()] = i
	}
	kept := make([]Tool, 0, len(last))
	for i := range tools {
		if last[tools[i].key()] == i {
			kept = append(kept, tools[i])
		}
	}
	return kept
}
