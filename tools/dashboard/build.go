package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// row is a row of the dashboard: a title, and panels from left to right.
type row struct {
	title  string
	panels []panel
}

// form is how a panel shows what its queries return.
type form int

const (
	lines  form = iota
	stack       // lines, each upon the one before
	number      // the newest value, large
	states      // 0 and 1 over time
	list        // the newest values, in a table
)

// panel is a panel of the dashboard.
type panel struct {
	title   string
	help    string // what an operator reads behind the title
	form    form
	unit    string // Grafana's name of it
	width   uint32 // of 24; 0 is 8
	queries []query
	bad     float64 // from which value a number is red; 0: never
}

// query is a query, and what its series are called.
type query struct{ expr, legend string }

// height of panels, in Grafana's units.
const (
	tall  = 8
	short = 4
)

// source is the Prometheus that the reader of the dashboard chooses.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// build returns the dashboard.
func build(rows []row) (any, error) {
	//nolint:staticcheck // SA1019: the newer form is not read by the Grafanas that most people run
	b := dashboard.NewDashboardBuilder("Harmony Edge").Uid("harmony-edge").Tags([]string{"harmony"}).
		Description("Gateways, servers, the control plane and the responses service. See docs/monitoring.md.").
		Refresh("30s").Time("now-1h", "now").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(choice("model", "Model", "label_values(harmony_requests_total, model)")).
		WithVariable(choice("envoy", "Envoy", "label_values(harmony_build_info, instance)")).
		WithVariable(choice("pool", "Pool", "label_values(harmony_controlplane_pool_up, pool)"))
	for _, r := range rows {
		b.WithRow(dashboard.NewRowBuilder(r.title))
		for i := range r.panels {
			built, err := r.panels[i].build()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.panels[i].title, err)
			}
			b.WithPanel(built)
		}
	}
	return b.Build()
}

// choice is a variable of the dashboard: any number of a label's values.
func choice(name, label, query string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).
		Query(dashboard.StringOrMap{String: &query}).Definition(query).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{
			Text:  dashboard.StringOrArrayOfString{String: cog.ToPtr("All")},
			Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")},
		})
}

// build returns the panel in Grafana's form.
func (p *panel) build() (cog.Builder[dashboard.Panel], error) {
	width := p.width
	if width == 0 {
		width = 8
	}
	switch p.form {
	case lines, stack:
		b := timeseries.NewPanelBuilder().Title(p.title).Description(p.help).Unit(p.unit).Min(0).Span(width).Height(tall).
			Datasource(source()).Targets(p.targets()).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
			Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
				Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"})).
			Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
		if p.form == stack {
			b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")).FillOpacity(40)
		}
		return b, nil
	case number:
		return stat.NewPanelBuilder().Title(p.title).Description(p.help).Unit(p.unit).Span(width).Height(short).
			Datasource(source()).Targets(p.targets()).Thresholds(p.thresholds()).GraphMode(common.BigValueGraphModeArea).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})), nil
	case states:
		return statetimeline.NewPanelBuilder().Title(p.title).Description(p.help).Span(width).Height(tall).
			Datasource(source()).Targets(p.targets()).ShowValue(common.VisibilityModeNever).
			Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(
				[]dashboard.Threshold{{Color: "red"}, {Value: cog.ToPtr(1.0), Color: "green"}})).
			ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)), nil
	case list:
		return table.NewPanelBuilder().Title(p.title).Description(p.help).Span(width).Height(tall).
			Datasource(source()).Targets(p.targets()).
			Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})), nil
	}
	return nil, fmt.Errorf("form %d is not known", p.form)
}

// targets returns the panel's queries in Grafana's form.
func (p *panel) targets() []cog.Builder[variants.Dataquery] {
	var all []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		b := prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(string(rune('A' + i))).Datasource(source())
		if p.form == list {
			b.Instant().Format(prometheus.PromQueryFormatTable)
		} else {
			b.Range().LegendFormat(q.legend)
		}
		all = append(all, b)
	}
	return all
}

// thresholds returns the colours of a number.
func (p *panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: "green"}}
	if p.bad > 0 {
		steps = append(steps, dashboard.Threshold{Value: &p.bad, Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}
