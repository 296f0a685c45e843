// Command harmony runs Harmony Edge and its tools; see harmony help.
//
// It knows flags, files, and how to say what a user should do next. It does not know what the parts that it starts do.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return execute(ctx, root(), args, stdout, stderr)
}

// root returns the command harmony, with every command of the program.
func root() *cobra.Command {
	return rootCommand(upCommand(), keysCommand(), controlplaneCommand(), statusCommand(), probeCommand(), simCommand(),
		inspectCommand(), filterCommand(), drainCommand(), versionCommand(), meshCommand(), responsesCommand(),
		recordCommand(), pickerCommand(), limitsCommand(), rolloutCommand())
}
