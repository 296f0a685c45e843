package chat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
)

const long = `Talks to a gateway in the terminal. Reasoning, calls of tools and the answer have colours of their own. Each
line that you write is a message. Without a terminal, each line of the standard input is one.

  /new         begin a new conversation
  /save FILE   write the conversation, as JSON
  /help        show these lines
  /exit        end; so does the end of the input

Without a URL it is the gateway that runs here, else the one that OPENAI_BASE_URL names.

Ctrl-C ends an answer, and else the program. If the model calls a tool, you are asked for its result.

Exit status: 0, 1 if the last answer failed or the gateway cannot be asked, 2 if the command line is wrong.`

const defaultGateway = "http://127.0.0.1:8080"

// options are the flags of the command.
type options struct {
	model, effort, instructions, tools string
	responses                          bool
	layout                             cli.LayoutFlags
}

// Command returns the command "harmony chat".
func Command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "chat [URL]",
		Short: "Talk to a gateway in the terminal",
		Long:  long,
		Example: `  harmony chat
  harmony chat https://llm.example.com --responses --effort high
  echo 'Why is the sky blue?' | harmony chat`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(fmt.Errorf("%q is not expected here; name one gateway, such as %s", args[1], defaultGateway))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "`NAME` of the model (default: the first that the gateway lists)")
	f.BoolVar(&o.responses, "responses", false, "ask by the Responses API; without it by Chat Completions")
	f.StringVar(&o.effort, "effort", "", "how much the model thinks: low, medium or high")
	f.StringVar(&o.instructions, "instructions", "", "`TEXT` that tells the model how to behave")
	f.StringVar(&o.tools, "tools", "", "`FILE` with an array of tools, as JSON")
	o.layout.Add(f)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return runningGateways(), cobra.ShellCompDirectiveNoFileComp
	}
	cli.CompleteWords(c, "effort", "low", "medium", "high")
	return c
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	layout, err := o.layout.Options(cmd.OutOrStdout())
	if err != nil {
		return cli.Usage(err)
	}
	at, err := gatewayOf(args)
	if err != nil {
		return cli.Usage(err)
	}
	base, err := baseURL(at)
	if err != nil {
		return cli.Usage(err)
	}
	tools, err := readTools(o.tools)
	if err != nil {
		return cli.Usage(err)
	}
	a := api{base: base, key: os.Getenv(cli.OpenAIKeyVariable), model: o.model, effort: o.effort,
		instructions: o.instructions, tools: tools}
	if a.model == "" {
		if a.model, err = a.firstModel(cmd.Context()); err != nil {
			return err
		}
	}
	t := &talk{in: bufio.NewReader(cmd.InOrStdin()), out: &printer{w: cmd.OutOrStdout(), color: layout.Color},
		asks: cli.IsTerminal(cmd.InOrStdin())}
	if t.client = (&chatAPI{api: a}); o.responses {
		t.client = &responsesAPI{api: a}
	}
	if t.asks {
		t.out.note(fmt.Sprintf("%s at %s; /help shows what else there is", a.model, base))
	}
	return t.run(cmd.Context())
}

// gatewayOf returns the gateway to talk to: the one that is named, else the one that runs here, else the one that the
// environment names for OpenAI's clients. That may be the server behind the one that runs here.
func gatewayOf(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	running := runningGateways()
	if len(running) > 1 {
		return "", fmt.Errorf("%d gateways run here; name one: %s", len(running), strings.Join(running, ", "))
	}
	named, _ := cli.OpenAIServer()
	return cmp.Or(append(running, named, defaultGateway)...), nil
}

func runningGateways() (urls []string) {
	for _, r := range cli.Runs() {
		if r.Gateway != "" {
			urls = append(urls, r.Gateway)
		}
	}
	slices.Sort(urls)
	return urls
}

// baseURL returns a gateway's URL without /v1.
func baseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is not the URL of a gateway, such as %s", text, defaultGateway)
	}
	return strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1"), nil
}

// client is one of the APIs, with the conversation so far.
type client interface {
	// say adds what the user says.
	say(text string)
	// answer asks for the next answer, and shows it as it comes. It returns the calls that want a result.
	answer(ctx context.Context, show func(lane lane, text string)) ([]call, error)
	// result adds the result of a call.
	result(c call, text string)
	// conversation returns all that was said, to be saved.
	conversation() any
	forget()
}

// call is a call of a tool.
type call struct{ id, name string }

// talk is a conversation in a terminal.
type talk struct {
	client client
	in     *bufio.Reader
	out    *printer
	asks   bool            // whether the input is a terminal
	saved  map[string]bool // the files that it has written
}

// maxLine is how long a message may be, in bytes.
const maxLine = 16 << 20

// run talks until the input ends. The error is that of the last answer.
func (t *talk) run(ctx context.Context) error {
	var failed error
	for {
		line, err := t.read("> ")
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "":
		case name == "/exit" || name == "/quit":
			return failed
		case name == "/new":
			t.client.forget()
			t.out.note("a new conversation")
		case name == "/help":
			t.out.note(long[strings.Index(long, "  /new"):strings.Index(long, "\n\nCtrl-C")])
		case name == "/save":
			t.save(strings.TrimSpace(rest))
		case strings.HasPrefix(line, "/"):
			t.out.note(name + " is not known; /help shows what is")
		default:
			t.client.say(line)
			failed = t.answers(ctx)
		}
	}
}

// answers shows the answer, and those after the results of the tools that it calls.
func (t *talk) answers(ctx context.Context) error {
	for {
		one, stop := signal.NotifyContext(ctx, os.Interrupt)
		calls, err := t.client.answer(one, t.out.show)
		cut := one.Err() != nil && ctx.Err() == nil
		stop()
		t.out.end()
		switch {
		case cut:
			t.out.note("ended by you")
			return nil
		case err != nil:
			t.out.fail(err)
			return err
		case len(calls) == 0:
			return nil
		}
		for _, c := range calls {
			text, err := t.read("result of " + c.name + "> ")
			if err != nil {
				return err
			}
			t.client.result(c, text)
		}
	}
}

// read reads a line. In a terminal it asks for it.
func (t *talk) read(prompt string) (string, error) {
	if t.asks {
		t.out.ask(prompt)
	}
	var line []byte
	for {
		part, err := t.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", fmt.Errorf("a line has more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(line) == 0:
			return "", err
		default:
			return strings.TrimRight(string(line), "\r\n"), nil
		}
	}
}

// save writes the conversation to a file that only the user can read. It replaces no file but its own.
func (t *talk) save(file string) {
	if file == "" {
		t.out.note("write /save FILE")
		return
	}
	path := file
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(file, "~/") {
		path = filepath.Join(home, file[2:])
	}
	if _, err := os.Lstat(path); err == nil && !t.saved[path] {
		t.out.note(file + " exists; name another file")
		return
	}
	text, err := indent(t.client.conversation())
	if string(text) == "null\n" || string(text) == "[]\n" {
		t.out.note("nothing has been said yet")
		return
	}
	if err == nil {
		err = atomicfile.Write(path, text, 0o600)
	}
	if err != nil {
		t.out.fail(err)
		return
	}
	if t.saved == nil {
		t.saved = map[string]bool{}
	}
	t.saved[path] = true
	t.out.note("saved in " + file)
}
