// Command helmvalues writes the table of the Helm chart's values into docs/helm.md, from the comments in
// envoy/chart/values.yaml. Run it from the root of the module: make helm-values.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

func main() {
	page, err := generate()
	if err == nil {
		err = os.WriteFile(pageFile, page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "helmvalues:", err)
		os.Exit(1)
	}
}

const (
	pageFile   = "docs/helm.md"
	valuesFile = "envoy/chart/values.yaml"
	schemaFile = "envoy/chart/values.schema.json"

	tableBegin = "<!-- values: written by make helm-values -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

// schema is what the table needs of the JSON Schema: which values have values of their own.
type schema struct {
	Properties map[string]*schema `json:"properties"`
}

// value is a row of the table.
type value struct {
	path, preset, meaning string
}

// generate returns the page with the table.
func generate() ([]byte, error) {
	values, err := readValues()
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return nil, err
	}
	before, rest, begins := bytes.Cut(page, []byte(tableBegin))
	_, after, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		return nil, fmt.Errorf("%s lacks the lines %q and %q", pageFile, tableBegin, tableEnd)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%s\n| value | default | what |\n|---|---|---|\n", before, tableBegin)
	for _, v := range values {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", v.path, v.preset, v.meaning)
	}
	fmt.Fprintf(&out, "\n%s%s", tableEnd, after)
	return out.Bytes(), nil
}

// readValues returns all values in their order. Each must have a comment, and the schema must know it.
func readValues() ([]value, error) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", schemaFile, err)
	}
	if text, err = os.ReadFile(valuesFile); err != nil {
		return nil, err
	}
	_, text, _ = bytes.Cut(text, []byte("\n\n")) // the first comment is about the file
	comments := yaml.CommentMap{}
	var tree yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &tree, yaml.CommentToMap(comments), yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("%s: %w", valuesFile, err)
	}
	return walk(nil, "", tree, &s, comments)
}

// walk appends the values below a path. A value whose schema has no properties is a row, whatever it consists of.
func walk(rows []value, path string, tree yaml.MapSlice, s *schema, comments yaml.CommentMap) ([]value, error) {
	if path == "" {
		delete(s.Properties, "global") // what Helm gives to the charts of a chart
	}
	if len(tree) != len(s.Properties) {
		return nil, fmt.Errorf("%q has %d values in %s, and %d in %s", path, len(tree), valuesFile, len(s.Properties),
			schemaFile)
	}
	for _, item := range tree {
		name := fmt.Sprint(item.Key)
		below, known := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		if !known {
			return nil, fmt.Errorf("%s: %s is not in %s", valuesFile, at, schemaFile)
		}
		if more, ok := item.Value.(yaml.MapSlice); ok && len(below.Properties) > 0 && len(more) > 0 {
			var err error
			if rows, err = walk(rows, at, more, below, comments); err != nil {
				return nil, err
			}
			continue
		}
		meaning := comment(comments["$."+at])
		if meaning == "" {
			return nil, fmt.Errorf("%s: %s has no comment", valuesFile, at)
		}
		preset, err := yaml.MarshalWithOptions(item.Value, yaml.Flow(true))
		if err != nil {
			return nil, err
		}
		rows = append(rows, value{at, "`" + strings.TrimSpace(string(preset)) + "`", meaning})
	}
	return rows, nil
}

// comment returns the comment above a value as one line of a table.
func comment(all []*yaml.Comment) string {
	var lines []string
	for _, c := range all {
		if c.Position == yaml.CommentHeadPosition {
			for _, text := range c.Texts {
				lines = append(lines, strings.TrimSpace(text))
			}
		}
	}
	return strings.ReplaceAll(strings.Join(lines, " "), "|", `\|`)
}
