package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const statusLong = `Prints the state of a control plane: its configuration, what each Envoy has accepted and refused,
the pools with their servers, and the services of rate limits and responses.

Where no control plane answers at the default address, it prints the state of your harmony up on this machine. If
several run, name the page of one, as harmony ps prints it:

  harmony status http://127.0.0.1:9901

Exit status: 0 when all of this holds, else 1, also when nothing answers:

- the configuration and the filter's file are in force;
- every Envoy has accepted everything, and as many are connected as envoy.expect says;
- every pool that models need has a server that is reachable and ready;
- no server refuses all requests, passes structural tags over or has a smaller context than
  context_length says;
- no answer has failed before its first token in the last 90 seconds;
- no certificate expires soon, and the services of rate limits and responses work.`

const statusTimeout = 10 * time.Second

// statusFlags are the flags of harmony status.
type statusFlags struct {
	address addressValue
	raw     bool
	layout  cli.LayoutFlags
	watch   time.Duration
}

func statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:        "status [ADDRESS]",
		Short:      "Print the state of a control plane, its Envoys and its servers",
		Long:       statusLong,
		SuggestFor: []string{"state", "health", "top"},
		Args:       addressArgs,
		RunE:       func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.address.addAddress(c, addressUsage)
	c.Flags().BoolVar(&f.raw, "json", false, "print the JSON of GET /status")
	c.Flags().DurationVar(&f.watch, "watch", 0, "print it again each `TIME`, until an interrupt")
	c.Flags().Lookup("watch").NoOptDefVal = watchInterval.String()
	f.layout.Add(c.Flags())
	return c
}

// watchInterval is the time of --watch, and shortestWatch is the shortest one.
const (
	watchInterval = 2 * time.Second
	shortestWatch = 100 * time.Millisecond
)

func (f *statusFlags) run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	layout, err := f.layout.Options(out)
	if err != nil {
		return cli.Usage(err)
	}
	if !cmd.Flags().Changed("watch") {
		return f.once(cmd, &screen{out, layout.Width, layout.Color})
	}
	if f.watch < shortestWatch {
		return cli.Usage(fmt.Errorf("--watch %s is too short; write at least %s", f.watch, shortestWatch))
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd.SetContext(ctx)
	for {
		var text bytes.Buffer
		if err := f.once(cmd, &screen{&text, layout.Width, layout.Color}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(&text)
			for _, line := range cli.Mistakes(err, (*config.Error).Error) {
				fmt.Fprintln(&text, "error:", line)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if cli.IsTerminal(out) {
			const clear = "\x1b[H\x1b[2J"
			_, err = io.WriteString(out, clear+text.String())
		} else {
			_, err = io.WriteString(out, text.String()+"\n")
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.watch):
		}
	}
}

// once prints the state as it is now.
func (f *statusFlags) once(cmd *cobra.Command, to *screen) error {
	text, err := askStatus(cmd, string(f.address))
	if err != nil {
		return err
	}
	if f.raw {
		_, err := to.Write(text)
		return err
	}
	s, err := readStatus(text, string(f.address))
	if err != nil {
		return err
	}
	return printStatus(to, s, time.Now())
}

// askStatus asks the program at --address for its state. Where the command line does not name one, it may be the
// harmony up that runs here.
func askStatus(cmd *cobra.Command, address string) ([]byte, error) {
	text, err := fetchStatus(cmd.Context(), address)
	if err != nil && !cmd.Flags().Changed("address") {
		return upStatus(cmd.Context(), err)
	}
	return text, err
}

// readStatus reads what the program at an address has answered.
func readStatus(text []byte, address string) (*server.Status, error) {
	var s server.Status
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s does not answer like a control plane: %w", address, err)
	}
	return &s, nil
}

func fetchStatus(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+cli.StatusPath, nil)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--address %s is not host:port", address))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no control plane answers at %s (%w); name another with --address", address, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s; is it a control plane's --status, or the page of harmony up?", address,
			response.Status)
	}
	return text, nil
}

// upStatus returns the status of the harmony up that runs on this machine. none is the error if there is none.
func upStatus(ctx context.Context, none error) ([]byte, error) {
	pages := cli.RunningPages()
	switch len(pages) {
	case 0:
		return nil, fmt.Errorf("%w; no harmony up of this user runs here either", none)
	case 1:
		return fetchStatus(ctx, pages[0])
	}
	slices.Sort(pages)
	return nil, cli.Usage(fmt.Errorf("harmony up runs %d times; name the page of one: %s", len(pages),
		strings.Join(pages, ", ")))
}

// printStatus prints the status for people. Its error names everything that is not as it should be.
func printStatus(to *screen, s *server.Status, now time.Time) error {
	t := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	ago := func(since time.Time) string {
		if since.IsZero() {
			return "-"
		}
		return now.Sub(since).Round(time.Second).String()
	}
	printProgram(t, s, ago)
	printFilter(t, &s.Filter, ago)
	printRollout(t, s.Rollout, ago)
	if s.Host == cli.HostWazero {
		fmt.Fprintf(t, "host\tthe filter runs in that program, without Envoy\n")
	} else {
		printSnapshot(t, &s.Snapshot, ago)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	outdated := 0
	if s.Host != cli.HostWazero {
		outdated = printEnvoys(to, s, ago)
	}
	down, warned := printPools(to, s.Pools, ago)
	warned = append(warned, printQueues(to, s.Pools)...)
	away := printServices(to, s.Services, ago)
	warned = append(warned, printCertificates(to, s.Certificates, now)...)
	var wrong cli.Lines
	add := func(is bool, text string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(text, args...))
		}
	}
	add(s.Filter.Error != "", "the filter's file is not in force: %s", s.Filter.Error)
	add(s.Configuration.Error != "", "the configuration is not in force: %s", s.Configuration.Error)
	add(s.Configuration.Error == "" && s.Configuration.Loaded.IsZero(), "no configuration is in force yet")
	add(len(down) > 0, "no server is reachable and ready in %s", strings.Join(down, ", "))
	add(outdated > 0, "%d of %d Envoys have not accepted everything", outdated, len(s.Envoys))
	add(s.MissingEnvoys() > 0, "%s", missingText(s))
	if wrong = append(append(wrong, away...), warned...); len(wrong) == 0 {
		return nil
	}
	return wrong
}

// printProgram prints which program answers, and its configuration.
func printProgram(w io.Writer, s *server.Status, ago func(time.Time) string) {
	program := "control plane"
	if s.Host != "" {
		program = "harmony up"
	}
	fmt.Fprintf(w, "%s\t%s, up %s\n", program, s.Version, ago(s.Started))
	fmt.Fprintf(w, "configuration\t%s, in force for %s\n", cmp.Or(s.Configuration.File, "from flags"),
		ago(s.Configuration.Loaded))
	if s.Configuration.Error != "" {
		fmt.Fprintf(w, "\tREFUSED: %s\n", s.Configuration.Error)
	}
}

// printCertificates warns of certificates that expire soon, and returns the warnings.
func printCertificates(to *screen, all []server.CertificateStatus, now time.Time) (warned []string) {
	for _, one := range all {
		if one.Late(now) {
			text := fmt.Sprintf("the certificate in %s expires on %s", one.File, one.Expires.UTC().Format(time.DateTime))
			fmt.Fprintln(to)
			to.note(0, doubt, "WARNING: "+text)
			warned = append(warned, text)
		}
	}
	return warned
}

// printSnapshot prints what Envoys get.
func printSnapshot(w io.Writer, s *server.Snapshot, ago func(time.Time) string) {
	fmt.Fprintf(w, "snapshot\tpushed %s ago\n", ago(s.Pushed))
	if s.Saved {
		fmt.Fprintf(w, "\tTHE LAST GOOD ONE of an earlier run; there is no configuration in force\n")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(w, "\t%s\t%s\n", name, s.Versions[name])
	}
}

// printEnvoys prints what Envoys have accepted. It returns how many have not accepted everything.
func printEnvoys(to *screen, s *server.Status, ago func(time.Time) string) (outdated int) {
	fmt.Fprintln(to)
	rows := [][]cell{cells("ENVOY", "VERSION", "ADDRESS", "CONNECTED", "STATE")}
	var notes []string
	for i := range s.Envoys {
		e := &s.Envoys[i]
		state := cell{"current", good}
		if !e.Current {
			outdated++
			state = cell{"not current", bad}
			notes = append(notes, e.ID+": "+cli.EnvoyState(e))
		}
		if e.Chosen {
			notes = append(notes, e.ID+" has the rollout's filter")
		}
		rows = append(rows, append(cells(e.ID, e.Version, e.Address, ago(e.Connected)), state))
	}
	to.table(0, rows)
	if len(s.Envoys) == 0 {
		fmt.Fprintln(to, "none has connected yet")
	}
	for _, text := range notes {
		to.note(2, plain, text)
	}
	if s.MissingEnvoys() > 0 {
		to.note(2, bad, "WARNING: "+missingText(s))
	}
	return outdated
}

// missingText says that Envoys are missing.
func missingText(s *server.Status) string {
	return fmt.Sprintf("%s of %d missing (envoy.expect)", cli.Plural(s.MissingEnvoys(), "Envoy"), s.ExpectedEnvoys)
}

// printServices prints the services beside the inference servers, and returns what is wrong with them.
func printServices(to *screen, all []server.ServiceStatus, ago func(time.Time) string) (away []string) {
	if len(all) == 0 {
		return nil
	}
	names := map[string]string{server.LimitsService: "rate limits", server.ResponsesService: "responses"}
	fmt.Fprintln(to)
	rows := [][]cell{cells("SERVICE", "URL", "STATE", "FOR")}
	var notes []string
	for _, one := range all {
		name, state := names[one.Name], cell{"works", good}
		switch {
		case one.Problem != "":
			state = cell{"DOES NOT WORK", bad}
			notes = append(notes, name+": "+one.Problem)
			away = append(away, fmt.Sprintf("the service of %s at %s does not work: %s", name, one.URL, one.Problem))
		case one.Since.IsZero():
			state = cell{"not asked yet", plain}
		}
		rows = append(rows, []cell{{name, plain}, {one.URL, plain}, state, {ago(one.Since), plain}})
	}
	to.table(0, rows)
	for _, text := range notes {
		to.note(2, plain, text)
	}
	return away
}

// printFilter prints which filter Envoys get.
func printFilter(w io.Writer, f *server.Filter, ago func(time.Time) string) {
	switch {
	case f.OnEnvoys:
		fmt.Fprintf(w, "filter\t%s on each Envoy's machine\n", f.File)
	case f.SHA256 != "":
		from := ""
		if f.Rollout {
			from = ", by a rollout"
		}
		fmt.Fprintf(w, "filter\t%s, sha256 %.12s, read %s ago%s\n", f.Version, f.SHA256, ago(f.Loaded), from)
	default:
		fmt.Fprintf(w, "filter\tnone\n")
	}
	if f.Error != "" {
		fmt.Fprintf(w, "\tREFUSED: %s\n", f.Error)
	}
}
