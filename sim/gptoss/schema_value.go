package gptoss

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// schemaDepth is how deep a value is made of all that its schema allows. Deeper values have only what they must, so
	// that a schema that contains itself comes to an end.
	schemaDepth = 6
	// refDepth is the longest chain of references that is followed.
	refDepth = 16
	// maxValues is how many values are made for a schema.
	maxValues = 10_000
	// patternBytes is the longest text that is made for a pattern.
	patternBytes = 4096
)

// schemaNode is what of a schema counts for a value of it.
type schemaNode struct {
	Ref              string                     `json:"$ref"`
	Type             json.RawMessage            `json:"type"`
	Enum             []json.RawMessage          `json:"enum"`
	Const            json.RawMessage            `json:"const"`
	AnyOf            []json.RawMessage          `json:"anyOf"`
	OneOf            []json.RawMessage          `json:"oneOf"`
	AllOf            []json.RawMessage          `json:"allOf"`
	Properties       map[string]json.RawMessage `json:"properties"`
	Required         []string                   `json:"required"`
	Items            json.RawMessage            `json:"items"`
	PrefixItems      []json.RawMessage          `json:"prefixItems"`
	MinItems         int                        `json:"minItems"`
	MaxItems         *int                       `json:"maxItems"`
	MinLength        int                        `json:"minLength"`
	MaxLength        *int                       `json:"maxLength"`
	Pattern          string                     `json:"pattern"`
	Format           string                     `json:"format"`
	Minimum          *float64                   `json:"minimum"`
	Maximum          *float64                   `json:"maximum"`
	ExclusiveMinimum *float64                   `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64                   `json:"exclusiveMaximum"`
	MultipleOf       float64                    `json:"multipleOf"`

	names []string // of the properties, in their order
}

// fits appends a value that fits a schema, made of the words of the message. References lead into root.
func (f *filler) fits(b *bytes.Buffer, schema, root json.RawMessage, depth int) {
	n := readSchema(schema, root)
	if f.made++; depth > tsDepth || f.made > maxValues {
		b.WriteString("null")
		return
	}
	switch kind := n.kind(); {
	case n.Const != nil:
		b.Write(n.Const)
	case len(n.Enum) > 0:
		b.Write(f.choose(n.Enum))
	case len(n.AnyOf) > 0:
		f.fits(b, alternative(n.AnyOf, root, depth), root, depth+1)
	case len(n.OneOf) > 0:
		f.fits(b, alternative(n.OneOf, root, depth), root, depth+1)
	case kind == "object":
		f.members(b, n, root, depth)
	case kind == "array":
		f.elements(b, n, root, depth)
	case kind == "integer" || kind == "number":
		b.WriteString(strconv.FormatFloat(n.bound(f.number(), kind == "integer"), 'f', -1, 64))
	case kind == "boolean":
		b.WriteString("true")
	case kind == "null":
		b.WriteString("null")
	default: // a string, or anything
		writeString(b, f.textFor(n))
	}
}

// readSchema reads a schema, follows its reference, and adds what its allOf asks for. A value that is no schema is a
// schema of anything.
func readSchema(schema, root json.RawMessage) *schemaNode {
	n := &schemaNode{}
	for range refDepth {
		n = &schemaNode{}
		if json.Unmarshal(schema, n) != nil {
			return &schemaNode{}
		}
		n.names = memberNames(schema, "properties")
		if n.Ref == "" {
			break
		}
		if schema = at(root, n.Ref); schema == nil {
			return &schemaNode{}
		}
	}
	if n.Ref != "" {
		return &schemaNode{} // it leads to itself
	}
	for _, one := range n.AllOf {
		n.add(one, root)
	}
	return n
}

// add adds what a schema of allOf asks for to what n has.
func (n *schemaNode) add(schema, root json.RawMessage) {
	other := &schemaNode{}
	for range refDepth {
		other = &schemaNode{}
		if json.Unmarshal(schema, other) != nil {
			return
		}
		if other.Ref == "" {
			break
		}
		schema = at(root, other.Ref)
	}
	outer := *n
	names := append(slices.Clone(n.names), memberNames(schema, "properties")...)
	properties := map[string]json.RawMessage{}
	for _, from := range []map[string]json.RawMessage{other.Properties, n.Properties} {
		for name, value := range from {
			properties[name] = value
		}
	}
	if outer.Type == nil && outer.Enum == nil && outer.Const == nil {
		*n = *other
	}
	n.Required = append(slices.Clone(outer.Required), other.Required...)
	n.Properties, n.names = properties, names
}

// at returns the schema that a reference within a document leads to, or nil.
func at(root json.RawMessage, ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if path == "" {
		return root
	}
	place := root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		var members map[string]json.RawMessage
		if json.Unmarshal(place, &members) != nil {
			return nil
		}
		place = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return place
}

// kind returns the type of a value: the first that is not null, or the one that other members speak of.
func (n *schemaNode) kind() string {
	var kinds []string
	if json.Unmarshal(n.Type, &kinds) != nil {
		kinds = make([]string, 1)
		_ = json.Unmarshal(n.Type, &kinds[0]) // without a type any value fits
	}
	for _, kind := range kinds {
		if kind != "null" && kind != "" {
			return kind
		}
	}
	switch {
	case len(kinds) > 0 && kinds[0] == "null":
		return "null"
	case len(n.names) > 0 || len(n.Required) > 0:
		return "object"
	case n.Items != nil || len(n.PrefixItems) > 0:
		return "array"
	case n.Minimum != nil || n.Maximum != nil || n.ExclusiveMinimum != nil || n.ExclusiveMaximum != nil ||
		n.MultipleOf > 0:
		return "number"
	}
	return ""
}

// alternative returns the schema of several that a value is made by: the first, or deep inside one that ends.
func alternative(all []json.RawMessage, root json.RawMessage, depth int) json.RawMessage {
	if depth >= schemaDepth {
		for _, one := range all {
			n := readSchema(one, root)
			if kind := n.kind(); len(n.AnyOf) == 0 && len(n.OneOf) == 0 && kind != "object" && kind != "array" {
				return one
			}
		}
	}
	return all[0]
}

// choose returns the value that the message names, or the first.
func (f *filler) choose(values []json.RawMessage) json.RawMessage {
	for _, raw := range values {
		var literal string
		if json.Unmarshal(raw, &literal) == nil && overlap(f.userText, words(literal), 1) > 0 {
			return raw
		}
	}
	return values[0]
}

// members writes the required members of an object and, not too deep, those that the message mentions. Without any of
// these it writes the first.
func (f *filler) members(b *bytes.Buffer, n *schemaNode, root json.RawMessage, depth int) {
	names := slices.Compact(slices.Clone(n.names))
	for _, name := range n.Required {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		mentioned := depth < schemaDepth &&
			(overlap(f.userText, words(name), 1) > 0 || f.mentions(n.Properties[name], root))
		return !mentioned && !slices.Contains(n.Required, name)
	})
	if len(chosen) == 0 && len(names) > 0 && depth < schemaDepth {
		chosen = names[:1]
	}
	b.WriteByte('{')
	for i, name := range chosen {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, name)
		b.WriteByte(':')
		f.fits(b, n.Properties[name], root, depth+1)
	}
	b.WriteByte('}')
}

// mentions reports whether the message has a value of an enum.
func (f *filler) mentions(schema, root json.RawMessage) bool {
	return slices.ContainsFunc(readSchema(schema, root).Enum, func(raw json.RawMessage) bool {
		var literal string
		return json.Unmarshal(raw, &literal) == nil && overlap(f.userText, words(literal), 1) > 0
	})
}

// elements writes an array of one element, or of as many as it must have.
func (f *filler) elements(b *bytes.Buffer, n *schemaNode, root json.RawMessage, depth int) {
	count := max(1, n.MinItems, len(n.PrefixItems))
	if depth >= schemaDepth {
		count = n.MinItems
	}
	if n.MaxItems != nil {
		count = min(count, *n.MaxItems)
	}
	b.WriteByte('[')
	for i := range min(count, 64) {
		if i > 0 {
			b.WriteByte(',')
		}
		schema := n.Items
		if i < len(n.PrefixItems) {
			schema = n.PrefixItems[i]
		}
		f.fits(b, schema, root, depth+1)
	}
	b.WriteByte(']')
}

// bound returns the number that is nearest to a wish.
func (n *schemaNode) bound(wish float64, integer bool) float64 {
	step := n.MultipleOf
	if integer && step == 0 {
		step = 1
	}
	if step > 0 {
		wish = math.Trunc(wish/step) * step
	}
	inside := max(step, 1e-3)
	least, most := n.Minimum, n.Maximum
	if e := n.ExclusiveMinimum; e != nil {
		v := *e + inside
		least = &v
	}
	if e := n.ExclusiveMaximum; e != nil {
		v := *e - inside
		most = &v
	}
	if most != nil && wish > *most {
		wish = *most
		if step > 0 {
			wish = math.Floor(wish/step) * step
		}
	}
	if least != nil && wish < *least {
		wish = *least
		if step > 0 {
			wish = math.Ceil(wish/step) * step
		}
	}
	return wish
}

// formats are texts of the formats that a grammar enforces.
var formats = map[string]string{
	"date": "2026-11-28", "time": "12:00:00Z", "date-time": "2026-11-28T12:00:00Z", "duration": "P1D",
	"email": "a@example.com", "hostname": "example.com", "uri": "https://example.com/", "uri-reference": "/a",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "3e4666bf-d5e5-4aa7-b8ce-cefe41c7568a", "json-pointer": "/a",
}

// textFor returns a string that fits a schema.
func (f *filler) textFor(n *schemaNode) string {
	if n.Pattern != "" {
		if text, ok := Simplest(n.Pattern); ok {
			return text
		}
	}
	if text := formats[n.Format]; text != "" {
		return text
	}
	runes := []rune(f.string())
	if n.MaxLength != nil && len(runes) > max(0, *n.MaxLength) {
		runes = runes[:max(0, *n.MaxLength)]
	}
	for len(runes) < min(n.MinLength, patternBytes) {
		runes = append(runes, 'x')
	}
	return string(runes)
}

// Simplest returns a short text that a pattern matches, if one can be made.
func Simplest(pattern string) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok := appendMatch(&b, parsed)
	return b.String(), ok
}

// appendMatch appends the simplest text of a part of a pattern, whose depth Go's parser bounds.
func appendMatch(b *strings.Builder, r *syntax.Regexp) bool {
	times := 1
	switch r.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		b.WriteString(string(r.Rune))
	case syntax.OpCharClass:
		c, ok := plainest(r.Rune)
		b.WriteRune(c)
		return ok
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpAlternate:
		return appendMatch(b, r.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		times = 0
	case syntax.OpRepeat:
		times = r.Min
	}
	for range times {
		for _, sub := range r.Sub {
			if b.Len() > patternBytes || !appendMatch(b, sub) {
				return false
			}
		}
	}
	return true
}

// plainest returns a character of a class that is easy to read, if there is one. ranges are pairs of bounds.
func plainest(ranges []rune) (rune, bool) {
	for _, c := range "a1A0 -_." {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return c, true
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := ranges[i]; c <= min(ranges[i+1], ranges[i]+256); c++ {
			if unicode.IsPrint(c) {
				return c, true
			}
		}
	}
	if len(ranges) > 0 {
		return ranges[0], true
	}
	return 0, false
}
