// Command configschema generates files from the contract, from the types of the configuration file, and from their
// comments: the file's JSON Schema (operator/config/schema.json) and the tables of docs/configuration.md,
// docs/metrics.md and docs/servers.md. Run it from the root of the module: make config-schema.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

func main() {
	files, err := generate()
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "configschema:", err)
		os.Exit(1)
	}
}

// The generated files.
const (
	schemaFile        = "operator/config/schema.json"
	configurationFile = "docs/configuration.md"
	metricsFile       = "docs/metrics.md"
	serversFile       = "docs/servers.md"
)

// generate returns the contents of the generated files by their names.
func generate() (map[string][]byte, error) {
	schema, err := fileSchema()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return nil, err
	}
	files := map[string][]byte{schemaFile: out.Bytes()}
	for name, tables := range map[string]func([]byte) ([]byte, error){
		configurationFile: configurationPage,
		metricsFile:       metricsPage,
		serversFile:       serversPage,
	} {
		page, err := os.ReadFile(name)
		if err == nil {
			files[name], err = tables(page)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fileSchema returns the JSON Schema of the configuration file.
func fileSchema() (*jsonschema.Schema, error) {
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true, FieldNameTag: "yaml", Mapper: scalars,
	}
	for _, folder := range []string{"./harmonycore/contract", "./operator/config"} {
		if err := r.AddGoComments("github.com/harmonyedge/harmonyedge", folder); err != nil {
			return nil, err
		}
	}
	inYAML(r.CommentMap, reflect.TypeFor[config.Config]())
	schema := r.Reflect(&config.Config{})
	bound(schema)
	schema.Title = "Harmony Edge"
	schema.Description = "The configuration of harmony up. Every setting: docs/configuration.md."
	return schema, nil
}

// inYAML makes the comments of a type's fields begin with the field's name in the file instead of its Go name.
func inYAML(comments map[string]string, t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		at := t.PkgPath() + "." + t.Name() + "." + f.Name
		if rest, ok := strings.CutPrefix(comments[at], f.Name+" "); ok {
			comments[at] = f.Tag.Get("yaml") + " " + strings.ReplaceAll(rest, "\n", " ")
		}
		inYAML(comments, f.Type)
	}
}

// bound sets the defaults, the ranges of numbers and the words of texts.
func bound(schema *jsonschema.Schema) {
	for _, s := range config.Settings() {
		p := property(schema, s.Path)
		if p.Ref == "" { // else it is shared
			p.Default = s.Preset
		}
		if s.Number {
			p.Minimum, p.Maximum = number(s.Min), number(s.Max)
		}
		if p.Items != nil {
			p = p.Items
		}
		for _, word := range s.Words {
			p.Enum = append(p.Enum, word)
		}
	}
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// property returns the schema of the setting at a path.
func property(whole *jsonschema.Schema, path string) *jsonschema.Schema {
	block := whole
	for {
		name, rest, more := strings.Cut(path, ".")
		p := block.Properties.Value(strings.TrimSuffix(name, "[]"))
		if !more {
			return p
		}
		if p.Items != nil {
			p = p.Items
		}
		block, path = whole.Definitions[strings.TrimPrefix(p.Ref, "#/$defs/")], rest
	}
}

// scalars returns the schema of a type whose form in the file differs from its form in Go, and nil for any other type.
func scalars(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[config.Size]():
		return &jsonschema.Schema{
			Description: "Bytes, as 65536, 512KiB, 16MiB or 16MB.",
			OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "0"},
				{Type: "string", Pattern: `^[0-9]+ *(B|KiB|MiB|GiB|kB|KB|MB|GB)?$`}},
		}
	case reflect.TypeFor[config.Duration]():
		return &jsonschema.Schema{
			Description: "A time, as 300s or 5m.", Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
		}
	case reflect.TypeFor[config.Percent]():
		return &jsonschema.Schema{
			Description: "A part of a hundred, as 100% or 0.5%.", Type: "string", Pattern: `^[0-9]+(\.[0-9]{1,4})?%$`,
		}
	case reflect.TypeFor[contract.Object]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[config.ServicePort]():
		return &jsonschema.Schema{
			Description: "A port's name or number.",
			OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1", Maximum: "65535"},
				{Type: "string", Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`}},
		}
	}
	return nil
}
