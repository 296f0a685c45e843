package cli

import (
	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// CompleteWords completes the value of a flag with one of a few words.
func CompleteWords(c *cobra.Command, flag string, words ...string) {
	complete(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFiles completes the configuration files, and the models in them, of a command and of those below it.
func completeFiles(c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeFiles(sub)
	}
	if c.Flags().Lookup("config") == nil && c.PersistentFlags().Lookup("config") == nil {
		return
	}
	complete(c, "config", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
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
