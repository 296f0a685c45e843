package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/inspect/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

func showCommand(file *string) *cobra.Command {
	var data dataFlags
	var layout cli.LayoutFlags
	var chain, asJSON bool
	c := &cobra.Command{
		Use:   "show ID --config FILE --tenant VALUE",
		Short: "Print a stored response as a transcript: its messages, reasoning, calls and results",
		Long: `Prints a stored response as a transcript: its input and output, with reasoning, calls of tools and their results.
With --chain everything that it continues comes first. If the first response that is printed continues another one,
that one is not stored any more.

With --json it prints a line of JSON for each response, as export does. Control characters and the like are escaped in
transcripts.`,
		Example: `  harmony responses show resp_5f1c --store responses.db --no-tenant
  harmony responses show resp_5f1c --config config.yaml --tenant acme --chain | less -R`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := layout.Options(cmd.OutOrStdout())
			if err != nil {
				return cli.Usage(err)
			}
			s, t, err := data.open(cmd.Context(), *file)
			if err != nil {
				return err
			}
			defer s.Close()
			show, flush := transcriptOf(cmd.OutOrStdout(), o)
			if asJSON {
				show, flush = linesOf(cmd.OutOrStdout())
			}
			err = visitTurns(cmd.Context(), s, t, args[0], chain, show)
			if errors.Is(err, store.ErrNotFound) {
				err = fmt.Errorf("%q is not stored for this tenant; it may be deleted, or older than the retention; a response "+
					"of a client with a key needs --client NAME", args[0])
			}
			return errors.Join(err, flush())
		},
	}
	data.add(c)
	layout.Add(c.Flags())
	c.Flags().BoolVar(&chain, "chain", false, "print what the response continues too, the oldest first")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON lines")
	return c
}

// oneID accepts exactly one argument.
func oneID(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage(fmt.Errorf("%d ids are given; write the id of one response; see %s --help", len(args),
			c.CommandPath()))
	}
	return nil
}

// visitTurns calls visit for a response, or for all that it continues and the response.
func visitTurns(ctx context.Context, s *store.Store, t store.Tenant, id string, chain bool,
	visit func(*store.Turn) error) error {
	if chain {
		return s.Turns(ctx, t, id, visit)
	}
	turn, err := s.Turn(ctx, t, id)
	if err != nil {
		return err
	}
	return visit(turn)
}

// linesOf prints turns as JSON lines.
func linesOf(w io.Writer) (show func(*store.Turn) error, flush func() error) {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return func(turn *store.Turn) error { return lines.Encode(turnLine(turn)) }, func() error { return nil }
}

// transcriptOf prints turns as a transcript.
func transcriptOf(w io.Writer, o explain.Options) (show func(*store.Turn) error, flush func() error) {
	t := explain.NewTranscript(w, o)
	return func(turn *store.Turn) error {
		items.Write(t, &items.Turn{Object: turn.Object, Input: bodies(turn.Input), Output: bodies(turn.Output)})
		return nil
	}, t.Flush
}
