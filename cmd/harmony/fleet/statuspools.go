package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// printPools prints the pools with their servers. It returns which pools are down, and the warnings.
func printPools(to *screen, all []server.Pool, ago func(time.Time) string) (down, warned []string) {
	for i := range all {
		p := &all[i]
		fmt.Fprintln(to)
		to.note(0, head, "POOL "+p.Name+": "+aboutPool(p))
		if len(p.Servers) == 0 {
			fmt.Fprintln(to, "  no server")
		} else {
			printServers(to, p, ago)
		}
		if !p.Down.IsZero() {
			to.note(2, bad, fmt.Sprintf("DOWN for %s: no server is reachable and ready%s", ago(p.Down), spareNote(p)))
			down = append(down, p.Name)
		}
		if p.AtZero {
			to.note(2, plain, "AT ZERO: it has no servers, and requests wait for the first one (queue.hold)")
		}
		for _, text := range p.Warnings {
			to.note(2, doubt, "WARNING: "+text)
			warned = append(warned, text)
		}
		for _, model := range slices.Sorted(maps.Keys(p.Contexts)) {
			to.note(2, plain, fmt.Sprintf("%s has a context of %d tokens, the smallest of its servers'", model,
				p.Contexts[model]))
		}
		for _, model := range slices.Sorted(maps.Keys(p.StructuredOutputs)) {
			to.note(2, plain, fmt.Sprintf("structured_outputs of %s is %s, because of its servers", model,
				p.StructuredOutputs[model]))
		}
		if p.Problem != "" {
			to.note(2, bad, "PROBLEM: "+p.Problem)
		}
	}
	return down, warned
}

// aboutPool describes what a pool is for.
func aboutPool(p *server.Pool) string {
	models := "no model"
	switch {
	case p.Role == config.RolePrefill:
		models = "prefill for " + strings.Join(p.PrefillFor, ", ")
	case len(p.Models) > 0:
		models = strings.Join(p.Models, ", ")
	}
	if p.Prefill != "" {
		models += " (prefill: " + p.Prefill + ")"
	}
	return models + "; " + p.Policy
}

// printServers prints the table of a pool's servers, and what else is known of each below it.
func printServers(to *screen, p *server.Pool, ago func(time.Time) string) {
	rows := [][]cell{cells("SERVER", "ADDRESS", "STATE", "FOR", "LOAD", "CACHE", "FIRST", "WEIGHT")}
	for i := range p.Servers {
		one := &p.Servers[i]
		row := cells(strings.TrimPrefix(one.URL, "http://"), "", "", ago(one.Since), "", "", "", "")
		if !strings.HasSuffix(one.URL, "//"+one.Address) {
			row[1].text = one.Address
		}
		row[2] = stateCell(one)
		if l := one.Load; l != nil {
			row[4].text = joined(number(l.Running, "%.0f"), number(l.Waiting, "+ %.0f"))
			if l.Cache != nil {
				row[5].text = fmt.Sprintf("%.0f %%", 100**l.Cache)
			}
			row[6].text = number(l.FirstToken, "%.0f ms")
		}
		if one.Weight > 0 {
			row[7].text = fmt.Sprint(one.Weight)
		}
		rows = append(rows, row)
	}
	to.table(2, rows)
	printAbout(to, p)
}

// stateCell returns the state of a server. A ready one that some Envoys do not reach is neither ready nor away.
func stateCell(s *server.PoolServer) cell {
	switch {
	case s.State == pools.Ready && s.Reason != "":
		return cell{"ready in part", doubt}
	case s.State == pools.Ready:
		return cell{"ready", good}
	case s.State == server.Unreachable || s.State == pools.NotReady:
		return cell{strings.ReplaceAll(string(s.State), "_", " "), bad}
	}
	return cell{string(s.State), plain}
}

// printAbout prints what servers are, those that are alike in one line, and what is to be known of single ones.
func printAbout(to *screen, p *server.Pool) {
	var programs []string
	of := map[string][]string{}
	for i := range p.Servers {
		one := &p.Servers[i]
		text := cli.ProgramText(one.Program, one.Context, one.Vocabulary)
		if of[text] == nil {
			programs = append(programs, text)
		}
		of[text] = append(of[text], one.Address)
	}
	for _, text := range programs {
		if len(programs) == 1 {
			to.note(4, plain, text)
		} else {
			to.note(4, plain, someOf(of[text])+": "+text)
		}
	}
	for i := range p.Servers {
		one := &p.Servers[i]
		if one.Reason != "" {
			to.note(4, stateCell(one).color, one.Address+": "+one.Reason)
		}
		if text := loadNote(one); text != "" {
			to.note(4, plain, one.Address+": "+text)
		}
	}
}

// maxNamed is how many servers one line names.
const maxNamed = 4

func someOf(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// loadNote says what the columns of a server's load do not.
func loadNote(s *server.PoolServer) string {
	var notes []string
	if l := s.Load; l != nil {
		if l.Preemptions != nil && *l.Preemptions > 0 {
			notes = append(notes, fmt.Sprintf("%g preemptions a minute", *l.Preemptions))
		}
		switch {
		case l.Problem == "":
		case l.Running == nil && l.Waiting == nil && l.Cache == nil:
			notes = append(notes, "load unknown: "+l.Problem)
		default:
			notes = append(notes, "load of before: "+l.Problem)
		}
	}
	if s.Weight > 0 && s.WeightReason != "" {
		notes = append(notes, fmt.Sprintf("weight %d: %s", s.Weight, s.WeightReason))
	}
	return strings.Join(notes, "; ")
}

// number returns a number that may be unknown, or "".
func number(n *float64, format string) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(format, *n)
}

// joined joins two numbers, of which any may be unknown.
func joined(a, b string) string {
	if a == "" && b == "" {
		return ""
	}
	return strings.TrimSpace(cmp.Or(a, "?") + " " + b)
}

// spareNote names the pools that get the requests of a pool that is down.
func spareNote(p *server.Pool) string {
	if len(p.Spares) == 0 {
		return ""
	}
	return "; requests go to " + strings.Join(p.Spares, ", ")
}
