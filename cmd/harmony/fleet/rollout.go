package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

const rolloutLong = `Gives another filter to some Envoys of a control plane, and compares them with the others:

  harmony rollout --filter new.wasm --share 10%

Each step is watched for --for at least, until the Envoys with the new filter have answered --requests. If it is as good
as the old one, half of all Envoys get it, then all. If it is worse, it is taken back at once. No stream is cut. Without
flags it prints how the rollout goes.

Run it on the control plane's machine, as the same user. From elsewhere:

  kubectl exec -i … -- harmony rollout --filter - < new.wasm

Exit status:

  0  the command was taken; with --wait, all Envoys have the filter
  1  it was refused; with --wait, also a rollout that is taken back
  2  the command line is wrong`

// The defaults of a rollout.
const (
	defaultShare    = "10%"
	defaultWatch    = 10 * time.Minute
	defaultRequests = 100
)

// rolloutFlags are the flags of harmony rollout.
type rolloutFlags struct {
	address                      addressValue
	socket, filter, share, rules string
	plan                         rollout.Plan
	on, back, wait, asJSON       bool
}

func rolloutCommand() *cobra.Command {
	var f rolloutFlags
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Give a new filter to some Envoys, watch it, and go on or back",
		Long:  rolloutLong,
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := c.Flags()
	flags.StringVar(&f.filter, "filter", "", "`FILE` of the new filter; - is standard input")
	flags.StringVar(&f.share, "share", "", "`SHARE` of the Envoys that get it first, such as 10% (default: 10%; with "+
		"--group, all of the group)")
	flags.StringVar(&f.plan.Group, "group", "", "`NAME` of the group whose Envoys get it first, as bootstrap --group "+
		"names it")
	flags.DurationVar(&f.plan.For, "for", defaultWatch, "`TIME` for which each step is watched at least")
	flags.IntVar(&f.plan.Requests, "requests", defaultRequests, "`NUMBER` of requests that the Envoys with it must have "+
		"answered in each step")
	flags.StringVar(&f.rules, "rules", "", "by how much it may be worse: MEASURE=PERCENT or MEASURE=off, with commas; of "+
		strings.Join(rollout.Measures(), ", "))
	flags.BoolVar(&f.plan.Hold, "hold", false, "stay at the first step until --on")
	flags.BoolVar(&f.on, "on", false, "go on to the next step now")
	flags.BoolVar(&f.back, "back", false, "give all Envoys the old filter again")
	flags.BoolVar(&f.wait, "wait", false, "wait for the end")
	flags.BoolVar(&f.asJSON, "json", false, "print the rollout as JSON, for scripts; null if there has been none")
	f.address.addAddress(c, "`ADDRESS` of the control plane, its --status")
	flags.StringVar(&f.socket, "socket", "", "`PATH` of its socket for commands (default: as its status says)")
	return c
}

// check returns an error if the flags do not go together.
func (f *rolloutFlags) check(cmd *cobra.Command) error {
	commands := 0
	for _, given := range []bool{f.filter != "", f.on, f.back} {
		if given {
			commands++
		}
	}
	if commands > 1 {
		return errors.New("--filter, --on and --back are commands; write one of them")
	}
	if f.filter == "" {
		for _, name := range []string{"share", "group", "for", "requests", "rules", "hold"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for a new rollout; write --filter FILE too", name)
			}
		}
		return nil
	}
	share := cmp.Or(f.share, defaultShare)
	if f.share == "" && f.plan.Group != "" {
		share = "100%"
	}
	var err error
	if f.plan.Share, err = rollout.ParseShare(share); err != nil {
		return fmt.Errorf("--share: %w", err)
	}
	if f.plan.Rules, err = rollout.ParseRules(f.rules); err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	return f.plan.Check()
}

func (f *rolloutFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return cli.Usage(err)
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	var err error
	switch {
	case f.filter != "":
		var content []byte
		if content, err = f.read(cmd.InOrStdin()); err != nil {
			return err
		}
		err = f.command(ctx, server.RolloutPath+"?"+server.PlanQuery(&f.plan, f.rules).Encode(), content)
	case f.on:
		err = f.command(ctx, server.RolloutOnPath, nil)
	case f.back:
		err = f.command(ctx, server.RolloutBackPath, nil)
	}
	if err != nil {
		return err
	}
	s, err := f.status(ctx)
	for err == nil && f.wait && s.Rollout != nil && s.Rollout.State == rollout.Watching {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		s, err = f.status(ctx)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		if err := printJSON(out, s.Rollout); err != nil {
			return err
		}
		return f.outcome(s.Rollout)
	}
	if s.Rollout == nil {
		fmt.Fprintln(out, "there has been no rollout")
		return nil
	}
	now := time.Now()
	printRollout(out, s.Rollout, func(t time.Time) string { return now.Sub(t).Round(time.Second).String() })
	return f.outcome(s.Rollout)
}

// outcome returns an error if the rollout that the command has waited for is taken back.
func (f *rolloutFlags) outcome(r *server.Rollout) error {
	if f.wait && r != nil && r.State == rollout.TakenBack && !f.back {
		return errors.New("the rollout is taken back")
	}
	return nil
}

// read reads the new filter, which must be a whole one.
func (f *rolloutFlags) read(stdin io.Reader) ([]byte, error) {
	from := stdin
	if f.filter != cli.ToStdout {
		file, err := os.Open(f.filter)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--filter: %w", err))
		}
		defer file.Close()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, filterfile.MaxSize+1))
	if err != nil {
		return nil, err
	}
	if _, err := filterfile.Read(content); err != nil {
		return nil, cli.Usage(fmt.Errorf("--filter: %s %w", f.filter, err))
	}
	return content, nil
}

func (f *rolloutFlags) status(ctx context.Context) (*server.Status, error) {
	text, err := fetchStatus(ctx, string(f.address))
	if err != nil {
		return nil, err
	}
	return readStatus(text, string(f.address))
}

// command gives a command to the control plane.
func (f *rolloutFlags) command(ctx context.Context, path string, body []byte) error {
	socket := f.socket
	if socket == "" {
		s, err := f.status(ctx)
		if err != nil {
			return err
		}
		if socket = s.Control; socket == "" {
			return fmt.Errorf("the control plane at %s takes no commands: it needs --state or --control, and no "+
				"--wasm-on-envoys", f.address)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://control"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s cannot be reached (%w); run this on the control plane's machine, as the same user", socket, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		const most = 4 << 10
		text, _ := io.ReadAll(io.LimitReader(response.Body, most))
		return errors.New(strings.TrimSpace(string(text)))
	}
	return nil
}

// printRollout prints how a rollout goes, or nothing if there has been none.
func printRollout(w io.Writer, r *server.Rollout, ago func(time.Time) string) {
	if r == nil {
		return
	}
	version := fmt.Sprintf("%s, sha256 %.12s", r.Filter.Version, r.Filter.SHA256)
	switch r.State {
	case rollout.Done:
		fmt.Fprintf(w, "rollout\t%s: done %s ago\n", version, ago(r.Ended))
	case rollout.TakenBack:
		fmt.Fprintf(w, "rollout\t%s: TAKEN BACK %s ago\n", version, ago(r.Ended))
	default:
		fmt.Fprintf(w, "rollout\t%s: step %d of %d, %s, for %s; %d of %d Envoys have it\n", version, r.Step, len(r.Steps),
			r.Steps[r.Step-1], ago(r.Since), r.Accepted, r.Envoys)
	}
	if r.Reason != "" {
		fmt.Fprintf(w, "\t%s\n", r.Reason)
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Verdict != rollout.Unknown {
			fmt.Fprintf(w, "\t%s: %s\n", f.Verdict, f.Text())
		}
	}
}
