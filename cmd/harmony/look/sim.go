package look

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// simFlags are the flags of harmony sim. Flags that are parsed before they are options are fields of their own.
type simFlags struct {
	options                         sim.Options
	listen, perChunk, fault, script string
	quiet                           bool
}

// simCommand returns the command "harmony sim".
func simCommand() *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run a simulated GPU server that speaks vLLM's API, or another server's",
		Long: `Runs a server that speaks vLLM's API or another server's (--kind) without a GPU: it reads the Harmony prompt
it is given as token ids and answers as a small gpt-oss would, always the same for the same prompt. It calls a declared
function when one fits the last user message, and uses a tool's result when there is one. With --kind chat it takes
conversations, and --chat-form says how it shows reasoning.

Also served: the kind's pages, such as /v1/models, /health and /metrics. HTTP/1.1 and HTTP/2 in clear text.`,
		Example: `  harmony sim
  harmony sim --listen 127.0.0.1:8001 --model gpt-oss-20b --tokens-per-second 80 --ttft 300ms
  harmony sim --fault close:5
  harmony sim --kind chat --chat-form think
  harmony sim --script answers.jsonl --tokens-per-chunk all --cut-bytes 1`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(); err != nil {
				return cli.Usage(err)
			}
			if !f.quiet {
				f.options.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runSim(ctx, cmd, f.options, f.listen)
		},
	}
	f.add(c.Flags())
	cli.CompleteWords(c, "kind", sim.Kinds()...)
	cli.CompleteWords(c, "front-end", sim.PythonFrontEnd, sim.RustFrontEnd)
	return c
}

// read checks the flags and reads them into the options.
func (f *simFlags) read() error {
	o := &f.options
	var err error
	if o.Fault, err = sim.ParseFault(f.fault); err != nil {
		return fmt.Errorf("--fault: %w", err)
	}
	if o.TokensPerChunk, err = parsePerChunk(f.perChunk); err != nil {
		return err
	}
	if _, err := config.ParseListen(f.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if !slices.Contains(sim.Kinds(), o.Kind) {
		return fmt.Errorf("--kind: %q is not known; write %s", o.Kind, strings.Join(sim.Kinds(), ", "))
	}
	if o.FrontEnd != sim.PythonFrontEnd && o.FrontEnd != sim.RustFrontEnd {
		return fmt.Errorf("--front-end: %q is neither %s nor %s", o.FrontEnd, sim.PythonFrontEnd, sim.RustFrontEnd)
	}
	if !slices.Contains([]string{"", sim.RolePrefill, sim.RoleDecode}, o.Role) {
		return fmt.Errorf("--role: %q is not known; write %s or %s", o.Role, sim.RolePrefill, sim.RoleDecode)
	}
	if !slices.Contains(sim.ChatForms(), o.ChatForm) {
		return fmt.Errorf("--chat-form: %q is not known; write %s", o.ChatForm, strings.Join(sim.ChatForms(), ", "))
	}
	if err := checkBatch(o); err != nil {
		return err
	}
	o.Keep = -1
	return f.readScript()
}

// readScript reads the file of ready answers, if there is one.
func (f *simFlags) readScript() error {
	if f.script == "" {
		return nil
	}
	file, err := os.Open(f.script)
	if err != nil {
		return fmt.Errorf("--script: %w", err)
	}
	defer file.Close()
	if f.options.Script, err = sim.ReadScript(file, o200k.Tokenizer()); err != nil {
		return fmt.Errorf("--script: %s: %w", f.script, err)
	}
	return nil
}

// add adds the flags to a command's.
func (f *simFlags) add(flags *pflag.FlagSet) {
	o := &f.options
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8000", "address to listen on; port 0 takes a free one")
	flags.StringArrayVar(&o.Models, "model", []string{sim.DefaultModel},
		"served model `name`; repeatable, answers carry the first")
	flags.IntVar(&o.MaxModelLen, "max-model-len", sim.DefaultMaxModelLen, "context length in `tokens`")
	flags.StringVar(&o.Kind, "kind", sim.VLLM, "`KIND` of server to simulate: "+strings.Join(sim.Kinds(), ", "))
	flags.StringVar(&o.FrontEnd, "front-end", sim.PythonFrontEnd,
		"`NAME` of the front end of vLLM to simulate: python or rust")
	flags.BoolVar(&o.IncrementalStreaming, "incremental-streaming-output", false,
		"send only new tokens in each event, for --kind sglang")
	flags.StringVar(&o.APIKey, "api-key", "", "`key` required as a bearer token under /v1")
	flags.Float64Var(&o.TokensPerSecond, "tokens-per-second", 0, "pace of the answer; 0 is as fast as possible")
	flags.DurationVar(&o.TimeToFirstToken, "ttft", 0, "time to the first token")
	flags.StringVar(&f.perChunk, "tokens-per-chunk", "1", "`tokens` in one event, or all")
	flags.IntVar(&o.MaxRunning, "max-running", 0, "`requests` that generate at once, the others wait; 0 is no limit")
	addBatchFlags(flags, o)
	addPieceFlags(flags, o)
	flags.BoolVar(&o.PromptTokensDetails, "enable-prompt-tokens-details", false, "report cached prompt tokens in usage")
	flags.BoolVar(&o.ReasoningConfig, "reasoning-config", false, "honour thinking_token_budget")
	flags.BoolVar(&o.AnyPrompt, "any-prompt", false, "answer prompts that are not well-formed Harmony too, instead of 400")
	flags.BoolVar(&o.TextSpecials, "text-specials", false, "read special tokens out of text prompts, as a real vLLM does")
	flags.BoolVar(&o.OtherVocabulary, "other-vocabulary", false, "answer /tokenize with the ids of another vocabulary")
	flags.BoolVar(&o.PrintSpecials, "print-specials", false, "spell special tokens in answers, for --kind text")
	flags.StringVar(&o.Role, "role", "", "`ROLE` in a divided pool, for kinds of vLLM and SGLang: prefill or decode")
	flags.StringVar(&o.TransferListen, "transfer-listen", "127.0.0.1:0",
		"address where --role prefill hands over prompts, such as SGLang's bootstrap port")
	addChatFlags(flags, o)
	flags.StringVar(&f.fault, "fault", "none", "fault of every completion:\n"+sim.FaultHelp+"\n")
	flags.BoolVar(&o.AllowHeaders, "allow-headers", false,
		"let the request header x-sim-fault name a fault for its request")
	flags.StringVar(&f.script, "script", "", "`file` of ready answers as JSON lines: {\"match\": text in the prompt "+
		"(optional),\n"+
		"\"tokens\": [ids] or \"text\": harmony text, \"chunks\": [sizes], \"fault\": fault, \"finish\": reason}")
	flags.BoolVar(&f.quiet, "quiet", false, "log no requests")
}

// addPieceFlags adds the flags that cut answers into pieces.
func addPieceFlags(f *pflag.FlagSet, o *sim.Options) {
	f.IntVar(&o.CutBytes, "cut-bytes", 0, "flush answers in pieces of so many `bytes`; 0 flushes whole events")
	f.IntSliceVar(&o.CutAt, "cut-at", nil, "flush answers at these byte `offsets` only, and at the end")
	f.DurationVar(&o.CutPause, "cut-pause", 0, "pause between two pieces")
}

// addBatchFlags adds the flags of an engine that computes its requests in batches.
func addBatchFlags(f *pflag.FlagSet, o *sim.Options) {
	f.IntVar(&o.CacheBlocks, "cache-blocks", 0,
		"compute requests in batches, with a cache of so many `blocks`; 0 does not")
	f.IntVar(&o.BlockSize, "block-size", 0, "`tokens` in a block of the cache; 0 is the kind's own")
	f.Float64Var(&o.PrefillRate, "prefill-rate", 0, "`tokens` a second of prompts that are not in the cache, with "+
		"--cache-blocks; 0 takes no time")
	f.Float64Var(&o.DecodeRate, "decode-rate", 0, "`tokens` a second of all answers, with --cache-blocks; 0 takes no time")
	f.DurationVar(&o.StepTime, "step-time", 0, "time of a step without its tokens, with --cache-blocks")
}

// checkBatch refuses options of an engine that do not go together.
func checkBatch(o *sim.Options) error {
	batches := o.CacheBlocks != 0
	switch {
	case o.CacheBlocks < 0 || o.CacheBlocks == 1:
		return errors.New("--cache-blocks: write 0 or a number from 2")
	case o.BlockSize < 0 || o.PrefillRate < 0 || o.DecodeRate < 0 || o.StepTime < 0:
		return errors.New("--block-size, --prefill-rate, --decode-rate and --step-time must not be negative")
	case !batches && (o.PrefillRate > 0 || o.DecodeRate > 0 || o.StepTime > 0):
		return errors.New("--prefill-rate, --decode-rate and --step-time need --cache-blocks")
	case batches && (o.TokensPerSecond > 0 || o.TimeToFirstToken > 0):
		return errors.New("--cache-blocks: a batch has its own time; leave out --tokens-per-second and --ttft")
	case batches && o.Role != "":
		return errors.New("--cache-blocks is not for servers with a --role")
	}
	return nil
}

// addChatFlags adds the flags of the kind chat.
func addChatFlags(f *pflag.FlagSet, o *sim.Options) {
	f.StringVar(&o.ChatForm, "chat-form", sim.ChatForms()[0],
		"`FORM` of reasoning in answers of --kind chat: "+strings.Join(sim.ChatForms(), ", "))
	f.StringVar(&o.ChatMarker, "chat-marker", sim.DefaultChatMarker, "`text` after reasoning, for --chat-form marker")
	f.StringVar(&o.APIPath, "api-path", "/v1", "`path` in place of /v1, such as /openai/v1")
	f.BoolVar(&o.OpenAIOnly, "openai-only", false, "refuse what OpenAI's API does not know, for --kind chat")
	f.BoolVar(&o.NoDeveloper, "no-developer", false, "refuse the role developer, for --kind chat")
	f.BoolVar(&o.TextOnly, "text-only", false, "refuse images, sound and files, for --kind chat")
	f.BoolVar(&o.ChatWhole, "chat-whole", false, "answer requests for a stream with one object, for --kind chat")
	f.BoolVar(&o.NoUsage, "no-usage", false, "send no usage, for --kind chat")
	f.BoolVar(&o.OneCall, "one-call", false, "end an answer after its first call, for --kind chat")
}

// runSim serves until the context ends.
func runSim(ctx context.Context, cmd *cobra.Command, o sim.Options, listen string) error {
	if err := cli.PortFree(listen, "--listen"); err != nil {
		return err
	}
	s := sim.New(o)
	defer s.Close()
	url, err := s.Start(listen)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), url)
	<-ctx.Done()
	return nil
}

func parsePerChunk(s string) (int, error) {
	if strings.EqualFold(s, "all") {
		return sim.AllTokens, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--tokens-per-chunk: %q is neither a number from 1 nor all", s)
	}
	return n, nil
}
