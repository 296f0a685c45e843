package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/internal/nearest"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// NoArgs accepts no argument. For a command with subcommands, an argument is a misspelt subcommand.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if meant := ConfigMeant(args[0]); meant != "" && c.Flags().Lookup("config") != nil {
		return Usage(fmt.Errorf("%q is not expected here; %ssee %s --help", args[0], DidYouMean(meant), c.CommandPath()))
	}
	var subcommands []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			subcommands = append(subcommands, sub.Name())
		}
	}
	if len(subcommands) == 0 {
		return Usage(fmt.Errorf("%q is not expected here; see %s --help", args[0], c.CommandPath()))
	}
	meant := nearest.Word(args[0], subcommands)
	if elsewhere := meantBy(c.Root(), args[0]); elsewhere != "" && (meant == "" || !c.HasParent()) {
		meant = elsewhere
	}
	return Usage(fmt.Errorf("%s has no command %q; %ssee %s --help", c.CommandPath(), args[0], DidYouMean(meant),
		c.CommandPath()))
}

// ConfigMeant returns --config with an argument that is a configuration file by its name, else "".
func ConfigMeant(arg string) string {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg)) {
		return ""
	}
	return "--config " + arg
}

// meantBy returns the path of a command that has this name, or for which people from other programs write it, or "".
func meantBy(c *cobra.Command, name string) string {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && (sub.Name() == name && c.HasParent() || slices.Contains(sub.SuggestFor, name)) {
			return sub.CommandPath()
		}
	}
	for _, sub := range c.Commands() {
		if path := meantBy(sub, name); path != "" {
			return path
		}
	}
	return ""
}

// checkCommand refuses a misspelt command before its flags are read. Otherwise the error would be about flags that
// another command does not have.
func checkCommand(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if len(args) > 1 && args[0] == "help" {
		args = args[1:]
	}
	c, rest, _ := root.Find(args)
	if c == nil || !c.HasAvailableSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") ||
		strings.HasPrefix(rest[0], "__") {
		return nil // a shell asks for completions with a command that begins with two underscores
	}
	return NoArgs(c, rest[:1])
}

// flagError adds to pflag's error the flag that may have been meant, and how to get help.
func flagError(c *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if name := nearest.Word(unknown.GetSpecifiedName(), known); name != "" {
			hint = DidYouMean("--" + name)
		}
	}
	return Usage(fmt.Errorf("%w; %ssee %s --help", err, hint, c.CommandPath()))
}

// DidYouMean returns the part of an error that names what may have been meant, before a hint where to read on. "" is
// nothing.
func DidYouMean(word string) string {
	if word == "" {
		return ""
	}
	return "did you mean " + strings.TrimSpace(word) + "? Or "
}

// AsUsage marks the error of a control plane that could not begin because of what it was given: its configuration, or
// the filter.
func AsUsage(err error) error {
	var wrong *config.Error
	var module *server.ModuleError
	if errors.As(err, &wrong) || errors.As(err, &module) {
		return Usage(err)
	}
	return err
}
