// Command openaischema extracts the schemas of Chat Completions and Responses from OpenAI's API description, for the
// tests:
//
//	go run ./tools/openaischema openai-openapi.json >e2e/grammar/testdata/openai.schema.json
//
// The description is version 2.3.0 of https://github.com/openai/openai-openapi. It is OpenAPI 3.1, whose schemas are
// JSON Schema. The one exception is the old keyword `nullable`, which is converted. Keywords that no validator reads
// are left out.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// roots are the schemas that the tests ask for by name. The schemas that they refer to are included.
var roots = []string{
	"CreateChatCompletionRequest", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "ErrorResponse",
	"CreateResponse", "Response", "ResponseStreamEvent", "ResponseItemList", "ConversationResource",
	"DeletedConversationResource", "ConversationItemList", "ConversationItem", "CompactResource",
}

const (
	from = "#/components/schemas/"
	to   = "#/$defs/"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: openaischema openai-openapi.json")
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var description struct {
		Info       struct{ Title, Version string }
		Components struct{ Schemas map[string]any }
	}
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	if err := numbers.Decode(&description); err != nil {
		return err
	}
	out := map[string]any{}
	for todo := slices.Clone(roots); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if out[name] != nil {
			continue
		}
		schema, ok := description.Components.Schemas[name]
		if !ok {
			return fmt.Errorf("there is no schema %s", name)
		}
		out[name] = convert(schema, func(ref string) { todo = append(todo, ref) })
	}
	encoded := json.NewEncoder(os.Stdout)
	encoded.SetEscapeHTML(false)
	encoded.SetIndent("", " ")
	return encoded.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$comment": description.Info.Title + ", version " + description.Info.Version +
			", MIT License; made by tools/openaischema",
		"$defs": out,
	})
}

// unread are the keywords that mean nothing to a validator, and the description's own extensions.
var unread = []string{"description", "title", "example", "examples", "default", "discriminator", "nullable",
	"$recursiveAnchor"}

// convert returns a copy of a schema and calls refer for every schema that it refers to.
func convert(schema any, refer func(name string)) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := map[string]any{}
	for key, value := range s {
		switch key {
		case "properties", "patternProperties":
			named := map[string]any{}
			for name, each := range value.(map[string]any) {
				named[name] = convert(each, refer)
			}
			out[key] = named
		case "allOf", "anyOf", "oneOf":
			var each []any
			for _, one := range value.([]any) {
				each = append(each, convert(one, refer))
			}
			out[key] = each
		case "$ref":
			name := strings.TrimPrefix(value.(string), from)
			refer(name)
			out[key] = to + name
		default:
			if !slices.Contains(unread, key) && !strings.HasPrefix(key, "x-") {
				out[key] = convert(value, refer)
			}
		}
	}
	if s["nullable"] == true {
		return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	return out
}
