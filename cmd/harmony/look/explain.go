package look

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// explainCommand returns the command "harmony inspect explain".
func explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Print a record or a stream of tokens as a transcript, with its repairs",
		Long: `Reads a model's output, a prompt or the record of a request from FILE or standard input, and prints its messages with
their tokens.

The input is token ids, as a JSON array or with spaces or commas between them, or a record as harmony up --record FOLDER
and harmony record FOLDER write it. With --text it is Harmony text, in which <|start|> and its like are control tokens.
With --sse it is the stream of a server that sends token_ids, as curl -N prints it (vLLM: "stream": true,
"return_token_ids": true).

Each token has its id before it, and !kind after it if the parser had to repair something; the last lines explain the
kinds. Tokens are counted from 0. Control characters and the like are escaped, also in texts.`,
		Example: `  echo '[200005,17196,200008,13225,200002]' | harmony inspect explain
  echo '<|channel|>final<|message|>Hi<|end|><|end|>' | harmony inspect explain --text
  harmony inspect explain --times records/20270115T080000.000Z-a-1.jsonl
  curl -sN http://127.0.0.1:8000/v1/completions -H 'content-type: application/json' \
    -d '{"model":"m","prompt":[200006,1428,200008,12194,200007,200006,173781],"stream":true,"return_token_ids":true}' |
    harmony inspect explain --sse`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(cmd.OutOrStdout())
			if err != nil {
				return cli.Usage(err)
			}
			in, err := openInput(cmd, args, "token ids")
			if err != nil {
				return err
			}
			defer in.Close()
			buffered := bufio.NewReader(in)
			if start, _ := buffered.Peek(explain.RecordStart); !f.text && !f.sse && explain.BeginsRecord(start) {
				return explainRecord(cmd.OutOrStdout(), buffered, o)
			}
			if f.times {
				return cli.Usage(errors.New("--times is for records of requests, which this input is not; leave it out"))
			}
			ids, err := f.read(buffered)
			if err != nil && len(ids) == 0 {
				return err
			}
			return errors.Join(explain.Write(cmd.OutOrStdout(), o200k.Tokenizer(), ids, o), err)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.text, "text", false, "the input is Harmony text")
	flags.BoolVar(&f.sse, "sse", false, "the input is a server's stream of events with token_ids")
	flags.StringVar(&f.role, "role", "auto",
		"`ROLE` of the message that the input continues: assistant, or none if it begins with <|start|>")
	flags.BoolVar(&f.noIDs, "no-ids", false, "leave the tokens out, show texts only")
	flags.BoolVar(&f.times, "times", false, "show when each token of a record came")
	f.layout.Add(flags)
	return c
}

// explainRecord prints the record of a request.
func explainRecord(out io.Writer, in io.Reader, o explain.Options) error {
	record, err := explain.ReadRequest(in)
	if record == nil {
		return err
	}
	return errors.Join(explain.WriteRequest(out, o200k.Tokenizer(), record, o), err)
}

type explainFlags struct {
	text, sse, noIDs, times bool
	role                    string
	layout                  cli.LayoutFlags
}

func (f *explainFlags) read(in io.Reader) ([]uint32, error) {
	switch {
	case f.text:
		return explain.ReadText(o200k.Tokenizer(), in)
	case f.sse:
		return explain.ReadSSE(in)
	}
	return explain.ReadIDs(in)
}

// Options checks the flags.
func (f *explainFlags) options(out io.Writer) (explain.Options, error) {
	if f.text && f.sse {
		return explain.Options{}, errors.New("--text and --sse exclude each other; leave one out")
	}
	o, err := f.layout.Options(out)
	o.NoIDs, o.Times = f.noIDs, f.times
	switch f.role {
	case "auto":
	case "assistant":
		o.Begin = explain.InAssistant
	case "none":
		o.Begin = explain.AtStart
	default:
		return o, fmt.Errorf("--role %s is not known; write assistant, none or auto", f.role)
	}
	return o, err
}
