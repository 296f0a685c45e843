package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

// These exit codes are promised to scripts.
const (
	ExitFailed = 1 // an error while running
	ExitUsage  = 2 // an error of the command line or the configuration; nothing was started
)

// Usage marks an error of the command line or the configuration. The program exits with [ExitUsage].
func Usage(err error) error { return usageError{err} }

type usageError struct{ err error }

// Error implements error.
func (e usageError) Error() string { return e.err.Error() }

// Unwrap returns the error itself, for [errors.As].
func (e usageError) Unwrap() error { return e.err }

// Root returns the command harmony with these commands below it.
func Root(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "harmony",
		Short:         "OpenAI Chat Completions and Responses for gpt-oss models, at the edge",
		Version:       version.Current().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("harmony {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(commands...)
	return root
}

// Execute runs the command line args of a root command. It returns the exit status of the program.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
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
	return ExitStatus(err)
}

// ExitStatus returns the exit status of the program after an error.
func ExitStatus(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailed
}
