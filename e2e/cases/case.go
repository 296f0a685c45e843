//go:build e2e

package cases

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// Case is one file of this folder: what a client sends, what the server answers, what the client must see. The file is
// a txtar archive. Its comment says what the case is about, and its members are
//
//	request   the client's request as it stands on the wire: request line, headers, empty line, body
//	script    the server's answers, as sim reads them; without it the simulated model answers
//	settings  lines KEY VALUE: body_limit, stall_timeout_ms, settings of contract.Settings and contract.ModelSettings by
//	          their last name (reasoning_efforts: one word for all four), route (see setRoute), front_end (which of vLLM's the server is:
//	          python, rust), server_context (its context, in tokens), server_fault, tokens_per_chunk, settings of
//	          setChatServer,
//	          reduced_differs (the capability that reduced mode lacks, where it shows something else)
//	want      the client's view, normalised: status line, content-type, empty line, body; written by -update
//	want reduced
//	          the same in reduced mode, where it differs
//	want chat the same before a server that takes conversations, where it says something else
//	prompt    the decoded prompt that the server received, written by -update; "none" if no request reached it
//	sent      the body that the server received, without the ids of its prompt; written by -update where there is such a
//	          member, which is there in cases that are about it
type Case struct {
	Name    string
	path    string
	archive *txtar.Archive

	Method, Target string
	Header         http.Header
	Body           []byte
	Settings       map[string]string
	// ReducedDiffers is the setting of that name: it says something about the case, not about the gateway.
	ReducedDiffers string
	// kind is the kind of the case's server; empty is vLLM.
	kind string
	// printSpecials is sim.Options.PrintSpecials, and incremental sim.Options.IncrementalStreaming.
	printSpecials, incremental bool
}

// On returns the case before a server of another kind.
func (c *Case) On(kind string) *Case {
	other := *c
	other.kind = kind
	return &other
}

// ServerKind is the kind of the case's server.
func (c *Case) ServerKind() *contract.Kind { return contract.KindNamed(cmp.Or(c.kind, contract.VLLM)) }

// Printed returns the case before a server that spells control tokens in the text of its answers.
func (c *Case) Printed() *Case {
	other := *c
	other.printSpecials = true
	return &other
}

// Incremental returns the case before an SGLang that was started with --incremental-streaming-output.
func (c *Case) Incremental() *Case {
	other := *c
	other.incremental = true
	return &other
}

// All reads every case. Finding none is a failure.
func All(t *testing.T) []*Case {
	t.Helper()
	paths, err := filepath.Glob(file("*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	var cases []*Case
	for _, path := range paths {
		c, err := read(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// Load reads the case of a name.
func Load(t *testing.T, name string) *Case {
	t.Helper()
	c, err := read(file(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// Reload reads the case's file once more.
func (c *Case) Reload(t *testing.T) *Case {
	t.Helper()
	again, err := read(c.path)
	if err != nil {
		t.Fatalf("%s: %v", c.path, err)
	}
	again.kind = c.kind
	return again
}

// file returns the path of a case's file. $HARMONY_CASES names another folder of cases.
func file(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("HARMONY_CASES"), lab.File("e2e/cases")), name+".txtar")
}

func read(path string) (*Case, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &Case{
		Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive,
		Header: http.Header{}, Settings: map[string]string{},
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, fmt.Errorf("no comment says what the case is about")
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "request", "script", "settings", "want", WantReduced, WantChat, "prompt", "sent":
		default:
			return nil, fmt.Errorf("unknown member %q", f.Name)
		}
	}
	for line := range strings.Lines(c.Member("settings")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "":
		case "reduced_differs":
			c.ReducedDiffers = value
		default:
			c.Settings[key] = value
		}
	}
	return c, c.readRequest()
}

// Member returns the text of a member of the file, or an empty string.
func (c *Case) Member(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// IsAboutSent says that the case has a member "sent".
func (c *Case) IsAboutSent() bool {
	return slices.ContainsFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == "sent" })
}

func (c *Case) readRequest() error {
	r := bufio.NewReader(strings.NewReader(c.Member("request")))
	line, err := r.ReadString('\n')
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	var ok bool
	if c.Method, c.Target, ok = strings.Cut(strings.TrimSpace(line), " "); !ok {
		return fmt.Errorf("request line %q", line)
	}
	for {
		line, err := r.ReadString('\n')
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		c.Header.Add(name, strings.TrimSpace(value))
		if err != nil {
			break
		}
	}
	body, err := io.ReadAll(r)
	// The archive ends every member with a line end that is not the body's.
	c.Body = bytes.TrimSuffix(body, []byte("\n"))
	return err
}

// Config is the gateway's configuration for the case: one model with a pinned date, served at server.
func (c *Case) Config(server string) (*config.Config, error) {
	m := config.DefaultModel(lab.Model, cmp.Or(c.kind, contract.VLLM)+"="+server+c.Settings["server_path"])
	if !c.ServerKind().Conversations {
		m.System.Date, m.AcceptTextPrompts = lab.Date, true
	}
	out := config.Default()
	out.Listen, out.Envoy.Concurrency = "127.0.0.1:0", 1
	out.BodyLimit, out.StallTimeout = 1<<20, config.Duration(20*time.Second)
	for key, value := range c.Settings {
		var err error
		switch key {
		case "body_limit":
			err = out.BodyLimit.Set(value)
		case "route":
			err = c.setRoute(out, &m, server, value)
		case "stall_timeout_ms":
			err = out.StallTimeout.Set(value + "ms")
		default:
			if slices.Contains(serverSettings, key) {
				continue
			}
			err = setNamed(append(out.Settings.Fields(), m.ModelSettings.Fields()...), key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("settings: %s: %w", key, err)
		}
	}
	out.Models = []config.Model{m}
	return out, nil
}

var errUnknownSetting = errors.New("unknown setting")

// setNamed sets the first field called key, in a block too: BLOCK.FIELD is the one of that block. A block that is
// called so gets one value for all its fields.
func setNamed(fields []contract.Field, key, value string) error {
	for i := range fields {
		f := &fields[i]
		if f.Key == key {
			return setField(f, value)
		}
		if block, field, found := strings.Cut(key, "."); found && f.Key == block {
			return setNamed(f.Block, field, value)
		}
		if err := setNamed(f.Block, key, value); !errors.Is(err, errUnknownSetting) {
			return err
		}
	}
	return errUnknownSetting
}

func setField(f *contract.Field, value string) (err error) {
	switch {
	case f.Flag != nil:
		*f.Flag, err = strconv.ParseBool(value)
	case f.Number != nil:
		*f.Number, err = strconv.Atoi(value)
	case f.Text != nil:
		*f.Text = value
	case f.List != nil:
		*f.List = strings.Fields(value)
	case f.Object != nil:
		*f.Object = contract.Object(value)
	}
	for i := range f.Block {
		if err == nil {
			err = setField(&f.Block[i], value)
		}
	}
	return err
}

// OtherGroupings are how many tokens an event of the server's has, one after another, when a case with a stream is run
// in other events than its own. Other cases have none.
func (c *Case) OtherGroupings() []int {
	var asked struct{ Stream bool }
	if c.API() == "" || json.Unmarshal(c.Body, &asked) != nil || !asked.Stream ||
		c.Settings["stall_timeout_ms"] != "" {
		return nil
	}
	all := []int{2, 7, sim.AllTokens}
	if c.Settings["tokens_per_chunk"] != "" || strings.Contains(c.Member("script"), `"chunks"`) {
		all = append(all, 1)
	}
	return all
}

// Server is the simulated server of the case, which writes streams in pieces of so many bytes; 0 is whole events. So
// many tokens are in an event, and 0 is as the case says.
func (c *Case) Server(pieces, tokens int) (*sim.Server, error) {
	o := sim.Options{Models: []string{lab.Model}, PromptTokensDetails: true, CutBytes: pieces, Kind: c.kind,
		PrintSpecials: c.printSpecials, IncrementalStreaming: c.incremental}
	c.setChatServer(&o)
	if script := c.Member("script"); script != "" {
		s, err := sim.ReadScript(strings.NewReader(script), o200k.Tokenizer())
		if err != nil {
			return nil, err
		}
		if tokens != 0 {
			s.Regroup()
		}
		o.Script = s
	}
	if fault := c.Settings["server_fault"]; fault != "" {
		f, err := sim.ParseFault(fault)
		if err != nil {
			return nil, err
		}
		o.Fault = f
	}
	if n := c.Settings["server_context"]; n != "" {
		var err error
		if o.MaxModelLen, err = strconv.Atoi(n); err != nil {
			return nil, err
		}
	}
	o.FrontEnd = c.Settings["front_end"]
	o.ReasoningConfig = c.Settings["thinking_token_budget"] == "true"
	if n := c.Settings["tokens_per_chunk"]; n != "" {
		size, err := strconv.Atoi(n)
		if err != nil {
			return nil, err
		}
		o.TokensPerChunk = size
	}
	if tokens != 0 {
		o.TokensPerChunk = tokens
	}
	return sim.New(o), nil
}

// WantReduced is the member with the view in reduced mode, where it differs from that in full mode.
const WantReduced = "want reduced"

// Update writes what was seen into the case's file.
func (c *Case) Update(s Seen) error {
	sent := ""
	if c.IsAboutSent() {
		sent = s.Sent
	}
	return c.rewrite(member("prompt", s.Prompt), member("sent", sent), member("want", s.View),
		member(WantReduced, c.Member(WantReduced)), member(WantChat, c.Member(WantChat)))
}

// UpdateReduced writes what was seen in reduced mode into the case's file; empty is what full mode shows.
func (c *Case) UpdateReduced(want string) error {
	return c.rewrite(member(WantReduced, want))
}

func member(name, text string) txtar.File { return txtar.File{Name: name, Data: []byte(text)} }

// rewrite puts members at the end of the case's file, instead of the members of the same names; an empty one is left
// out.
func (c *Case) rewrite(members ...txtar.File) error {
	files := slices.DeleteFunc(slices.Clone(c.archive.Files), func(f txtar.File) bool {
		return slices.ContainsFunc(members, func(m txtar.File) bool { return m.Name == f.Name })
	})
	for _, m := range members {
		if len(m.Data) > 0 {
			files = append(files, m)
		}
	}
	return os.WriteFile(c.path, txtar.Format(&txtar.Archive{Comment: c.archive.Comment, Files: files}), 0o644)
}

// API returns "chat", "responses" or "messages" if the filter translates the case's request, else an empty string.
func (c *Case) API() string {
	switch path, _, _ := strings.Cut(c.Target, "?"); path {
	case lab.ChatPath:
		return "chat"
	case lab.ResponsesPath:
		return "responses"
	case lab.MessagesPath:
		return "messages"
	default:
		return ""
	}
}

// ByChannels reports whether the case's answer is to be channel events, when it is a stream.
func (c *Case) ByChannels() bool {
	asked := c.Header.Get(contract.EventsHeader)
	return asked == "channels" || asked == "" && c.Settings["events"] == "channels" && c.Target == lab.ChatPath
}

// WithScript returns a copy of the case whose server's script has been edited.
func (c *Case) WithScript(edit func(string) string) *Case {
	archive := &txtar.Archive{Comment: c.archive.Comment}
	for _, f := range c.archive.Files {
		if f.Name == "script" {
			f.Data = []byte(edit(string(f.Data)))
		}
		archive.Files = append(archive.Files, f)
	}
	with := *c
	with.archive = archive
	return &with
}

// Begin gives the case's request to an exchange of a gateway.
func (c *Case) Begin(g *exchange.Gateway) (exchange.RequestAction, *exchange.Exchange) {
	x := g.Begin(c.Method, c.Target)
	if x == nil {
		return exchange.RequestAction{}, nil
	}
	for name := range c.Header {
		x.Header(strings.ToLower(name), c.Header.Get(name))
	}
	x.RequestHeaders()
	return x.Request(bytes.Clone(c.Body), exchange.Host{Now: 1_000_000, ID: strings.Repeat("0123456789", 4)}), x
}
