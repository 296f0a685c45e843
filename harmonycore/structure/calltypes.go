package structure

import (
	"bytes"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Tools are the functions of a request. Some forms need them: an argument between tags has no quotes that show whether
// it is a string.
type Tools interface {
	// Function returns the JSON schema of a function's arguments, which is valid JSON or empty, and reports whether the
	// request declares the function.
	Function(name string) (schema []byte, declared bool)
}

// typeSet is a set of the types of a JSON schema. An empty set means that nothing is known.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	integerType
	numberType
	booleanType
	objectType
	arrayType
	textType
)

// argumentTypes knows the types of the arguments of the functions that an answer has called.
type argumentTypes struct {
	tools Tools
	// known are the types by argument, by function.
	known map[string]map[string]typeSet
	name  string
}

// of returns the types of an argument of the function that is called.
func (t *argumentTypes) of(argument []byte) typeSet {
	if t.tools == nil {
		return 0
	}
	types, ok := t.known[t.name]
	if !ok {
		schema, declared := t.tools.Function(t.name)
		if !declared {
			return 0
		}
		types = typesOf(schema)
		if t.known == nil {
			t.known = map[string]map[string]typeSet{}
		}
		t.known[t.name] = types
	}
	return types[string(argument)]
}

// undeclared reports whether the request has functions, and none of this name.
func (t *argumentTypes) undeclared(name []byte) bool {
	if t.tools == nil {
		return false
	}
	_, declared := t.tools.Function(functionOf(name))
	return !declared
}

// typesOf returns the types of the properties of a schema.
func typesOf(schema []byte) map[string]typeSet {
	properties, kind := rawjson.Find(schema, "properties")
	if kind != rawjson.Object {
		return nil
	}
	types := map[string]typeSet{}
	it := rawjson.Members(properties)
	for it.Next() {
		if it.Kind == rawjson.Object {
			types[string(it.Key)] = schemaTypes(it.Value, maxAlternatives)
		}
	}
	return types
}

// maxAlternatives is how deep alternatives of a schema are read.
const maxAlternatives = 4

// schemaTypes returns the types that a schema allows: by its type, its constants, and those of its alternatives.
func schemaTypes(schema []byte, depth int) typeSet {
	var set typeSet
	it := rawjson.Members(schema)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "type":
			if it.Kind == rawjson.String {
				set |= typeNamed(string(it.Value))
			}
			each := rawjson.Elements(it.Value)
			for it.Kind == rawjson.Array && each.Next() {
				set |= typeNamed(string(each.Value))
			}
		case "const":
			set |= typeOfValue(it.Kind, it.Value)
		case "enum":
			each := rawjson.Elements(it.Value)
			for it.Kind == rawjson.Array && each.Next() {
				set |= typeOfValue(each.Kind, each.Value)
			}
		case "anyOf", "oneOf", "allOf":
			each := rawjson.Elements(it.Value)
			for it.Kind == rawjson.Array && depth > 0 && each.Next() {
				set |= schemaTypes(each.Value, depth-1)
			}
		}
	}
	return set
}

// typeNamed returns the type of a name. Clients' schemas have Python's names too.
func typeNamed(name string) typeSet {
	switch name {
	case "null", "None":
		return nullType
	case "integer", "int":
		return integerType
	case "number", "float", "double":
		return numberType
	case "boolean", "bool":
		return booleanType
	case "object", "dict":
		return objectType
	case "array", "list":
		return arrayType
	case "string", "str":
		return textType
	}
	return 0
}

func typeOfValue(kind rawjson.Kind, value []byte) typeSet {
	switch kind {
	case rawjson.Null:
		return nullType
	case rawjson.Bool:
		return booleanType
	case rawjson.Number:
		if bytes.ContainsAny(value, ".eE") {
			return numberType
		}
		return integerType
	case rawjson.Object:
		return objectType
	case rawjson.Array:
		return arrayType
	}
	return textType
}

// appendValue appends what a model wrote between tags as JSON: of the first type that it can be of. What can be of none
// is JSON as it stands, or else a string.
func (t typeSet) appendValue(dst, text []byte) []byte {
	trimmed := bytes.TrimSpace(text)
	word := ""
	if len(trimmed) <= len("false") {
		word = strings.ToLower(string(trimmed))
	}
	switch {
	case t&nullType != 0 && (word == "null" || word == "none"):
		return append(dst, "null"...)
	case t&(integerType|numberType) != 0 && isNumber(trimmed):
		return append(dst, trimmed...)
	case t&booleanType != 0 && (word == "true" || word == "1"):
		return append(dst, "true"...)
	case t&booleanType != 0 && (word == "false" || word == "0"):
		return append(dst, "false"...)
	case t&textType != 0 && !(t&objectType != 0 && isNested(trimmed, '{') || t&arrayType != 0 && isNested(trimmed, '[')):
		return rawjson.AppendString(dst, string(text))
	case rawjson.Validate(trimmed, rawjson.MaxDepth) == nil:
		return append(dst, trimmed...)
	}
	return rawjson.AppendString(dst, string(text))
}

func isNumber(b []byte) bool {
	return len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') && rawjson.Validate(b, 1) == nil
}

func isNested(b []byte, bracket byte) bool {
	return len(b) > 0 && b[0] == bracket && rawjson.Validate(b, rawjson.MaxDepth) == nil
}
