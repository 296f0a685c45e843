package cli

import "github.com/spf13/cobra"

// Commands returns the commands that are about the program itself.
func Commands() []*cobra.Command {
	return []*cobra.Command{versionCommand(), filterCommand(), manCommand()}
}
