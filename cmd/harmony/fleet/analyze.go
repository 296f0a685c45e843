package fleet

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/operator/advice"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const analyzeLong = `Finds what is allowed and unwise: in configuration files, or, without a FILE, in the control plane or
the harmony up that runs here. Each finding has what to write instead. Wrong files are a matter of
harmony controlplane validate.

  harmony analyze config.yaml
  harmony analyze http://127.0.0.1:9901

Exit status: 0 when nothing was found, 1 when something was, 2 when a file is wrong.`

// analyzeFlags are the flags of harmony analyze.
type analyzeFlags struct {
	address addressValue
	files   []string
	asJSON  bool
}

// finding is one thing that is allowed and unwise. Setting is empty for what no file says.
type finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Setting string `json:"setting,omitempty"`
	Text    string `json:"text"`
	Write   string `json:"write"`
}

func analyzeCommand() *cobra.Command {
	var f analyzeFlags
	c := &cobra.Command{
		Use:        "analyze [FILE... | ADDRESS]",
		Short:      "Find what is allowed and unwise, in a file or in what runs",
		Long:       analyzeLong,
		SuggestFor: []string{"doctor", "advise", "audit", "diagnose"},
		RunE:       func(cmd *cobra.Command, files []string) error { return f.run(cmd, files) },
	}
	f.address.addAddress(c, addressUsage)
	addFiles(c, &f.files)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the findings as JSON, for scripts")
	return c
}

func (f *analyzeFlags) run(cmd *cobra.Command, files []string) error {
	if len(files) == 1 && strings.Contains(files[0], "://") {
		if err := addressArgs(cmd, files); err != nil {
			return err
		}
		files = nil
	}
	files = append(files, f.files...)
	if len(files) > 0 && cmd.Flags().Changed("address") {
		return cli.Usage(errors.New("--address is for what runs; leave FILE out"))
	}
	all := []finding{}
	for _, file := range files {
		found, err := adviceOn(file)
		if err != nil {
			return cli.Usage(err)
		}
		all = append(all, found...)
	}
	if len(files) == 0 {
		text, err := askStatus(cmd, string(f.address))
		if err != nil {
			return err
		}
		s, err := readStatus(text, string(f.address))
		if err != nil {
			return err
		}
		all = append(all, analyzeFleet(s, time.Now())...)
		if cli.IsFile(s.Configuration.File) {
			// What the file of this machine says is in force, unless the status has said that it is refused.
			if found, err := adviceOn(s.Configuration.File); err == nil {
				all = append(all, found...)
			}
		}
	}
	if f.asJSON {
		if err := printJSON(cmd.OutOrStdout(), all); err != nil {
			return err
		}
	} else {
		for i := range all {
			all[i].print(cmd)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("%s", cli.Plural(len(all), "finding"))
	}
	if !f.asJSON {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing was found")
	}
	return nil
}

func (f *finding) print(cmd *cobra.Command) {
	e := config.Error{File: f.File, Line: f.Line, Column: f.Column, Field: f.Setting, Reason: f.Text}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n    write: %s\n", e.Exact(), f.Write)
}

// adviceOn returns the advice on a file. The file must be right.
func adviceOn(file string) ([]finding, error) {
	c, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	r, err := c.Resolve()
	if err != nil {
		return nil, config.Locate(err, file)
	}
	var all []finding
	for _, a := range advice.Of(r) {
		one := finding{File: file, Setting: a.Setting, Text: a.Text, Write: a.Write}
		var at *config.Error
		if errors.As(config.Locate(&config.Error{Field: a.Setting}, file), &at) {
			one.Line, one.Column = at.Line, at.Column
		}
		all = append(all, one)
	}
	return all, nil
}

// fullCache is the part of the KV cache from which on servers put requests aside.
const fullCache = 0.95

// analyzeFleet finds what is unwise in what runs.
func analyzeFleet(s *server.Status, now time.Time) (all []finding) {
	add := func(write, text string, args ...any) {
		all = append(all, finding{Text: fmt.Sprintf(text, args...), Write: write})
	}
	if s.Host == "" {
		analyzeEnvoys(s, add)
	}
	for i := range s.Certificates {
		if one := &s.Certificates[i]; one.Late(now) {
			add("renew "+one.File, "the certificate in %s expires on %s", one.File, one.Expires.UTC().Format(time.DateTime))
		}
	}
	for i := range s.Services {
		if one := &s.Services[i]; one.ClearStore {
			add("HARMONY_STORE_KEYS=a:$(openssl rand -base64 32) in its environment",
				"the responses service at %s stores conversations as clear text", one.URL)
		}
	}
	for i := range s.Pools {
		analyzePool(&s.Pools[i], add)
	}
	return all
}

// analyzeEnvoys looks at the Envoys of a fleet.
func analyzeEnvoys(s *server.Status, add func(write, text string, args ...any)) {
	n := len(s.Envoys)
	if n == 1 && s.ExpectedEnvoys <= 1 {
		add("harmony controlplane bootstrap --node edge-2", "there is one Envoy: while it is restarted, no client is served")
	}
	if n > 1 && s.ExpectedEnvoys == 0 {
		add(fmt.Sprintf("envoy: { expect: %d }", n), "%d Envoys are connected, and one that goes would not be missed", n)
	}
	if s.MissingEnvoys() > 0 {
		add("start it, or write envoy: { expect: "+fmt.Sprint(n)+" }", "%s", missingText(s))
	}
	versions := map[string]bool{}
	for i := range s.Envoys {
		versions[s.Envoys[i].Version] = true
	}
	if len(versions) > 1 {
		add("install one version on all", "Envoys run %d versions of Envoy", len(versions))
	}
}

// servesOne finds the only model of a server in the reason for which it is not ready.
var servesOne = regexp.MustCompile(`; it serves ("[^"…]+")$`)

// nameThere returns what to write for a server that does not serve the model by this name.
func nameThere(reason string) string {
	name := "the name that it has there"
	if found := servesOne.FindStringSubmatch(reason); found != nil {
		name = found[1]
	}
	return "server_model: " + name + ", or start it with the model"
}

// analyzePool looks at a pool and its servers.
func analyzePool(p *server.Pool, add func(write, text string, args ...any)) {
	if len(p.Models) == 0 && p.Role == "" {
		return
	}
	ready, full := 0, 0
	programs, contexts := map[string]bool{}, map[int]bool{}
	for i := range p.Servers {
		one := &p.Servers[i]
		switch {
		case one.State == pools.NotReady && strings.Contains(one.Reason, "does not serve"):
			add(nameThere(one.Reason), "%s %s", one.URL, one.Reason)
		case one.State == pools.Ready:
			ready++
		}
		if one.Program != "" && one.Program != "unknown" {
			programs[one.Program] = true
		}
		if one.Context > 0 {
			contexts[one.Context] = true
		}
		if l := one.Load; l != nil && l.Cache != nil && *l.Cache > fullCache {
			full++
		}
	}
	if ready == 1 && len(p.Servers) == 1 && len(p.Spares) == 0 {
		add("spares: [ANOTHER-POOL]", "the pool %s has one server and no spare: while it is away, requests are answered 503",
			p.Name)
	}
	if len(programs) > 1 {
		add("start all with one version", "the servers of the pool %s run %d programs or versions: %s", p.Name, len(programs),
			strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
	}
	if len(contexts) > 1 {
		add("start all with one --max-model-len", "the servers of the pool %s have contexts of %d sizes, and the smallest counts",
			p.Name, len(contexts))
	}
	if full > 0 && full == len(p.Servers) && len(p.Spares) == 0 {
		add("capacity: REQUESTS-OF-A-SERVER, with a queue, or another server",
			"the cache of every server of the pool %s is full, so that requests are put aside and computed again", p.Name)
	}
	for _, model := range slices.Sorted(maps.Keys(p.StructuredOutputs)) {
		add("start the servers, or the router before them, with structural tags",
			"structured_outputs of %s is %s, because of its servers", model, p.StructuredOutputs[model])
	}
}
