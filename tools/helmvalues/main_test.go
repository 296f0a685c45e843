package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestPage checks that docs/helm.md has the values that the chart has, with their defaults, and that the schema has the
// same values.
func TestPage(t *testing.T) {
	t.Chdir("../..")
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the chart's values are; run make helm-values", pageFile)
	}
	rows, err := readValues()
	if err != nil || len(rows) < 90 {
		t.Fatalf("%d values, %v", len(rows), err)
	}
	for _, row := range rows {
		if row.path == "envoy.drain.seconds" &&
			(row.preset != "`300`" || !strings.HasPrefix(row.meaning, "How many seconds")) {
			t.Errorf("%+v", row)
		}
		if row.path == "config" && !strings.HasPrefix(row.meaning, "The operator's configuration") {
			t.Errorf("%+v", row)
		}
	}
}
