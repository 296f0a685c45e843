package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
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
several run, name the page of one with --address.

Exit status: 0 when the configuration and the filter's file are in force, every Envoy has accepted everything, and every
pool that models need has a server that is reachable and ready, no server refuses all requests, passes structural tags
over or has a smaller context than context_length says, no answer has failed before its first token in the last 90 seconds, no certificate expires
soon, and the services of rate limits and responses work; else 1, also when nothing answers.`

const statusTimeout = 10 * time.Second

func statusCommand() *cobra.Command {
	var address string
	var raw bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the state of a control plane, its Envoys and its servers",
		Long:  statusLong,
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := fetchStatus(cmd.Context(), address)
			if err != nil && !cmd.Flags().Changed("address") {
				text, err = upStatus(cmd.Context(), err)
			}
			if err != nil {
				return err
			}
			if raw {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			var s server.Status
			if err := json.Unmarshal(text, &s); err != nil {
				return fmt.Errorf("%s does not answer like a control plane: %w", address, err)
			}
			return printStatus(cmd.OutOrStdout(), &s, time.Now())
		},
	}
	c.Flags().StringVar(&address, "address", defaultStatus, "`ADDRESS` of the control plane, its --status; or of the "+
		"page of harmony up, its --admin")
	c.Flags().BoolVar(&raw, "json", false, "print the JSON of GET /status")
	return c
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
	return nil, cli.Usage(fmt.Errorf("harmony up runs %d times; name one with --address: %s", len(pages),
		strings.Join(pages, ", ")))
}

// printStatus prints the status for people. Its error names everything that is not as it should be.
func printStatus(w io.Writer, s *server.Status, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	ago := func(since time.Time) string {
		if since.IsZero() {
			return "-"
		}
		return now.Sub(since).Round(time.Second).String()
	}
	printProgram(t, s, ago)
	printFilter(t, &s.Filter, ago)
	printRollout(t, s.Rollout, ago)
	outdated := 0
	if s.Host == cli.HostWazero {
		fmt.Fprintf(t, "host\tthe filter runs in that program, without Envoy\n")
	} else {
		outdated = printEnvoys(t, s, ago)
	}
	down, warned := printPools(t, s.Pools, ago)
	warned = append(warned, printQueues(t, s.Pools)...)
	away := printServices(t, s.Services, ago)
	warned = append(warned, printCertificates(t, s.Certificates, now)...)
	if err := t.Flush(); err != nil {
		return err
	}
	switch {
	case s.Filter.Error != "":
		return fmt.Errorf("the filter's file is not in force: %s", s.Filter.Error)
	case s.Configuration.Error != "":
		return fmt.Errorf("the configuration is not in force: %s", s.Configuration.Error)
	case s.Configuration.Loaded.IsZero():
		return errors.New("no configuration is in force yet")
	case outdated > 0:
		return fmt.Errorf("%d of %d Envoys have not accepted everything", outdated, len(s.Envoys))
	case len(down) > 0:
		return fmt.Errorf("no server is reachable and ready in %s", strings.Join(down, ", "))
	case len(away) > 0:
		return errors.New(away[0])
	case len(warned) > 0:
		return errors.New(warned[0])
	}
	return nil
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

// printPools prints the pools with their servers. It returns which pools are down, and the warnings.
func printPools(w io.Writer, pools []server.Pool, ago func(time.Time) string) (down, warned []string) {
	loads := slices.ContainsFunc(pools, func(p server.Pool) bool { return slices.ContainsFunc(p.Servers, hasLoad) })
	fmt.Fprintf(w, "\nPOOL\tMODELS\tPOLICY\tSERVER\tADDRESS\tSTATE\tFOR\tPROGRAM")
	if loads {
		fmt.Fprintf(w, "\tLOAD")
	}
	fmt.Fprintf(w, "\n")
	for i := range pools {
		p := &pools[i]
		printServers(w, p, loads, ago)
		if !p.Down.IsZero() {
			fmt.Fprintf(w, "\tDOWN for %s: no server is reachable and ready%s\n", ago(p.Down), spareNote(p))
			down = append(down, p.Name)
		}
		if p.AtZero {
			fmt.Fprintf(w, "\tAT ZERO: it has no servers, and requests wait for the first one (queue.hold)\n")
		}
		for _, text := range p.Warnings {
			fmt.Fprintf(w, "\tWARNING: %s\n", text)
			warned = append(warned, text)
		}
		for _, model := range slices.Sorted(maps.Keys(p.Contexts)) {
			fmt.Fprintf(w, "\t%s has a context of %d tokens, the smallest of its servers'\n", model, p.Contexts[model])
		}
		for _, model := range slices.Sorted(maps.Keys(p.StructuredOutputs)) {
			fmt.Fprintf(w, "\tstructured_outputs of %s is %s, because of its servers\n", model,
				p.StructuredOutputs[model])
		}
		if p.Problem != "" {
			fmt.Fprintf(w, "\tPROBLEM: %s\n", p.Problem)
		}
	}
	return down, warned
}

// printServers prints a line for each server of a pool, of which the first names the pool. loads reports whether the
// table has a column of loads.
func printServers(w io.Writer, p *server.Pool, loads bool, ago func(time.Time) string) {
	name, models, policy := p.Name, strings.Join(p.Models, ", "), p.Policy
	switch {
	case p.Role == config.RolePrefill:
		models = "prefill for " + strings.Join(p.PrefillFor, ", ")
	case models == "":
		models = "-"
	case p.Prefill != "":
		models += " (prefill: " + p.Prefill + ")"
	}
	if len(p.Servers) == 0 {
		fmt.Fprintf(w, "%s\t%s\t%s\tnone\n", name, models, policy)
	}
	for i := range p.Servers {
		one := &p.Servers[i]
		state := string(one.State)
		if one.Reason != "" {
			state += " (" + one.Reason + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", name, models, policy, one.URL, one.Address, state,
			ago(one.Since), cli.ProgramText(one.Program, one.Context, one.Vocabulary))
		if loads {
			fmt.Fprintf(w, "\t%s", loadText(one))
		}
		fmt.Fprintf(w, "\n")
		name, models, policy = "", "", ""
	}
}

// printCertificates warns of certificates that expire soon, and returns the warnings.
func printCertificates(w io.Writer, all []server.CertificateStatus, now time.Time) (warned []string) {
	for _, one := range all {
		if one.Late(now) {
			text := fmt.Sprintf("the certificate in %s expires on %s", one.File, one.Expires.UTC().Format(time.DateTime))
			fmt.Fprintf(w, "\nWARNING: %s\n", text)
			warned = append(warned, text)
		}
	}
	return warned
}

// printEnvoys prints what Envoys get and have accepted. It returns how many have not accepted everything.
func printEnvoys(w io.Writer, s *server.Status, ago func(time.Time) string) (outdated int) {
	fmt.Fprintf(w, "snapshot\tpushed %s ago\n", ago(s.Snapshot.Pushed))
	if s.Snapshot.Saved {
		fmt.Fprintf(w, "\tTHE LAST GOOD ONE of an earlier run; there is no configuration in force\n")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshot.Versions)) {
		fmt.Fprintf(w, "\t%s\t%s\n", name, s.Snapshot.Versions[name])
	}
	fmt.Fprintf(w, "\nENVOY\tVERSION\tADDRESS\tCONNECTED\tSTATE\n")
	for i := range s.Envoys {
		e := &s.Envoys[i]
		if !e.Current {
			outdated++
		}
		state := cli.EnvoyState(e)
		if e.Chosen {
			state += ", with the rollout's filter"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Version, e.Address, ago(e.Connected), state)
	}
	if len(s.Envoys) == 0 {
		fmt.Fprintf(w, "none has connected yet\n")
	}
	return outdated
}

// printServices prints the services beside the inference servers, and returns what is wrong with them.
func printServices(w io.Writer, all []server.ServiceStatus, ago func(time.Time) string) (away []string) {
	if len(all) == 0 {
		return nil
	}
	names := map[string]string{server.LimitsService: "rate limits", server.ResponsesService: "responses"}
	fmt.Fprintf(w, "\nSERVICE\tURL\tSTATE\tFOR\n")
	for _, one := range all {
		name, state := names[one.Name], "works"
		switch {
		case one.Problem != "":
			state = "DOES NOT WORK: " + one.Problem
			away = append(away, fmt.Sprintf("the service of %s at %s does not work: %s", name, one.URL, one.Problem))
		case one.Since.IsZero():
			state = "not asked yet"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, one.URL, state, ago(one.Since))
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

func hasLoad(s server.PoolServer) bool { return s.Load != nil || s.Weight > 0 }

// loadText describes the load of a server, and its weight with the reason for it.
func loadText(s *server.PoolServer) string {
	var words []string
	if l := s.Load; l != nil {
		add := func(n *float64, format string) {
			if n != nil {
				words = append(words, fmt.Sprintf(format, *n))
			}
		}
		add(l.Running, "%.0f running")
		add(l.Waiting, "%.0f waiting")
		if l.Cache != nil {
			words = append(words, fmt.Sprintf("cache: %.0f %%", 100**l.Cache))
		}
		add(l.FirstToken, "first token: %.0f ms")
		if l.Preemptions != nil && *l.Preemptions > 0 {
			words = append(words, fmt.Sprintf("%g preemptions a minute", *l.Preemptions))
		}
		switch {
		case l.Problem == "":
		case len(words) == 0:
			words = append(words, "unknown: "+l.Problem)
		default:
			words = append(words, "of before: "+l.Problem)
		}
	}
	if s.Weight > 0 {
		weight := fmt.Sprintf("weight: %d", s.Weight)
		if s.WeightReason != "" {
			weight += " (" + s.WeightReason + ")"
		}
		words = append(words, weight)
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

// spareNote names the pools that get the requests of a pool that is down.
func spareNote(p *server.Pool) string {
	if len(p.Spares) == 0 {
		return ""
	}
	return "; requests go to " + strings.Join(p.Spares, ", ")
}
