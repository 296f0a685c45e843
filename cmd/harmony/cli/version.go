package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

const versionLong = `Prints the versions of this program and of the filter that it runs, with the filter's checksum, by which Envoys fetch
it. The filter's metric harmony_build_info shows the version that an Envoy runs.`

// versions is what harmony version prints.
type versions struct {
	Version string          `json:"version"`
	Commit  string          `json:"commit,omitempty"`
	Filter  *filterVersions `json:"filter,omitempty"` // nil if no filter was found
	Go      string          `json:"go"`
}

// filterVersions is what harmony version prints of the filter. Path is "" for the filter in the program.
type filterVersions struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	Path    string `json:"path,omitempty"`
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of its filter",
		Long:  versionLong,
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := version.Current()
			v := versions{Version: b.Version, Commit: b.Commit,
				Go: fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)}
			filter, err := findVersions(bundled.Filter)
			v.Filter = filter
			if asJSON {
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return errors.Join(err, out.Encode(v))
			}
			v.print(cmd.OutOrStdout(), err)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print them as JSON, for scripts")
	return c
}

// findVersions returns the versions of the filter in the program, else of the one beside it, else nil.
func findVersions(inside func() ([]byte, error)) (*filterVersions, error) {
	module, err := inside()
	path := ""
	if errors.Is(err, bundled.ErrNone) {
		if path = moduleBeside(); path == "" {
			return nil, nil
		}
		if path, err = filepath.Abs(path); err == nil {
			module, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := filterfile.Read(module)
	if err != nil {
		return nil, fmt.Errorf("%s %w", cmp.Or(path, "the filter in this program"), err)
	}
	return &filterVersions{Version: info.Version, SHA256: info.SHA256, Path: path}, nil
}

// print prints the versions. filterErr is why the filter's are not known.
func (v *versions) print(out io.Writer, filterErr error) {
	fmt.Fprintf(out, "harmony  %s\ncommit   %s\n", v.Version, cmp.Or(v.Commit, "unknown"))
	switch {
	case filterErr != nil:
		fmt.Fprintf(out, "filter   unknown\n")
	case v.Filter == nil:
		fmt.Fprintf(out, "filter   none in this program or beside it; %s\n", howToGetFilter)
	default:
		fmt.Fprintf(out, "filter   %s, %s\nsha256   %s\n", v.Filter.Version, cmp.Or(v.Filter.Path, "in this program"),
			v.Filter.SHA256)
	}
	fmt.Fprintf(out, "go       %s\n", v.Go)
}
