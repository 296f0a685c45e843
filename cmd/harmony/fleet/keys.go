package fleet

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const keysLong = `Makes clients' keys, and checks the file with their hashes (clients.keys_file of the configuration).

  harmony keys new team-search          # prints a key once, and the entry for the file
  harmony keys check keys.yaml --config config.yaml`

func keysCommand() *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "Make and check clients' keys", Long: keysLong, Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(newKeyCommand(), checkKeysCommand())
	return c
}

const newKeyLong = `Makes a key for a client, and prints it and the entry for the keys file. The file has only the key's hash, and the
key cannot be found from it. A client may have several keys: each is one more line under hashes.

Standard output has the entry. The key is on standard error, so that the entry can be appended to the file:

  harmony keys new team-search >> keys.yaml`

func newKeyCommand() *cobra.Command {
	var deputy bool
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a key for a client",
		Long:  newKeyLong,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return cli.Usage(fmt.Errorf("one NAME of a client is expected; see %s --help", c.CommandPath()))
			case args[0] == clients.Anonymous || !contract.ValidClient(args[0]):
				return cli.Usage(fmt.Errorf("%q is not a client's name; use at most %d letters, digits and . _ - @ : / +", args[0],
					contract.MaxClientName))
			case args[0] == clients.Service && !deputy:
				return cli.Usage(fmt.Errorf("%s is the name of a service that sends requests of others; add --deputy", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			key := clients.NewKey()
			var entry strings.Builder
			fmt.Fprintf(&entry, "  - name: %q\n    hashes: [%q]\n", args[0], clients.HashOf(key).String())
			if deputy {
				entry.WriteString("    deputy: true\n")
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), entry.String()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "the key, which is not shown again: %s\n"+
				"its entry belongs under clients: in the keys file\n", key)
			return err
		},
	}
	c.Flags().BoolVar(&deputy, "deputy", false,
		"let the client send requests of other clients, as the responses service does")
	return c
}

// checkedKeys is what is found of a keys file.
type checkedKeys struct {
	File     string   `json:"file"`
	Clients  int      `json:"clients"`
	Hashes   int      `json:"hashes"`
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
}

func (k *checkedKeys) print(cmd *cobra.Command) error {
	for _, text := range k.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text)
	}
	for _, text := range k.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", text)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: right; clients: %d, hashes: %d\n", k.File, k.Clients, k.Hashes)
	return err
}

func checkKeysCommand() *cobra.Command {
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a keys file",
		Long: "Checks a keys file as the gateway reads it. With --config it also finds models that the configuration does not " +
			"have.\n\nIt warns of limits of tokens that a request without max_tokens can never meet.\n\n" +
			"Exit status: 0 when the file is right, 2 when it is wrong.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("one FILE is expected; see %s --help", c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := clients.Load(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			c := config.Default()
			if file != "" {
				if c, err = config.Load(file); err != nil {
					return cli.Usage(err)
				}
				if err := unknownModels(f, c); err != nil {
					return cli.Usage(fmt.Errorf("%s: %w", args[0], err))
				}
			}
			checked := checkedKeys{File: args[0], Clients: len(f.Clients), Notes: []string{}}
			checked.Warnings = append([]string{}, smallLimits(f, c)...)
			for i := range f.Clients {
				checked.Hashes += len(f.Clients[i].Hashes)
				if len(f.Clients[i].Hashes) == 0 && f.Clients[i].Name != clients.Anonymous {
					checked.Notes = append(checked.Notes, f.Clients[i].Name+" has no hash, so no key is its")
				}
			}
			if info, err := os.Stat(args[0]); err == nil && info.Mode().Perm()&fs.FileMode(0o022) != 0 {
				checked.Warnings = append(checked.Warnings, "others may write "+args[0]+", and so let anybody in; chmod 600 "+args[0])
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), checked)
			}
			return checked.print(cmd)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON, for scripts")
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` whose models the limits are about")
	return c
}

// unknownModels returns an error for the first limits of a model, or the first class, that the configuration does not
// have.
func unknownModels(f *clients.File, c *config.Config) error {
	for i := range f.Clients {
		if class := f.Clients[i].Class; class != "" &&
			!slices.ContainsFunc(c.Clients.Classes, func(known config.Class) bool { return known.Name == class }) {
			return fmt.Errorf("clients[%d].class: the configuration has no class %s; add it to clients.classes there", i, class)
		}
		for j, m := range f.Clients[i].Models {
			if !slices.ContainsFunc(c.Models, func(known config.Model) bool { return known.Name == m.Name }) {
				return fmt.Errorf("clients[%d].models[%d].name: the configuration has no model %s; write its name, not an alias",
					i, j, m.Name)
			}
		}
	}
	return nil
}
