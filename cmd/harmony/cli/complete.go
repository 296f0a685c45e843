package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// takesFile finds the arguments in a command's usage that are files or folders.
var takesFile = regexp.MustCompile(`\b(FILE|FOLDER|A B)\b`)

// CompleteWords completes the value of a flag with one of a few words.
func CompleteWords(c *cobra.Command, flag string, words ...string) {
	complete(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteStarts completes the value of a flag with one of a few beginnings, behind which the value goes on.
func CompleteStarts(c *cobra.Command, flag string, starts ...string) {
	complete(c, flag, cobra.FixedCompletions(starts, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// CompleteBy completes the value of a flag, and an argument of a command without files, with what a function returns.
func CompleteBy(c *cobra.Command, flag string, words func() []string) {
	with := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
	complete(c, flag, with)
	if strings.Contains(c.Use, "ADDRESS") {
		c.ValidArgsFunction = with
	}
}

// CompleteYAML completes an argument with configuration files.
func CompleteYAML(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFiles completes what flags of one name have in common, and the configuration files with the models in them,
// of a command and of those below it. No file is offered where a command takes none.
func completeFiles(c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeFiles(sub)
	}
	argument, _, _ := strings.Cut(c.Use, " --")
	if c.ValidArgsFunction == nil && !takesFile.MatchString(argument) {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	if c.Flags().Lookup("color") != nil {
		CompleteWords(c, "color", "auto", "always", "never")
	}
	if c.Flags().Lookup("config") == nil && c.PersistentFlags().Lookup("config") == nil {
		return
	}
	complete(c, "config", CompleteYAML)
	if c.Flags().Lookup("model") != nil {
		completeModels(c)
	}
}

// completeModels completes --model with the models of the file that --config names.
func completeModels(c *cobra.Command) {
	complete(c, "model", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		file := c.Flag("config")
		if file == nil || file.Value.String() == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		known, err := config.Load(file.Value.String())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for i := range known.Models {
			names = append(names, known.Models[i].Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

func complete(c *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // the command has no such flag
	}
}
