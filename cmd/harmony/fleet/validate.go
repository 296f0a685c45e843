package fleet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

const validateLong = `Checks configuration files as harmony up and harmony controlplane read them, with the servers
files that they name. The filter's part is checked as the filter reads it. Nothing is started, and no server is asked.
Every mistake is printed with its file, line, column and setting.

--json prints the same as JSON, for scripts. A note is not a mistake. Notes are about settings that only harmony up
uses, and about programs, folders and secrets that the file names and this machine lacks.

--explain needs no file. It prints every setting with its default, its range, its meaning, and whether a change takes
effect at once or at the next start.

Exit status: 0 when all files are right, 2 when one is wrong.`

func validateCommand() *cobra.Command {
	var explain, asJSON bool
	var more []string
	c := &cobra.Command{
		Use:        "validate FILE...",
		SuggestFor: []string{"config", "check", "lint", "verify", "test"},
		Short:      "Check configuration files, or explain their settings",
		Long:       validateLong,
		Args: func(c *cobra.Command, files []string) error {
			files = slices.Concat(files, more)
			switch {
			case explain && len(files) > 0:
				return cli.Usage(errors.New("--explain is about all files; leave FILE out"))
			case !explain && len(files) == 0:
				return cli.Usage(fmt.Errorf("no FILE is given; see %s --help", c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			files = slices.Concat(files, more)
			switch {
			case asJSON && explain:
				return explainJSON(cmd.OutOrStdout())
			case explain:
				return explainSettings(cmd.OutOrStdout())
			}
			return validateFiles(cmd, files, asJSON)
		},
	}
	addFiles(c, &more)
	c.Flags().BoolVar(&explain, "explain", false, "print a table of all settings")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result, or that table, as JSON")
	return c
}

// addFiles adds --config to a command whose arguments are configuration files: every other command has that flag.
func addFiles(c *cobra.Command, files *[]string) {
	c.Flags().StringArrayVar(files, "config", nil, "`FILE` to read, as an argument is (repeatable)")
	c.ValidArgsFunction = cli.CompleteYAML
}

// fileResult is what is found of a file, as JSON.
type fileResult struct {
	File  string `json:"file"`
	Right bool   `json:"right"`
	// Models, Pools and Servers are how many a right file has.
	Models   int       `json:"models"`
	Pools    int       `json:"pools"`
	Servers  int       `json:"servers"`
	Mistakes []mistake `json:"mistakes"`
	Notes    []mistake `json:"notes"`
}

// mistake is a mistake or a note. Line and column are 0 if they are not known.
type mistake struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Setting string `json:"setting,omitempty"`
	Reason  string `json:"reason"`
}

// mistakesOf returns the errors of a configuration, or the one text of another error.
func mistakesOf(err error) []mistake {
	var all config.Errors
	var one *config.Error
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = config.Errors{one}
	default:
		return []mistake{{Reason: err.Error()}}
	}
	found := make([]mistake, 0, len(all))
	for _, e := range all {
		found = append(found, mistake{e.File, e.Line, e.Column, e.Field, e.Reason})
	}
	return found
}

// validateFiles checks files, and prints what is wrong with them.
func validateFiles(cmd *cobra.Command, files []string, asJSON bool) error {
	var wrong cli.Lines
	results := make([]fileResult, 0, len(files))
	for _, file := range files {
		one := fileResult{File: file, Mistakes: []mistake{}, Notes: []mistake{}}
		c, err := Validate(file)
		if err != nil {
			wrong = append(wrong, cli.Mistakes(err, (*config.Error).Exact)...)
			one.Mistakes = mistakesOf(err)
			results = append(results, one)
			continue
		}
		one.Right, one.Models, one.Pools = true, len(c.Models), len(c.Servers)
		for _, servers := range c.Servers {
			one.Servers += len(servers)
		}
		for _, note := range notesOn(c) {
			located := config.Locate(note, file)
			one.Notes = append(one.Notes, mistakesOf(located)...)
			if !asJSON { // a note is not a mistake
				fmt.Fprintln(cmd.ErrOrStderr(), "note:", cli.Mistakes(located, (*config.Error).Exact)[0])
			}
		}
		if !asJSON {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: right; models: %d, pools: %d, servers: %d\n", file, one.Models, one.Pools,
				one.Servers)
		}
		results = append(results, one)
	}
	var failed error
	if wrong != nil {
		failed = cli.Usage(wrong)
	}
	if asJSON {
		return errors.Join(printJSON(cmd.OutOrStdout(), results), failed)
	}
	return failed
}

// notesOn returns notes about settings that only harmony up uses, and about what this machine lacks.
func notesOn(c *Validated) []*config.Error {
	var notes []*config.Error
	for _, field := range c.OnlyUp() {
		notes = append(notes, &config.Error{Field: field,
			Reason: "is for harmony up only; harmony controlplane does not use it"})
	}
	return append(notes, c.MissingHere()...)
}

// Validated is a configuration with the servers of each pool, from the configuration and from servers files.
type Validated struct {
	*config.Config
	Servers map[string][]xds.Server
}

// Validate reads a file and its servers files, and builds the resources that Envoys would get. It returns all mistakes
// that it finds.
func Validate(file string) (*Validated, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	resolved, err := c.Resolve()
	if err != nil {
		return nil, config.Locate(err, file)
	}
	servers, wrong := serversOf(resolved)
	known, err := follow.ReadClients(c)
	if e := (*config.Error)(nil); errors.As(err, &e) { // it returns no other
		wrong = append(wrong, e)
	}
	if err := config.Join(wrong...); err != nil {
		return nil, config.Locate(err, file)
	}
	// The module and the certificates depend on the machine of the Envoy, so any names do.
	if _, err = xds.Build(resolved, xds.Options{
		ModulePath: "harmony-filter.wasm", CAFile: "ca.pem", Servers: servers, Clients: known}); err != nil {
		return nil, config.Locate(config.AsError(err), file)
	}
	return &Validated{c, servers}, nil
}

// serversOf returns the servers of each pool, and what is wrong with servers files.
func serversOf(r *config.Resolved) (all map[string][]xds.Server, wrong []*config.Error) {
	all = map[string][]xds.Server{}
	for i := range r.Pools {
		p := &r.Pools[i]
		endpoints := p.Endpoints
		if p.ServersFile != "" {
			more, err := pools.ReadFile(p.ServersFile)
			if err != nil {
				wrong = append(wrong, &config.Error{Field: fmt.Sprintf("pools[%d].servers_file", i), Reason: err.Error()})
			}
			endpoints = slices.Concat(endpoints, more)
		}
		all[p.Name] = nil
		for _, e := range endpoints {
			all[p.Name] = append(all[p.Name], xds.Server{Endpoint: e})
		}
	}
	return all, wrong
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema)
			return err
		},
	}
}
