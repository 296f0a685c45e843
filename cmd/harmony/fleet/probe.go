package fleet

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/found"
	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/probe"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

const probeLong = `Asks an inference server which program it is, which models it has, and whether the gateway can use it.
The server is sent the filter's own request, for one token, as each kind of server. If it has /tokenize, its ids of 50
texts are compared with the filter's. A server of another model is asked what it can do with conversations. Then the
configuration for this server is printed. The URL of a hosted API may have a path.

  harmony probe http://127.0.0.1:8000
  harmony probe https://api.groq.com/openai/v1 --key-env GROQ_API_KEY --server-model qwen/qwen3-32b
  harmony probe http://127.0.0.1:8000 --report > report.md

Exit status: 0 when the gateway can use the server, 1 when it cannot or when there is no answer, 2 when the command
line is wrong.`

// probeFlags are the flags of harmony probe.
type probeFlags struct {
	serverModel, keyVariable string
	report, asJSON           bool
}

func probeCommand() *cobra.Command {
	var f probeFlags
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "Find out what an inference server is, and how to configure it",
		Long:  probeLong,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("one URL is expected, such as http://127.0.0.1:8000; see %s --help",
					c.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	c.Flags().StringVar(&f.serverModel, "server-model", "",
		"`NAME` that the server knows the model by (default: its first model, gpt-oss if it has several)")
	c.Flags().StringVar(&f.keyVariable, "key-env", "", "`VARIABLE` of the environment that has the server's API key")
	c.Flags().BoolVar(&f.report, "report", false, "print a page of Markdown for an issue")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the facts and the configuration as JSON, for scripts")
	c.MarkFlagsMutuallyExclusive("report", "json")
	return c
}

func (f *probeFlags) run(cmd *cobra.Command, url string) error {
	s, err := found.Ask(cmd.Context(), url, found.Options{Model: f.serverModel, KeyVariable: f.keyVariable})
	if err != nil {
		return err
	}
	out := probeOutput{Writer: cmd.OutOrStdout(), Server: s, report: s.Report}
	switch {
	case f.asJSON:
		if err := printJSON(out, out.json()); err != nil {
			return err
		}
	case f.report:
		out.page()
	default:
		out.facts()
		out.configuration()
	}
	return s.Unusable()
}

// probeOutput prints a report.
type probeOutput struct {
	io.Writer
	*found.Server
	report *probe.Report
}

// fact is one line of the output.
type fact struct{ name, value string }

func (o *probeOutput) list() []fact {
	r := o.report
	facts := []fact{
		{"server", r.Program()},
		{"models", pools.Quoted(r.Models)},
	}
	if len(r.Kinds) == 0 {
		return facts // it was asked for nothing, such as a gateway
	}
	facts = append(facts, fact{"asked for", strconv.Quote(r.Model)},
		fact{"context", cmp.Or(cli.IfTrue(r.Context > 0, strconv.Itoa(r.Context)+" tokens"), "not told")},
		fact{"model type", cmp.Or(r.ModelType, "not told")})
	for i := range r.Kinds {
		facts = append(facts, fact{"as " + r.Kinds[i].Name, kindText(&r.Kinds[i])})
	}
	if k := r.Kind(); k != nil && k.StructuralTags {
		facts = append(facts, fact{"structural tags", cmp.Or(cli.IfTrue(k.TagProblem != "", "no: "+k.TagProblem), "yes")})
	}
	if r.Chat != nil {
		return append(append(facts, chatFacts(r.Chat)...), fact{"metrics", metricsText(r)})
	}
	if r.Render != nil {
		return append(append(facts, renderFacts(r.Render)...), fact{"metrics", metricsText(r)})
	}
	if r.Cache != nil {
		facts = append(facts, fact{"keeps answers", cacheText(r.Cache)})
	}
	return append(facts, fact{"tokenizer", textsText(&r.Texts)},
		fact{"metrics", metricsText(r)})
}

// cacheText says whether a server finds in its cache what the model wrote.
func cacheText(c *probe.Cache) string {
	found := fmt.Sprintf("of %d + %d tokens its cache had %d", c.Prompt, c.Written, c.Found)
	switch {
	case c.Problem != "":
		return "unknown: " + c.Problem
	case c.KeepsWritten():
		return "yes: " + found
	}
	return "no: " + found + "; see --prefix-cache-retention-interval"
}

// chatFacts describes what a server can do with conversations.
func chatFacts(c *probe.Chat) []fact {
	facts := []fact{
		{"reasoning", cmp.Or(cli.IfTrue(c.Reasoning != probe.NoReasoning, "in "+string(c.Reasoning)), "none was seen")},
		{"earlier reasoning", historyTexts[c.History]},
	}
	for _, a := range []struct {
		name string
		able probe.Ability
	}{
		{"developer role", c.Developer}, {"tool calls", c.Tools}, {"JSON schemas", c.Schemas}, {"logprobs", c.Logprobs},
		{"token ids", c.TokenIDs}, {"token counts", c.Tokenize},
	} {
		facts = append(facts, fact{a.name, cmp.Or(cli.IfTrue(!a.able.Can(), "no: "+a.able.Problem), "yes")})
	}
	return facts
}

// renderFacts describes what a server's template makes of conversations.
func renderFacts(r *probe.Render) []fact {
	if r.Problem != "" {
		return []fact{{"template", "unknown: " + r.Problem}}
	}
	calls := cmp.Or(r.Speaks, "in no form that the gateway reads, such as "+strconv.Quote(r.Call)+"; they will be text")
	opens := "reasoning is found between think tags"
	if r.Opened {
		opens = "the prompt ends in <think>"
	}
	tokens := "not listed, so those of all families count; vLLM lists them with --enable-tokenizer-info-endpoint"
	if len(r.Spellings) > 0 {
		tokens = cli.Plural(len(r.Spellings), "text") + " that no user's text may spell"
	}
	return []fact{{"calls", calls}, {"reasoning", opens}, {"earlier reasoning", historyTexts[r.History]},
		{"control tokens", tokens}}
}

// historyTexts describe the values of chat.reasoning_history.
var historyTexts = map[string]string{
	contract.ReasoningContentOnly: "accepted in reasoning_content",
	contract.ReasoningOnly:        "accepted in reasoning alone",
	contract.ReasoningThinkTags:   "goes back in think tags",
	contract.ReasoningNone:        "not accepted in a member of its own",
}

// kindText describes how the server answered as a kind.
func kindText(k *probe.Kind) string {
	if !k.Works() {
		return "no: " + k.Problem
	}
	if k.Conversations {
		return "yes: takes conversations" + cli.IfTrue(k.Text != "", " and returns text, such as "+strconv.Quote(k.Text))
	}
	if k.Text != "" {
		takes := "takes ids and "
		if k.TextPrompts {
			takes = ""
		}
		return "yes: " + takes + "returns text, such as " + strconv.Quote(k.Text) +
			cli.IfTrue(!k.Expected(), ", where gpt-oss writes analysis: is it a gpt-oss model?")
	}
	text := fmt.Sprintf("yes: takes ids and returns ids; its first token is %s", k.FirstToken())
	if k.Counted == 0 {
		text += "; it does not count the prompt's tokens"
	}
	if !k.Expected() {
		text += ", where gpt-oss writes <|channel|>: is it a gpt-oss model?"
	}
	return text
}

func metricsText(r *probe.Report) string {
	if r.Metrics == 0 {
		return "none"
	}
	text := cli.Plural(r.Metrics, "metric")
	if r.Load.Running >= 0 {
		text += fmt.Sprintf("; %d requests running", r.Load.Running)
	}
	if r.Load.Waiting >= 0 {
		text += fmt.Sprintf(", %d waiting", r.Load.Waiting)
	}
	if r.Load.Cache >= 0 {
		text += fmt.Sprintf(", %.0f %% of the KV cache used", 100*r.Load.Cache)
	}
	return text
}

func textsText(t *engine.Texts) string {
	if t.All() == 0 {
		return "not compared: it has no /tokenize"
	}
	text := fmt.Sprintf("the same ids for %d of %d texts", t.Same, t.All())
	if t.Split > 0 {
		text += fmt.Sprintf("; %d are split otherwise, which is harmless: prompts are sent as ids", t.Split)
	}
	if t.Other > 0 {
		text += fmt.Sprintf("; %d have ids of another vocabulary", t.Other)
	}
	return text
}

func (o *probeOutput) facts() {
	fmt.Fprintln(o, o.URL())
	w := tabwriter.NewWriter(o, 0, 0, 2, ' ', 0)
	for _, f := range o.list() {
		fmt.Fprintf(w, "  %s\t%s\n", f.name, f.value)
	}
	_ = w.Flush() // an error of the output has no better place
}

// configuration prints the file for this server, and the command that does the same.
func (o *probeOutput) configuration() {
	if file := o.File(); file != "" {
		fmt.Fprintf(o, "\nA configuration file for it:\n\n%s", file)
	}
	if command := o.Command(); command != "" {
		fmt.Fprintf(o, "\nThe same without a file:\n\n  %s\n", command)
	}
}

// page prints a page of Markdown. It names no address and no key, since issues are public.
func (o *probeOutput) page() {
	r := o.report
	fmt.Fprintf(o, "## `harmony probe`\n\nHarmony Edge %s\n\n| | |\n|---|---|\n", version.Current().Version)
	for _, f := range o.list() {
		fmt.Fprintf(o, "| %s | %s |\n", f.name, mdCell(f.value))
	}
	fmt.Fprintf(o, "| usable | %s |\n", mdCell(cmp.Or(r.Problem(), "yes")))
	if r.Texts.Example != "" {
		fmt.Fprintf(o, "| a text with other ids | %s |\n", mdCell(r.Texts.Example))
	}
	fmt.Fprint(o, "\n| request | status | |\n|---|---|---|\n")
	for _, q := range r.Requests {
		fmt.Fprintf(o, "| %s %s | %s | %s |\n", q.Method, q.Path,
			cmp.Or(cli.IfTrue(q.Status > 0, strconv.Itoa(q.Status)), "none"),
			mdCell(q.Error))
	}
}

// mdCell returns a text as a cell of a Markdown table. A server's words are shown as they are, and not as markup.
func mdCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "\n", " ", "@", "@\u2060").Replace(text)
}
