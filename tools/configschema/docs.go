package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The tables that this command writes, by their header lines. Names, kinds, labels and defaults come from the contract.
// Text after a default in its cell, flags and meanings are written by hand and kept; a new row's meaning begins as the
// Go field's comment.
const (
	operatorTable = "| setting | flag | default | meaning |"
	filterTable   = "| key | default | meaning |"
	metricsTable  = "| name | kind | labels | what |"
)

// configurationPage updates the tables of docs/configuration.md.
func configurationPage(page []byte, schema *jsonschema.Schema) ([]byte, error) {
	page, err := rewrite(page, operatorTable, func(t *table) error { return operatorRows(t, schema) })
	if err != nil {
		return nil, err
	}
	return rewrite(page, filterTable, filterRows)
}

// operatorRows writes a row for every setting of the contract. It returns an error if any other setting has no row.
func operatorRows(t *table, schema *jsonschema.Schema) error {
	meanings := map[string]string{}
	all := settings(schema, schema, "", meanings)
	c, m := contract.DefaultConfig(), contract.DefaultModel("")
	before := ""
	var add func(prefix string, fields []contract.Field)
	add = func(prefix string, fields []contract.Field) {
		for i := range fields {
			f, name := &fields[i], prefix+fields[i].Key
			if f.Block != nil && t.row(name) < 0 {
				add(name+".", f.Block)
				continue
			}
			meaning := strings.TrimSuffix(strings.TrimPrefix(meanings[name], f.Key+" "), ".")
			t.set(name, before, 2, defaultOf(f), "", defaultOf(f), meaning)
			before = name
		}
	}
	add("", c.Settings.Fields())
	add("models[].", m.ModelSettings.Fields())
	for _, name := range all {
		if t.row(name) < 0 && t.row(name[:max(strings.LastIndexByte(name, '.'), 0)]) < 0 {
			return errors.New("docs/configuration.md has no row of " + name + "; write it")
		}
		all = append(all, name[:max(strings.LastIndexByte(name, '.'), 0)])
	}
	return t.known(all)
}

// settings returns the paths of all settings in a block of the schema, and adds their comments to meanings.
func settings(whole, block *jsonschema.Schema, prefix string, meanings map[string]string) []string {
	var all []string
	for p := block.Properties.Oldest(); p != nil; p = p.Next() {
		name, s := prefix+p.Key, p.Value
		meanings[name] = s.Description
		if s.Items != nil && s.Items.Ref != "" {
			name, s = name+"[]", s.Items
		}
		if inner := whole.Definitions[strings.TrimPrefix(s.Ref, "#/$defs/")]; inner != nil && inner.Properties != nil {
			all = append(all, settings(whole, inner, name+".", meanings)...)
		} else {
			all = append(all, name)
		}
	}
	return all
}

// filterRows writes the rows of the filter's JSON. A block of a model has one row.
func filterRows(t *table) error {
	c, m := contract.DefaultConfig(), contract.Model{Name: "name"}
	contract.SetDefaults(m.Fields())
	all, before := []string{"schema", "models"}, "schema"
	var add func(prefix string, fields []contract.Field)
	add = func(prefix string, fields []contract.Field) {
		for i := range fields {
			f, name := &fields[i], prefix+fields[i].Key
			all = append(all, name)
			switch {
			case f.Block != nil && prefix != "":
				var keys []string
				for _, inner := range f.Block {
					keys = append(keys, inner.Key)
				}
				t.set(name, before, 2, codes(keys)+", as above", "", "")
			case f.Block != nil:
				if f.Optional {
					t.set(name, before, 1, "none", "none", "")
				}
				add(name+".", f.Block)
				continue
			case f.List != nil && len(*f.List) > 0:
				t.set(name, before, 1, "as above", "as above", "")
			case f.Required:
				t.set(name, before, 1, "required", "required", "")
			default:
				t.set(name, before, 1, defaultOf(f), defaultOf(f), "")
			}
			before = name
		}
	}
	contract.SetDefaults(c.ResponsesService.Fields())
	add("", c.Fields())
	before = "models"
	add("models[].", m.Fields())
	return t.known(all)
}

// defaultOf returns a field's default as it is shown in a table.
func defaultOf(f *contract.Field) string {
	switch {
	case f.Flag != nil:
		return code(strconv.FormatBool(*f.Flag))
	case f.Number != nil:
		return strconv.Itoa(*f.Number)
	case f.Fraction != nil:
		return strconv.FormatFloat(*f.Fraction, 'g', -1, 64)
	case f.List != nil && len(*f.List) > 0:
		return codes(*f.List)
	case f.List != nil, f.Object != nil, f.Text != nil && *f.Text == "":
		return "none"
	case f.Text != nil:
		return code(*f.Text)
	}
	var all []string
	for i := range f.Block {
		all = append(all, f.Block[i].Key+": "+strings.Trim(defaultOf(&f.Block[i]), "`"))
	}
	return codes(all)
}

// metricsPage updates the table of docs/metrics.md.
func metricsPage(page []byte) ([]byte, error) {
	comments, err := metricComments("harmonycore/contract/metrics.go")
	if err != nil {
		return nil, err
	}
	kinds := [...]string{contract.Counter: "counter", contract.Gauge: "gauge", contract.Histogram: "histogram"}
	return rewrite(page, metricsTable, func(t *table) error {
		var all []string
		before := ""
		for m := range contract.MetricCount {
			info := m.Info()
			t.set(info.Name, before, 1, kinds[info.Kind], kinds[info.Kind], codes(info.Labels), comments[m])
			t.set(info.Name, before, 2, codes(info.Labels))
			all = append(all, info.Name)
			before = info.Name
		}
		return t.known(all)
	})
}

// metricComments returns the comments of the metrics' constants, in their order.
func metricComments(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, d := range parsed.Decls {
		constants, ok := d.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST || constants.Doc.Text() != "The metrics.\n" {
			continue
		}
		for _, s := range constants.Specs {
			one, ok := s.(*ast.ValueSpec)
			if !ok || len(one.Names) != 1 {
				return nil, fmt.Errorf("%s: one metric a line is expected", file)
			}
			_, text, _ := strings.Cut(strings.TrimSuffix(strings.ReplaceAll(one.Doc.Text(), "\n", " "), ". "), " ")
			all = append(all, strings.TrimPrefix(text, "counts "))
		}
	}
	if len(all) <= int(contract.MetricCount) {
		return nil, fmt.Errorf("%s: the comments of the metrics are not found", file)
	}
	return all, nil
}
