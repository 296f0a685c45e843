package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/registry"
)

// readValues merges values files, of which the last one wins.
func readValues(files []string) (map[string]any, error) {
	all := map[string]any{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		values, err := loader.LoadValues(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = loader.MergeMaps(all, values)
	}
	return all, nil
}

// lintChart runs Helm's linter on the folder of a chart. Warnings are errors.
func lintChart(folder string, files []string) error {
	values, err := readValues(files)
	if err != nil {
		return err
	}
	var wrong []error
	for _, m := range lint.RunAll(folder, values, "default").Messages {
		if m.Severity >= support.WarningSev {
			wrong = append(wrong, m)
		}
	}
	return errors.Join(wrong...)
}

// rendering is a chart with values and a release.
type rendering struct {
	chart              string // a folder or an archive
	values             []string
	release, namespace string
}

// run writes the objects of the chart as helm template does. Before them it writes the notes, as a comment.
func (r *rendering) run(out io.Writer) error {
	chart, err := loader.Load(r.chart)
	if err != nil {
		return err
	}
	if err := chart.Validate(); err != nil {
		return err
	}
	values, err := readValues(r.values)
	if err != nil {
		return err
	}
	release := common.ReleaseOptions{Name: r.release, Namespace: r.namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, top)
	if err != nil {
		return err
	}
	var names []string
	for name := range rendered {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := strings.TrimSpace(rendered[name])
		switch {
		case path.Base(name) == "NOTES.txt":
			text = "# " + strings.ReplaceAll(text, "\n", "\n# ")
		case path.Ext(name) != ".yaml" || text == "":
			continue
		}
		fmt.Fprintf(out, "---\n# Source: %s\n%s\n", name, strings.TrimPrefix(text, "---\n"))
	}
	return nil
}

// pullChart pulls a chart from a registry on loopback with Helm's client, and writes its archive.
func pullChart(reference, to string) error {
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard))
	if err != nil {
		return err
	}
	pulled, err := client.Pull(reference)
	if err != nil {
		return err
	}
	return os.WriteFile(to, pulled.Chart.Data, 0o644)
}
