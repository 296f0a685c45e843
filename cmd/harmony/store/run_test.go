package store

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// run runs the program with the commands of this package, and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Execute(ctx, cli.Root(Command()), args, stdout, stderr)
}

// command runs a command line, and returns the exit status and what was printed.
func command(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	code = run(ctx, args, &out, &errors)
	return code, out.String(), errors.String()
}
