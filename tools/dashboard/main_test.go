package main

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// TestFile checks that examples/monitoring has the dashboard of rows.go, and that Grafana's own library reads it
// strictly: every member is known, of panels and queries too, and has a value that its schema allows.
func TestFile(t *testing.T) {
	t.Chdir("../..")
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what rows.go says; run make dashboard", file)
	}
	kinds := cog.NewRuntime()
	kinds.RegisterPanelcfgVariant(stat.VariantConfig())
	kinds.RegisterPanelcfgVariant(statetimeline.VariantConfig())
	kinds.RegisterPanelcfgVariant(table.VariantConfig())
	kinds.RegisterPanelcfgVariant(timeseries.VariantConfig())
	kinds.RegisterDataqueryVariant(prometheus.VariantConfig())
	board, err := read(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := problem(board.Validate()); err != nil {
		t.Error(err)
	}
	// The library would read members that it does not know without a look.
	for _, p := range board.Panels {
		if p.Panel == nil {
			continue
		}
		if _, known := kinds.ConfigForPanelcfgVariant(p.Panel.Type); !known {
			t.Errorf("%s: no panel is a %s", *p.Panel.Title, p.Panel.Type)
		}
		for _, query := range p.Panel.Targets {
			if _, known := query.(prometheus.Dataquery); !known {
				t.Errorf("%s: a query is a %T", *p.Panel.Title, query)
			}
		}
	}
	for good, bad := range map[string]string{
		`"panels"`: `"boards"`, `"gridPos"`: `"grid"`, `"legendFormat"`: `"legend"`, `"fillOpacity"`: `"fill"`,
		`"reduceOptions"`: `"reduce"`, `"uid": "harmony-edge"`: `"uid": 7`,
	} {
		if _, err := read(bytes.Replace(got, []byte(good), []byte(bad), 1)); err == nil {
			t.Errorf("with %s in place of %s it passes", bad, good)
		}
	}
}

// read reads a dashboard strictly.
//
//nolint:staticcheck // SA1019: the newer form is not read by the Grafanas that most people run
func read(text []byte) (*dashboard.Dashboard, error) {
	board := dashboard.NewDashboard()
	return board, problem(board.UnmarshalJSONStrict(text))
}

// problem returns nil for the library's empty list of errors, which is not nil as an error.
func problem(err error) error {
	var all cog.BuildErrors
	if errors.As(err, &all) && len(all) == 0 {
		return nil
	}
	return err
}
