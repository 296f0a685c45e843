package gptoss

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestValueOf makes values for schemas. Each fits its schema, if the schema allows any.
func TestValueOf(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":["null","boolean"]},"n":{"type":"integer"}},` +
			`"required":["z","a","n"]}`: `{"z":"Paris","a":true,"n":3}`,
		`{"type":"array","items":{"type":"boolean"}}`: `[true]`, `{"enum":["c","f"]}`: `"c"`, `{"enum":[7,"times"]` +
			`}`: `"times"`,
		`{"anyOf":[{"type":"number"},{}]}`: `3`, `{}`: `"Paris"`, `true`: `"Paris"`, `{"const":{"a":[1]}}`: `{"a":[1]}`,
		`{"oneOf":[{"type":"null"},{"type":"string"}]}`: `null`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"n` +
			`ull"}}}`: `{"b":null}`,
		`{"properties":{"a":{"$ref":"#/definitions/a~1b"}},"definitions":{"a/b":{"type":"boolean"}}}`:          `{"a":true}`,
		`{"properties":{"a":{"allOf":[{"$ref":"#/$defs/B"}],"description":"x"}},"$defs":{"B":{"enum":["f"]}}}`: `{"a":"f"}`,
		`{"allOf":[{"properties":{"a":{"type":"null"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]` +
			`}`: `{"a":null,"b":"Paris"}`,
		`{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`: `"AA-1"`, `{"type":"string","format":"date"}`: `"2026-11-28"`,
		`{"type":"string","minLength":8}`: `"Parisxxx"`, `{"type":"string","maxLength":2}`: `"Pa"`,
		`{"type":"integer","minimum":10}`: `10`, `{"type":"integer","exclusiveMaximum":3}`: `2`,
		`{"type":"integer","multipleOf":7,"minimum":1}`: `7`, `{"type":"number","maximum":0.5}`: `0.5`,
		`{"type":"array","minItems":2,"items":{"type":"null"}}`:                             `[null,null]`,
		`{"type":"array","prefixItems":[{"type":"null"},{"type":"boolean"}],"items":false}`: `[null,true]`,
		`{"type":"array","maxItems":0}`:                                                     `[]`, `{"type":"objec` +
			`t","required":["a"]}`: `{"a":"Paris"}`,
		`{"type":"object"}`: `{}`, `{"type":"object","properties":{},"additionalProperties":false}`: `{}`,
	} {
		got := valueOf([]byte(schema), "In Paris, 3 times.")
		if got != want {
			t.Errorf("%s: got %s, want %s", schema, got, want)
		}
		compiled, err := CompileSchema([]byte(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(got))
		if err != nil || compiled.Validate(value) != nil {
			t.Errorf("%s does not fit %s: %v", got, schema, compiled.Validate(value))
		}
	}
}

// TestEndlessSchemas makes values for schemas that contain themselves: those that end fit, and the others end too.
func TestEndlessSchemas(t *testing.T) {
	for schema, ends := range map[string]bool{
		`{"$ref":"#/$defs/T","$defs":{"T":{"type":"object","properties":{"v":{"type":"integer"},"l":{"anyOf":[{"$r` +
			`ef":"#/$defs/T"},` +
			`{"type":"null"}]},"r":{"anyOf":[{"$ref":"#/$defs/T"},{"type":"null"}]}},"required":["v","l","r"]}}}`: true,
		`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["children"]}`: true,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}`:                   false,
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`:                                                   false,
		`{"$ref":"#/$defs/none"}`: false,
		`{"$ref":"elsewhere"}`:    false,
	} {
		got := valueOf([]byte(schema), "Hi")
		if !json.Valid([]byte(got)) || len(got) > 1<<20 {
			t.Errorf("%s: %d bytes", schema, len(got))
		}
		if !ends {
			continue
		}
		compiled, err := CompileSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(got)); err != nil || compiled.Validate(value) != nil {
			t.Errorf("%s does not fit %s", got, schema)
		}
	}
}

// TestSimplest makes texts that patterns match.
func TestSimplest(t *testing.T) {
	for _, pattern := range []string{`\d{3}-\d{4}`, `(yes|no)`, `[^a-z]+`, `^a?b*c+$`, `.{5}`, `\w+@\w+\.com`,
		`(?:ab){2,}`, `[\x{4e00}-\x{9fff}]`,
		`\s`, `(\+|-)?\d+(\.\d+)?`, `((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)`, ``} {
		got, ok := Simplest(pattern)
		if !ok || !regexp.MustCompile("^(?s:"+pattern+")$").MatchString(got) {
			t.Errorf("%s: %q, %v", pattern, got, ok)
		}
	}
	for _, pattern := range []string{`[^\x00-\x{10FFFF}]`, `(`, `(a{1000}){1000}`, `((a{900}){900}){900}`} {
		if got, ok := Simplest(pattern); ok {
			t.Errorf("%s: %d bytes", pattern, len(got))
		}
	}
}
