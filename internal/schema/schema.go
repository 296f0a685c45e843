package schema

import (
	"math"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The bounds of a check: how deep it goes, and how many members and elements it examines. Everything beyond them fits.
const (
	maxDepth = 64
	maxWork  = 100_000
)

// Fits reports whether value fits schema. It changes neither.
func Fits(schema, value *rawjson.Value) bool {
	c := checker{budget: maxWork}
	return c.fits(schema, value, 0)
}

// checker counts down the work that it may still do.
type checker struct{ budget int }

// spend takes n units of work and reports whether they were available.
func (c *checker) spend(n int) bool {
	c.budget -= n
	return c.budget >= 0
}

func (c *checker) fits(s, v *rawjson.Value, depth int) bool {
	switch {
	case s == nil || v == nil || depth > maxDepth || !c.spend(1):
		return true
	case s.Kind == rawjson.Bool:
		return s.Bool // true and false are schemas too
	case s.Kind != rawjson.Object:
		return true
	}
	if !c.typed(s.Get("type"), v) || !c.listed(s.Get("enum"), v, depth) {
		return false
	}
	if only := s.Get("const"); only != nil && !c.equal(only, v, depth) {
		return false
	}
	switch v.Kind {
	case rawjson.Object:
		return c.members(s, v, depth)
	case rawjson.Array:
		return c.elements(s.Get("items"), v, depth)
	default:
		return true
	}
}

// typed checks the type of v against a type or a list of types.
func (c *checker) typed(t, v *rawjson.Value) bool {
	if t == nil || t.Kind != rawjson.Array {
		return t == nil || t.Kind != rawjson.String || isOf(t.Text, v)
	}
	for i := range t.Elements {
		if !c.spend(1) || t.Elements[i].Kind == rawjson.String && isOf(t.Elements[i].Text, v) {
			return true
		}
	}
	return len(t.Elements) == 0
}

func isOf(name string, v *rawjson.Value) bool {
	switch name {
	case "null":
		return v.Kind == rawjson.Null
	case "boolean":
		return v.Kind == rawjson.Bool
	case "number":
		return v.Kind == rawjson.Number
	case "integer":
		return v.Kind == rawjson.Number && isWhole(v.Text)
	case "string":
		return v.Kind == rawjson.String
	case "array":
		return v.Kind == rawjson.Array
	case "object":
		return v.Kind == rawjson.Object
	default:
		return true
	}
}

// isWhole reports whether a number is whole. As in the JSON Schema specification (validation, section 6.1.1), 1.0 and
// 1e3 are.
func isWhole(number string) bool {
	if !strings.ContainsAny(number, ".eE") {
		return true
	}
	f, err := strconv.ParseFloat(number, 64)
	return err == nil && f == math.Trunc(f)
}

// listed checks v against an enum.
func (c *checker) listed(enum, v *rawjson.Value, depth int) bool {
	if enum == nil || enum.Kind != rawjson.Array {
		return true
	}
	for i := range enum.Elements {
		if c.equal(&enum.Elements[i], v, depth) {
			return true
		}
	}
	return false
}

// members checks the members of an object.
func (c *checker) members(s, v *rawjson.Value, depth int) bool {
	if required := s.Get("required"); required != nil && required.Kind == rawjson.Array {
		for i := range required.Elements {
			name := &required.Elements[i]
			if !c.spend(len(v.Members)) {
				return true
			}
			if name.Kind == rawjson.String && v.Get(name.Text) == nil {
				return false
			}
		}
	}
	properties, others := s.Get("properties"), s.Get("additionalProperties")
	// With patternProperties, other rules decide what is additional.
	if s.Get("patternProperties") != nil {
		others = nil
	}
	for i := range v.Members {
		m := &v.Members[i]
		if properties != nil && !c.spend(len(properties.Members)) {
			return true
		}
		of := properties.Get(m.Key)
		if of == nil {
			of = others
		}
		if !c.fits(of, &m.Value, depth+1) {
			return false
		}
	}
	return true
}

// elements checks the elements of an array. A list of items, the tuple form of old drafts, is ignored.
func (c *checker) elements(items, v *rawjson.Value, depth int) bool {
	for i := range v.Elements {
		if !c.fits(items, &v.Elements[i], depth+1) {
			return false
		}
	}
	return true
}

// equal reports whether two values are equal as in JSON Schema: numbers by value, objects without order.
func (c *checker) equal(a, b *rawjson.Value, depth int) bool {
	if depth > maxDepth || !c.spend(1) {
		return true
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case rawjson.Bool:
		return a.Bool == b.Bool
	case rawjson.String:
		return a.Text == b.Text
	case rawjson.Number:
		x, errX := strconv.ParseFloat(a.Text, 64)
		y, errY := strconv.ParseFloat(b.Text, 64)
		return a.Text == b.Text || errX == nil && errY == nil && x == y
	case rawjson.Array:
		if len(a.Elements) != len(b.Elements) {
			return false
		}
		for i := range a.Elements {
			if !c.equal(&a.Elements[i], &b.Elements[i], depth+1) {
				return false
			}
		}
	case rawjson.Object:
		if len(a.Members) != len(b.Members) || !c.spend(len(a.Members)*len(b.Members)) {
			return len(a.Members) == len(b.Members)
		}
		for i := range a.Members {
			other := b.Get(a.Members[i].Key)
			if other == nil || !c.equal(&a.Members[i].Value, other, depth+1) {
				return false
			}
		}
	}
	return true
}
