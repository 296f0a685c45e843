// Command harmony runs Harmony Edge and its tools; see harmony help.
//
// It knows flags, files, and how to say what a user should do next. It does not know what the parts that it starts do.
package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/chat"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/fleet"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/look"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/mesh"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/store"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/up"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return cli.Execute(ctx, root(), args, stdout, stderr)
}

// root returns the command harmony, with every command of the program.
func root() *cobra.Command {
	one := []*cobra.Command{up.Command(), chat.Command(), store.Command(), mesh.Command()}
	return cli.Root(slices.Concat(one, fleet.Commands(), look.Commands(), cli.Commands())...)
}
