package look

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

const inspectLong = `Converts texts, conversations and token ids to Harmony and back.

tokenize, render and parse answer JSON lines with JSON lines, one for each, in order, with the line's "id" if it has
one. A line that is not valid input is answered with an error, and the next one is read. docs/inspect.md shows all
forms. explain prints one stream of tokens for people, and diff says why a cache was missed.

Exit status: 0, 1 when something failed or a line was not valid input, 2 when the command line is wrong.`

// inspectCommand returns the command "harmony inspect".
func inspectCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect",
		Short: "Tokenize, render, parse and explain Harmony, without a server",
		Long:  inspectLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(
		linesCommand(inspect.Tokenize, &cobra.Command{
			Use:   "tokenize [FILE]",
			Short: "Turn text into token ids, and ids into text",
			Long: `Reads JSON lines from FILE or standard input.

  {"text": "…"}                   gives {"ids": […]}; text that spells a control token is ordinary text
  {"text": "…", "special": true}  the same, and text that spells a control token is one
  {"ids": […]}                    gives {"text": "…"}; bytes that are not UTF-8, and unknown ids, are U+FFFD`,
			Example: `  echo '{"text":"Hello <|end|>"}' | harmony inspect tokenize
  echo '{"ids":[13225,200007]}' | harmony inspect tokenize`,
		}),
		linesCommand(inspect.Render, &cobra.Command{
			Use:   "render [FILE]",
			Short: "Turn conversations and requests into token ids",
			Long: `Reads JSON lines from FILE or standard input.

  {"conversation": {"messages": […]}, "auto_drop_analysis": true, "next_role": "assistant"}

gives {"completion": […], "training": […]}: the ids of a prompt, and of a training example. The conversation is in the
JSON of OpenAI's openai-harmony, or the same as a string in "conversation_json". Either result may be an error.

  {"model": "gpt-oss-120b", "messages": […]}
  {"model": "gpt-oss-120b", "input": …}

are bodies of requests to Chat Completions and Responses. They give {"completion": […]}: the prompt that the gateway
makes of them for a gpt-oss model without settings of its own, or the status and the error that a client gets. A body
may also be in a field, with the day that the system message has:

  {"id": 1, "chat": {…}, "date": "2026-01-31"}
  {"id": 2, "responses": {…}, "date": "2026-01-31", "turns": true}
  {"id": 3, "messages": {…}}

"messages" is a body of Anthropic's Messages.

With "turns" the answer also has, for each turn with calls, how many ids a server computes again if calls are rendered
as the chat template does.`,
			Example: `  echo '{"conversation":{"messages":[{"role":"user","content":"Hi"}]}}' | harmony inspect render
  echo '{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}' | harmony inspect render`,
		}),
		parseCommand(),
		explainCommand(),
		diffCommand(),
	)
	return c
}

// parseCommand returns the command "harmony inspect parse".
func parseCommand() *cobra.Command {
	var typed bool
	c := &cobra.Command{
		Use:   "parse [FILE]",
		Short: "Turn token ids into messages, strictly or with repairs",
		Long: `Reads JSON lines from FILE or standard input.

  {"tokens": […], "role": "assistant", "strict": true, "resume": false}

gives {"steps": […], "eos": […], "messages": […]}: what OpenAI's parser shows after each token, and its errors.
"role" is the role of the message that the tokens continue, null when they begin with <|start|>.

  {"tokens": […], "role": "assistant", "mode": "tolerant"}
  {"text": "…", "role": "assistant", "cuts": [byte offsets]}

give {"events": […], "recoveries": {…}}: what the filter makes of the same, whatever it is, and what it had to repair.

  {"tokens": […], "role": "assistant", "mode": "typed"}

gives {"content": […], "recoveries": {…}}: the same as a list of reasoning, text, preamble, tool_call, tool_result,
system_content and developer_content. With --typed every line without a mode is read so.`,
		Example: `  echo '{"tokens":[200008,13225,200002],"role":"assistant"}' | harmony inspect parse
  echo '{"text":"<|channel|>final<|message|>Hi","role":"assistant"}' | harmony inspect parse
  echo '{"tokens":[200005,17196,200008,12194,200002]}' | harmony inspect parse --typed`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if typed {
				return answerLines(cmd, args, inspect.ParseTyped)
			}
			return answerLines(cmd, args, inspect.Parse)
		},
	}
	c.Flags().BoolVar(&typed, "typed", false, "give a typed content list for each line that names no mode")
	return c
}

// linesCommand makes c read JSON lines and answer each of them.
func linesCommand(mode inspect.Mode, c *cobra.Command) *cobra.Command {
	c.Args = oneFile
	c.RunE = func(cmd *cobra.Command, args []string) error { return answerLines(cmd, args, mode) }
	return c
}

// answerLines answers the JSON lines of the command's input.
func answerLines(cmd *cobra.Command, args []string, mode inspect.Mode) error {
	in, err := openInput(cmd, args, "JSON lines")
	if err != nil {
		return err
	}
	defer in.Close()
	tally, err := inspect.Run(in, cmd.OutOrStdout(), mode, o200k.Tokenizer())
	if err != nil {
		return err
	}
	if tally.Failed > 0 {
		return fmt.Errorf("%d of %d lines were not valid input; their answers say why", tally.Failed, tally.Lines)
	}
	return nil
}

// oneFile accepts at most one argument.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usage(fmt.Errorf("%q is one file too many; join them with cat, or see %s --help", args[1],
			c.CommandPath()))
	}
	return nil
}

// openInput opens the file in the arguments. Without one, or with -, it returns standard input. what names the expected
// content in a hint.
func openInput(cmd *cobra.Command, args []string, what string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		in := cmd.InOrStdin()
		if cli.IsTerminal(in) {
			fmt.Fprintf(cmd.ErrOrStderr(), "reading %s from the terminal; Ctrl-D ends them\n", what)
		}
		return io.NopCloser(in), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%w; name a file with %s, or leave it out and write to standard input", err, what))
	}
	return f, nil
}
