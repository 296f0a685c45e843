package look

import "github.com/spf13/cobra"

// Commands returns the commands that show and simulate.
func Commands() []*cobra.Command {
	return []*cobra.Command{inspectCommand(), recordCommand(), simCommand()}
}
