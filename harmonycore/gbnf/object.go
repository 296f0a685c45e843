package gbnf

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// object returns the rule of a schema of objects. Members stand in their order in the schema. Others are behind them,
// and only if the schema speaks of them, or of no member at all.
func (w *Writer) object(v *rawjson.Value, depth int) string {
	declared, needed := 0, 0
	if properties := v.Get("properties"); properties != nil {
		declared = len(properties.Members)
	}
	if names := v.Get("required"); names != nil {
		needed = len(names.Elements)
	}
	if declared > maxMembers || needed > maxMembers || !w.spend(declared*needed) {
		return w.unheld(anyObject)
	}
	members, required := w.members(v, depth)
	other := w.others(v, len(members), depth)
	switch {
	case len(members) == 0 && other == "":
		return w.rule([]byte(`"{" w "}"`))
	case len(members) == 0 && other == anyValue:
		return anyObject
	}
	pair := ""
	if other != "" {
		pair = w.rule([]byte(`string w ":" w ` + other + " w"))
	}
	// rests are what may follow a member: the other members behind it.
	rests := make([]string, len(members)+1)
	if pair != "" {
		rests[len(members)] = w.rule([]byte(`("," w ` + pair + ")*"))
	}
	for i := len(members) - 1; i > 0; i-- {
		body := append([]byte(`("," w `), members[i]...)
		body = append(body, ')')
		if !required[i] {
			body = append(body, '?')
		}
		rests[i] = w.rule(append(append(body, ' '), rests[i+1]...))
	}
	body := []byte(`"{" w (`)
	last := false
	for i := range members {
		if i > 0 {
			body = append(body, " | "...)
		}
		body = append(append(append(body, members[i]...), ' '), rests[i+1]...)
		if last = required[i]; last {
			break
		}
	}
	if !last && pair != "" {
		if len(members) > 0 {
			body = append(body, " | "...)
		}
		body = append(append(append(body, pair...), ' '), rests[len(members)]...)
	}
	if body = append(body, ')'); !last {
		body = append(body, '?')
	}
	return w.rule(append(body, ` "}"`...))
}

// members returns the rules of the members that a schema declares or requires, and which of them it requires.
func (w *Writer) members(v *rawjson.Value, depth int) (rules []string, required []bool) {
	properties, names := v.Get("properties"), v.Get("required")
	if properties != nil && properties.Kind == rawjson.Object {
		for i := range properties.Members {
			m := &properties.Members[i]
			rules = append(rules, w.member(m.Key, w.schema(&m.Value, depth+1)))
			required = append(required, lists(names, m.Key))
		}
	}
	if names == nil || names.Kind != rawjson.Array {
		return rules, required
	}
	for i := range names.Elements {
		if name := names.Elements[i].Text; properties.Get(name) == nil {
			rules = append(rules, w.member(name, anyValue))
			required = append(required, true)
		}
	}
	return rules, required
}

// member returns the rule of a member.
func (w *Writer) member(name, value string) string {
	key := rawjson.AppendString(nil, name)
	body := appendQuoted(nil, rawjson.View(key))
	return w.rule(append(append(append(body, ` w ":" w `...), value...), " w"...))
}

// others returns the rule of the values of members that are not declared, or an empty string if there are none.
func (w *Writer) others(v *rawjson.Value, declared, depth int) string {
	more := v.Get("additionalProperties")
	switch {
	case more == nil && declared == 0:
		return anyValue
	case more == nil, more.Kind == rawjson.Bool && !more.Bool:
		return ""
	default:
		return w.schema(more, depth+1)
	}
}

// lists reports whether a list of names has a name.
func lists(names *rawjson.Value, name string) bool {
	if names == nil {
		return false
	}
	for i := range names.Elements {
		if names.Elements[i].Text == name {
			return true
		}
	}
	return false
}
