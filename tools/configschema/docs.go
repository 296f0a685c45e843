package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// The tables that this command writes, by their header lines. The operator's settings come wholly from package config.
// In the other tables names, kinds, labels and defaults come from the contract. Text after a default in its cell and
// meanings are written by hand and kept.
const (
	operatorTable = "| setting | flag | default | meaning |"
	filterTable   = "| key | default | meaning |"
	metricsTable  = "| name | kind | labels | what |"
)

// configurationPage updates the tables of docs/configuration.md.
func configurationPage(page []byte) ([]byte, error) {
	page, err := rewrite(page, operatorTable, operatorRows)
	if err != nil {
		return nil, err
	}
	return rewrite(page, filterTable, filterRows)
}

// operatorRows writes the rows of all settings.
func operatorRows(t *table) error {
	t.rows = nil
	for _, s := range config.Settings() {
		name, more, _ := strings.Cut(s.Flag, " ")
		flag := strings.TrimSpace(strings.TrimSuffix(code(name), "``") + " " + more)
		t.rows = append(t.rows, []string{code(s.Path), flag, s.Default, s.Meaning})
	}
	return nil
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
