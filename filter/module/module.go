package module

import (
	"github.com/harmonyedge/harmonyedge/filter/internal/plugin"
	"github.com/harmonyedge/harmonyedge/filter/vocabulary"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// Options are what a module brings of its own.
type Options struct {
	// Version is the version that the metric harmony_build_info shows.
	Version string
	// Adapters are further values of the setting speaks, by name. Each begins with [contract.ForeignPrefix].
	Adapters map[string]structure.New
}

// Start registers the filter with its host.
func Start(o Options) {
	plugin.Start(plugin.Options{Table: vocabulary.Table, Version: o.Version, Adapters: o.Adapters})
}
