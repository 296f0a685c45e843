//go:build e2e

package e2e

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

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"

	"github.com/harmonyedge/harmonyedge/sim"
)

// testCase is one file of cases/: what a client sends, what the server answers, what the client must see. The file is
// a txtar archive whose comment says what the case is about, with the members
//
//	request   the client's request as it stands on the wire: request line, headers, empty line, body
//	script    the server's answers, as sim reads them; without it the simulated model answers
//	settings  lines KEY VALUE: body_limit, stall_timeout_ms, those of contract.Settings and contract.ModelSettings by their
//	          last name (reasoning_efforts: one word for all four),
//	          front_end (which of vLLM's the server is: python, rust), server_context (its context, in tokens), server_fault,
//	          tokens_per_chunk, reduced_differs (the capability for whose lack reduced mode shows something else)
//	want      the client's view, normalised: status line, content-type, empty line, body; written by -update
//	want reduced
//	          the same in reduced mode, where it differs
//	prompt    the decoded prompt that the server received, written by -update; "none" if no request reached it
//	sent      the body that the server received, without the ids of its prompt; written by -update where there is such a
//	          member, which is there in cases that are about it
type testCase struct {
	name    string
	path    string
	archive *txtar.Archive

	method, target string
	header         http.Header
	body           []byte
	settings       map[string]string
	// reducedDiffers is the setting of that name: it says something about the case, not about the gateway.
	reducedDiffers string
}

// loadCases reads every case. Finding none is a failure.
func loadCases(t *testing.T) []*testCase {
	t.Helper()
	paths, err := filepath.Glob(casePath("*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	var cases []*testCase
	for _, path := range paths {
		c, err := readCase(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// loadCase reads the case of a name.
func loadCase(t *testing.T, name string) *testCase {
	t.Helper()
	c, err := readCase(casePath(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// casePath is where the file of a case is. $HARMONY_CASES names another folder of cases.
func casePath(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("HARMONY_CASES"), inRepository("e2e/cases")), name+".txtar")
}

func readCase(path string) (*testCase, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	c := &testCase{
		name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive,
		header: http.Header{}, settings: map[string]string{},
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, fmt.Errorf("no comment says what the case is about")
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "request", "script", "settings", "want", wantReduced, "prompt", "sent":
		default:
			return nil, fmt.Errorf("unknown member %q", f.Name)
		}
	}
	for line := range strings.Lines(c.member("settings")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "":
		case "reduced_differs":
			c.reducedDiffers = value
		default:
			c.settings[key] = value
		}
	}
	return c, c.readRequest()
}

func (c *testCase) member(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// isAboutSent says that the case has a member "sent".
func (c *testCase) isAboutSent() bool {
	return slices.ContainsFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == "sent" })
}

func (c *testCase) readRequest() error {
	r := bufio.NewReader(strings.NewReader(c.member("request")))
	line, err := r.ReadString('\n')
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	var ok bool
	if c.method, c.target, ok = strings.Cut(strings.TrimSpace(line), " "); !ok {
		return fmt.Errorf("request line %q", line)
	}
	for {
		line, err := r.ReadString('\n')
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		c.header.Add(name, strings.TrimSpace(value))
		if err != nil {
			break
		}
	}
	body, err := io.ReadAll(r)
	// The archive ends every member with a line end that is not the body's.
	c.body = bytes.TrimSuffix(body, []byte("\n"))
	return err
}

// config is the gateway's configuration for the case: one model with a pinned date, served at server.
func (c *testCase) config(server string) (*config.Config, error) {
	m := config.DefaultModel(caseModel, "vllm="+server)
	m.System.Date = caseDate
	out := config.Default()
	out.Listen, out.Envoy.Concurrency = "127.0.0.1:0", 1
	out.BodyLimit, out.StallTimeout = 1<<20, config.Duration(20*time.Second)
	for key, value := range c.settings {
		var err error
		switch key {
		case "body_limit":
			err = out.BodyLimit.Set(value)
		case "stall_timeout_ms":
			err = out.StallTimeout.Set(value + "ms")
		case "server_fault", "tokens_per_chunk", "front_end", "server_context":
		default:
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

// setNamed sets the first field called key, in a block too. A block that is called so gets one value for all its fields.
func setNamed(fields []contract.Field, key, value string) error {
	for i := range fields {
		f := &fields[i]
		if f.Key == key {
			return setField(f, value)
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
	}
	for i := range f.Block {
		if err == nil {
			err = setField(&f.Block[i], value)
		}
	}
	return err
}

const (
	caseModel = "gpt-oss-120b"
	caseDate  = "2026-01-02"
)

// otherGroupings are how many tokens an event of the server's has, one after another, when a case with a stream is run in other
// events than its own. Other cases have none.
func (c *testCase) otherGroupings() []int {
	var asked struct{ Stream bool }
	if c.api() == "" || json.Unmarshal(c.body, &asked) != nil || !asked.Stream ||
		c.settings["stall_timeout_ms"] != "" {
		return nil
	}
	all := []int{2, 7, sim.AllTokens}
	if c.settings["tokens_per_chunk"] != "" || strings.Contains(c.member("script"), `"chunks"`) {
		all = append(all, 1)
	}
	return all
}

// server is the simulated server of the case, which writes streams in pieces of so many bytes; 0 is whole events. So many
// tokens are in an event, and 0 is as the case says.
func (c *testCase) server(pieces, tokens int) (*sim.Server, error) {
	o := sim.Options{Models: []string{caseModel}, PromptTokensDetails: true, CutBytes: pieces}
	if script := c.member("script"); script != "" {
		s, err := sim.ReadScript(strings.NewReader(script), o200k.Tokenizer())
		if err != nil {
			return nil, err
		}
		if tokens != 0 {
			s.Regroup()
		}
		o.Script = s
	}
	if fault := c.settings["server_fault"]; fault != "" {
		f, err := sim.ParseFault(fault)
		if err != nil {
			return nil, err
		}
		o.Fault = f
	}
	if n := c.settings["server_context"]; n != "" {
		var err error
		if o.MaxModelLen, err = strconv.Atoi(n); err != nil {
			return nil, err
		}
	}
	o.FrontEnd = c.settings["front_end"]
	o.ReasoningConfig = c.settings["thinking_token_budget"] == "true"
	if n := c.settings["tokens_per_chunk"]; n != "" {
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

const wantReduced = "want reduced"

// update writes what was seen into the case's file.
func (c *testCase) update(s seen) error {
	sent := ""
	if c.isAboutSent() {
		sent = s.sent
	}
	return c.rewrite(member("prompt", s.prompt), member("sent", sent), member("want", s.view),
		member(wantReduced, c.member(wantReduced)))
}

// updateReduced writes what was seen in reduced mode into the case's file; empty is what full mode shows.
func (c *testCase) updateReduced(want string) error {
	return c.rewrite(member(wantReduced, want))
}

func member(name, text string) txtar.File { return txtar.File{Name: name, Data: []byte(text)} }

// rewrite puts members at the end of the case's file, in place of those of the same names; an empty one is left out.
func (c *testCase) rewrite(members ...txtar.File) error {
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

// api returns "chat" or "responses" if the filter translates the case's request, else an empty string.
func (c *testCase) api() string {
	switch path, _, _ := strings.Cut(c.target, "?"); path {
	case chatPath:
		return "chat"
	case responsesPath:
		return "responses"
	default:
		return ""
	}
}

// byChannels reports whether the case's answer is to be channel events, when it is a stream.
func (c *testCase) byChannels() bool {
	asked := c.header.Get(contract.EventsHeader)
	return asked == "channels" || asked == "" && c.settings["events"] == "channels" && c.target == chatPath
}

// withScript returns a copy of the case whose server's script has been edited.
func (c *testCase) withScript(edit func(string) string) *testCase {
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

// begin gives the case's request to an exchange of a gateway.
func (c *testCase) begin(g *exchange.Gateway) (exchange.RequestAction, *exchange.Exchange) {
	x := g.Begin(c.method, c.target)
	if x == nil {
		return exchange.RequestAction{}, nil
	}
	for name := range c.header {
		x.Header(strings.ToLower(name), c.header.Get(name))
	}
	x.RequestHeaders()
	return x.Request(bytes.Clone(c.body), exchange.Host{Now: 1_000_000, ID: strings.Repeat("0123456789", 4)}), x
}
