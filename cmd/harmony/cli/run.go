package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
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
		Use:   "harmony",
		Short: "OpenAI Chat Completions and Responses for gpt-oss models, at the edge",
		Example: "  harmony up http://127.0.0.1:8000   # a gateway before your inference server\n" +
			"  harmony sim                        # no server yet? This one needs no GPU",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	showVersion(root)
	root.SetFlagErrorFunc(flagError)
	group(root, commands)
	completeFiles(root)
	return root
}

// showVersion gives the root command a flag that prints the version in place of its help. Cobra's own flag does that by a
// template. With a template in the program the linker must keep every method of every type (RATIONALE.md#115).
func showVersion(root *cobra.Command) {
	show := root.Flags().BoolP("version", "v", false, "version for harmony")
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root && *show {
			fmt.Fprintln(c.OutOrStdout(), "harmony", version.Current().Version)
			return
		}
		help(c, args)
	})
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
	for _, line := range Mistakes(err, (*config.Error).Error) {
		fmt.Fprintln(stderr, "error:", line)
	}
	return ExitStatus(err)
}

// Lines is an error of several lines, each of which is printed as an error.
type Lines []string

// Error implements error.
func (l Lines) Error() string { return strings.Join(l, "\n") }

// maxMistakes is how many mistakes of a configuration are printed.
const maxMistakes = 50

// Mistakes returns the texts of all errors of a configuration, or the one text of another error. text returns the text of
// one.
func Mistakes(err error, text func(*config.Error) string) []string {
	var lines Lines
	if errors.As(err, &lines) {
		return lines
	}
	var all config.Errors
	if !errors.As(err, &all) {
		var one *config.Error
		if !errors.As(err, &one) || one.Error() != err.Error() {
			return []string{err.Error()}
		}
		all = config.Errors{one}
	}
	for i, e := range all {
		if i == maxMistakes {
			return append(lines, fmt.Sprintf("and %d more", len(all)-i))
		}
		lines = append(lines, text(e))
	}
	return lines
}

// ExitStatus returns the exit status of the program after an error.
func ExitStatus(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailed
}
