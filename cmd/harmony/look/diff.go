package look

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

// diffCommand returns the command "harmony inspect diff".
func diffCommand() *cobra.Command {
	o := inspect.DiffOptions{}
	var asJSON, show bool
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say why a server's cache was missed: what of B's prompt differs first from A's",
		Long: `Compares the prompts of two requests, an earlier one (A) and a later one (B). It prints what differs first,
how many tokens are the same before it, and how many a server that has A in its cache computes for B.

A and B are each the body of a request to Chat Completions, Responses or Messages, the record of a request as harmony up
--record FOLDER and harmony record FOLDER write it, an answer of harmony inspect render, or token ids. One may be -, for
standard input. Of a record, what the model wrote is in the cache, too.

Bodies become the prompts that the gateway makes for a gpt-oss model without settings of its own. The records of a model
with settings have its own prompts.

No text of the prompts is printed, unless you ask for it with --show.`,
		Example: `  harmony inspect diff turn1.json turn2.json
  harmony inspect diff --show --block 1 turn1.json turn2.json
  harmony inspect diff --json records/20270115T080000.000Z-a-1.jsonl records/20270115T080012.000Z-a-2.jsonl`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage(fmt.Errorf("two files are compared, not %d; see %s --help", len(args), c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := compareFiles(cmd, args, o)
			if err != nil {
				return err
			}
			if asJSON {
				_, err = cmd.OutOrStdout().Write(append(d.AppendJSON(nil), '\n'))
				return err
			}
			return d.Write(cmd.OutOrStdout(), show)
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.API, "api", "", "read bodies as requests to this `API`: chat, responses or messages (default: by "+
		"their shape)")
	flags.StringVar(&o.Date, "date", "", "the `DAY` in the system message of bodies, such as 2026-01-31 (default: of "+
		"the other prompt, or today)")
	flags.IntVar(&o.Block, "block", segments.BlockSize, "how many `TOKENS` a block of the server's cache has: 16 for "+
		"vLLM, 1 for llama.cpp and SGLang")
	flags.BoolVar(&o.Ends, "ends", false, "the server goes on only from where A's prompt ended, as vLLM does by default "+
		"with gpt-oss")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object")
	flags.BoolVar(&show, "show", false, "show a short piece of both prompts where they differ")
	return c
}

// compareFiles compares the files that the arguments name.
func compareFiles(cmd *cobra.Command, args []string, o inspect.DiffOptions) (*inspect.Diff, error) {
	switch {
	case o.Block < 1:
		return nil, cli.Usage(fmt.Errorf("--block %d is no number of tokens; write 1 or more", o.Block))
	case o.API != "" && !slices.Contains([]string{"chat", "responses", "messages"}, o.API):
		return nil, cli.Usage(fmt.Errorf("--api %s is not known; write chat, responses or messages", o.API))
	case args[0] == "-" && args[1] == "-":
		return nil, cli.Usage(errors.New("only one of the two may be -; name a file for the other one"))
	}
	var files [2]inspect.DiffFile
	for i, name := range args {
		in, err := openInput(cmd, args[i:i+1], "the body of a request, or its record,")
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("%w; name a file with the body of a request, or its record, or - for "+
				"standard input", errors.Unwrap(errors.Unwrap(err))))
		}
		files[i].Name = name
		files[i].Data, err = io.ReadAll(io.LimitReader(in, inspect.MaxDiffFile+1))
		in.Close()
		if err != nil {
			return nil, err
		}
	}
	return inspect.NewDiff(o200k.Tokenizer(), files[0], files[1], o)
}
