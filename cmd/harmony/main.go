// Command harmony runs Harmony Edge and its tools; see harmony help.
//
// It knows flags, files, and how to say what a user should do next. It does not know what the parts that it starts do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

// These exit codes are promised to scripts.
const (
	exitFailed = 1 // an error while running
	exitUsage  = 2 // an error of the command line or the configuration; nothing was started
)

// usageError marks an error of the command line or the configuration. The program exits with exitUsage.
type usageError struct{ err error }

// Error implements error.
func (e usageError) Error() string { return e.err.Error() }

// Unwrap returns the error itself, for [errors.As].
func (e usageError) Unwrap() error { return e.err }

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := checkCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "error:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "harmony",
		Short:         "OpenAI Chat Completions and Responses for gpt-oss models, at the edge",
		Version:       version.Current().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("harmony {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(upCommand(), keysCommand(), controlplaneCommand(), statusCommand(), probeCommand(), simCommand(),
		inspectCommand(), filterCommand(), drainCommand(), versionCommand(), meshCommand(), responsesCommand(),
		recordCommand(), pickerCommand(), limitsCommand(), rolloutCommand())
	return root
}
