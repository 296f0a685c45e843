//go:build e2e

package fields

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
)

// fieldAPI is an API of whose requests every field is looked at.
type fieldAPI struct {
	path, schema, table string
	// turns is the member with the conversation.
	turns string
	// surround adds to a body what it needs to be a request that is served, where the schema does not say so.
	surround func(body map[string]any) map[string]any
	// examples are the values of fields of which not every value is for this gateway, or that say nothing by themselves.
	examples map[string]any
	// refusedWords are the schema's words that a field which is taken may not have by default.
	refusedWords map[string]bool
	// tolerated are mistakes by OpenAI's schema that are none here, with the reason. Every one of them must come up.
	tolerated map[string]string
	// alsoNamed are the places that an error may name in stead of the field's.
	alsoNamed map[string]string
	handMade  []handMade
}

// field is one place in a request that OpenAI's schema names.
type field struct {
	// name is how the table calls it: [] for an element, (x) for the form whose type or role is x.
	name string
	// param is how an error calls it in the body that put makes.
	param string
	// limits are the schemas of the JSON types that it may have.
	limits map[string]map[string]any
	// element says that it is an element or a form of its parent, and not a member with a name.
	element, form bool
	required      bool
	// example is a value that is allowed, and put makes a request of any value; absent leaves the field out.
	example any
	put     func(value any) map[string]any
}

// absent is the value of a member that is not there; surround takes it out.
var absent = new(struct{})

// fields are all fields of the API's requests, with what is in them, in the order of their names. Fields inside one
// that the table gives up as a whole are not among them.
func (api *fieldAPI) fields(t *testing.T) []field {
	t.Helper()
	w := &fieldWalk{api: api, definitions: grammar.ReadSchemas(t)["$defs"].(map[string]any), closed: map[string]bool{}}
	for name, row := range api.readTable(t) {
		w.closed[name] = row.isWhole()
	}
	w.tighten()
	root := w.resolve(w.definitions[api.schema])[0]
	w.members("", "", root, func(m map[string]any) map[string]any { return api.surround(m) })
	slices.SortStableFunc(w.found, func(a, b field) int { return strings.Compare(a.name, b.name) })
	// A form may have several schemas, and its fields the first that they come in.
	return slices.CompactFunc(w.found, func(a, b field) bool { return a.name == b.name })
}

func or(body map[string]any, member string, other any) any {
	if v, ok := body[member]; ok {
		return v
	}
	return other
}

// fieldWalk finds the fields of a schema.
type fieldWalk struct {
	api *fieldAPI
	// closed are the fields below which nothing is looked for.
	closed      map[string]bool
	definitions map[string]any
	found       []field
}

// tighten adds what the schema leaves out: the form of an answer is nothing without its schema, tools that are allowed
// have names, a result names its call, and a reference says that it is one.
func (w *fieldWalk) tighten() {
	format := w.definitions["ResponseFormatJsonSchema"].(map[string]any)["properties"].(map[string]any)["json_schema"].(map[string]any)
	format["required"] = append(format["required"].([]any), "schema")
	allowed := w.definitions["ChatCompletionAllowedTools"].(map[string]any)["properties"].(map[string]any)["tools"].(map[string]any)
	allowed["items"].(map[string]any)["example"] = map[string]any{"type": "function",
		"function": map[string]any{"name": "x"}}
	allowed = w.definitions["ToolChoiceAllowed"].(map[string]any)["properties"].(map[string]any)["tools"].(map[string]any)
	allowed["items"].(map[string]any)["example"] = map[string]any{"type": "function", "name": "x"}
	result := w.definitions["FunctionCallOutputItemParam"].(map[string]any)
	result["required"] = append(result["required"].([]any), "call_id")
	search := w.definitions["ToolSearchToolParam"].(map[string]any)
	search["required"] = append(search["required"].([]any), "execution")
	search["properties"].(map[string]any)["execution"] = map[string]any{
		"type": "string", "enum": []any{"client", "server"}} // the first is the example
	reference := w.definitions["ItemReferenceParam"].(map[string]any)["properties"].(map[string]any)
	reference["type"] = map[string]any{"type": "string", "enum": []any{"item_reference"}}
}

// resolve returns the plain alternatives of a schema: without references, combinations, and null.
func (w *fieldWalk) resolve(schema any) []map[string]any {
	s := schema.(map[string]any)
	switch {
	case s["$ref"] != nil:
		return w.resolve(w.definitions[grammar.DefinitionName(s)])
	case s["allOf"] != nil:
		whole := map[string]any{"type": "object", "properties": map[string]any{}}
		var required []any
		for _, part := range s["allOf"].([]any) {
			for _, one := range w.resolve(part) {
				properties, _ := one["properties"].(map[string]any)
				maps.Copy(whole["properties"].(map[string]any), properties)
				more, _ := one["required"].([]any)
				required = append(required, more...)
			}
		}
		whole["required"] = required
		return []map[string]any{whole}
	}
	var all []map[string]any
	for _, key := range []string{"oneOf", "anyOf"} {
		alternatives, _ := s[key].([]any)
		for _, each := range alternatives {
			all = append(all, w.resolve(each)...)
		}
	}
	if all == nil && s["type"] != "null" {
		all = []map[string]any{s}
	}
	return all
}

// members walks the members of an object that put makes a request of.
func (w *fieldWalk) members(name, param string, object map[string]any, put func(map[string]any) map[string]any) {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	tag, _ := discriminator(object)
	for _, member := range slices.Sorted(maps.Keys(properties)) {
		if member == tag {
			continue
		}
		w.walk(field{
			name: memberOf(name, member), param: memberOf(param, member), required: slices.Contains(required, any(member)),
			put: func(value any) map[string]any {
				whole := w.object(object)
				if name == "" { // what surround adds
					delete(whole, "model")
					delete(whole, w.api.turns)
				}
				whole[member] = value
				if value == absent && name != "" {
					delete(whole, member)
				}
				return put(whole)
			},
		}, properties[member])
	}
}

// walk adds a field and what is below it.
func (w *fieldWalk) walk(f field, schema any) {
	alternatives := w.resolve(schema)
	f.limits = map[string]map[string]any{}
	objects := 0
	for _, one := range alternatives {
		kind, ok := one["type"].(string)
		if !ok {
			for _, kind := range []string{"string", "boolean", "number", "array", "object"} {
				f.limits[kind] = map[string]any{} // anything goes
			}
			continue
		}
		// Of a closed and an open set of strings the open one counts.
		if old, ok := f.limits[kind]; !ok || old["enum"] != nil {
			f.limits[kind] = one
		}
		if kind == "object" {
			objects++
		}
	}
	if f.example = w.api.examples[f.name]; f.example == nil {
		f.example = w.example(alternatives[0])
	}
	w.found = append(w.found, f)
	if w.closed[f.name] {
		return
	}
	for _, one := range alternatives {
		switch one["type"] {
		case "object":
			if tag, value := discriminator(one); tag != "" {
				form := field{
					name: f.name + "(" + value + ")", param: f.param, form: true,
					limits: map[string]map[string]any{"object": one}, example: w.object(one), put: f.put,
				}
				w.found = append(w.found, form)
				if w.closed[form.name] {
					continue
				}
				w.members(form.name, f.param, one, func(m map[string]any) map[string]any { return f.put(m) })
			} else {
				w.members(f.name, f.param, one, func(m map[string]any) map[string]any { return f.put(m) })
			}
			if values, ok := one["additionalProperties"].(map[string]any); ok {
				w.walk(field{
					name: f.name + ".*", param: f.param + ".1", element: true,
					put: func(value any) map[string]any { return f.put(map[string]any{"1": value}) },
				}, values)
			}
		case "array":
			at := 0
			if f.name == w.api.turns {
				at = 2 // what surround puts before
			}
			w.walk(field{
				name: f.name + "[]", param: fmt.Sprintf("%s[%d]", f.param, at), element: true,
				put: func(value any) map[string]any { return f.put([]any{value}) },
			}, one["items"])
		}
	}
}

// discriminator is the member that names an object's form, and its one value.
func discriminator(object map[string]any) (member, value string) {
	properties, _ := object["properties"].(map[string]any)
	for _, member := range []string{"type", "role"} {
		property, _ := properties[member].(map[string]any)
		if values, ok := property["enum"].([]any); ok && len(values) == 1 {
			return member, values[0].(string)
		}
	}
	return "", ""
}

// example is the least value that a schema without alternatives allows.
func (w *fieldWalk) example(schema map[string]any) any {
	if example := schema["example"]; example != nil {
		return example
	}
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	switch schema["type"] {
	case "string":
		return "x"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{w.example(w.resolve(schema["items"])[0])}
	default:
		return w.object(schema)
	}
}

// Object is an object with what it must have, and its form.
func (w *fieldWalk) object(schema map[string]any) map[string]any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, member := range required {
		if property, ok := properties[member.(string)]; ok {
			out[member.(string)] = w.example(w.resolve(property)[0])
		}
	}
	if tag, value := discriminator(schema); tag != "" {
		out[tag] = value
	}
	return out
}

func memberOf(at, member string) string {
	if at == "" {
		return member
	}
	return at + "." + member
}
