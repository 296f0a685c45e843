package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

const psLong = `Lists what runs on this machine: your runs of harmony up, and the control plane at its usual address.
GATEWAY is the URL for clients. Each has a page, whose address harmony status takes.

Exit status: 0, also when nothing runs.`

// running is one program that runs here.
type running struct {
	Page string `json:"page"`
	// Gateway is the URL for clients, or empty: a control plane has none.
	Gateway string    `json:"gateway,omitempty"`
	Program string    `json:"program"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Models  []string  `json:"models"`
	// Ready and Servers are how many servers are ready, and how many there are.
	Ready   int `json:"ready"`
	Servers int `json:"servers"`
	Envoys  int `json:"envoys"`
}

func psCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:        "ps",
		Short:      "List the gateways and the control plane that run on this machine",
		Long:       psLong,
		SuggestFor: []string{"list", "ls", "running"},
		Args:       cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := runningHere(cmd.Context(), append([]cli.Run{{Page: defaultStatus}}, cli.Runs()...))
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printRunning(&screen{Writer: cmd.OutOrStdout(), width: psWidth}, all, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON, for scripts")
	return c
}

const (
	psWidth = 100
	// psTimeout is how long the programs may take to answer.
	psTimeout = 2 * time.Second
)

// runningHere asks the programs, all at once. Those that do not answer are left out.
func runningHere(ctx context.Context, runs []cli.Run) []running {
	ctx, cancel := context.WithTimeout(ctx, psTimeout)
	defer cancel()
	answers := make([]*running, len(runs))
	var asked sync.WaitGroup
	for i, r := range runs {
		asked.Go(func() { answers[i] = runningAt(ctx, r) })
	}
	asked.Wait()
	all := []running{}
	for _, one := range answers {
		if one != nil {
			all = append(all, *one)
		}
	}
	slices.SortFunc(all, func(a, b running) int { return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.Page, b.Page)) })
	return all
}

// runningAt asks a program by its page. It returns nil if that does not answer.
func runningAt(ctx context.Context, r cli.Run) *running {
	text, err := fetchStatus(ctx, r.Page)
	var s server.Status
	if err != nil || json.Unmarshal(text, &s) != nil {
		return nil
	}
	one := &running{Page: "http://" + r.Page + "/", Gateway: r.Gateway, Program: "control plane", Version: s.Version,
		Started: s.Started, Models: server.ModelsOf(s.Pools), Envoys: len(s.Envoys)}
	if s.Host != "" {
		one.Program = "up, " + s.Host
	}
	for i := range s.Pools {
		for j := range s.Pools[i].Servers {
			one.Servers++
			if s.Pools[i].Servers[j].State == pools.Ready {
				one.Ready++
			}
		}
	}
	return one
}

func printRunning(to *screen, all []running, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(to, "nothing runs here")
		return err
	}
	rows := [][]cell{cells("PROGRAM", "GATEWAY", "PAGE", "UP", "ENVOYS", "READY", "MODELS")}
	for i := range all {
		one := &all[i]
		envoys := ""
		if one.Envoys > 0 {
			envoys = fmt.Sprint(one.Envoys)
		}
		up := now.Sub(one.Started).Round(time.Second).String()
		rows = append(rows, cells(one.Program, cmp.Or(one.Gateway, "-"), one.Page, up, envoys,
			fmt.Sprintf("%d of %d", one.Ready, one.Servers), strings.Join(one.Models, ", ")))
	}
	to.table(0, rows)
	return nil
}
