package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// The targets: the quiet clients' p99 beside what they have without the noisy one, and the goodput beside the best.
const (
	mostWait     = 1.3
	leastGoodput = 0.95
)

var groups = []string{workload.Agents, workload.Chats, workload.Noisy, workload.Burst}

func isQuiet(r *request) bool { return quiet(r.group) }

// goodput returns the tokens of the answers whose first token came in time, for each second.
func (b *bench) goodput(r *result) float64 {
	sum := 0.0
	for i := range r.requests {
		if one := &r.requests[i]; b.met(one) {
			sum += float64(one.answer)
		}
	}
	return sum / b.options.scale.Length.Seconds()
}

func (b *bench) met(r *request) bool {
	return r.status == http.StatusOK && r.first <= b.options.limit(r.group)
}

// fairness returns Jain's index of what the clients got in time, prompts and answers, for their fair shares of an
// amount.
func (b *bench) fairness(r *result, amount float64) float64 {
	asked, got := map[string]float64{}, map[string]float64{}
	for i := range r.requests {
		one := &r.requests[i]
		tokens := float64(one.prompt + one.answer)
		asked[one.client] += tokens
		if b.met(one) {
			got[one.client] += tokens
		}
	}
	var parts []float64
	for client, fair := range share(asked, amount) {
		parts = append(parts, min(got[client]/fair, 1))
	}
	return jain(parts)
}

// most returns the most tokens, prompts and answers, that came in time in a row.
func (b *bench) most() (most float64) {
	for _, r := range b.results {
		sum := 0.0
		for i := range r.requests {
			if one := &r.requests[i]; b.met(one) {
				sum += float64(one.prompt + one.answer)
			}
		}
		most = max(most, sum)
	}
	return most
}

// refused returns how many requests ended with which status.
func (r *result) refused() string {
	counts := map[int]int{}
	for i := range r.requests {
		if s := r.requests[i].status; s != http.StatusOK {
			counts[s]++
		}
	}
	var parts []string
	for _, status := range sorted(counts) {
		name := fmt.Sprint(status)
		if status == 0 {
			name = "cut"
		}
		parts = append(parts, fmt.Sprintf("%d × %s", counts[status], name))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

func sorted(counts map[int]int) []int {
	var all []int
	for n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// line sums up a row, for a person who waits.
func (b *bench) line(name string) string {
	r := b.results[name]
	quiet, others := r.firsts(isQuiet), r.firsts(func(r *request) bool { return !isQuiet(r) })
	return fmt.Sprintf("%s: quiet %s/%s ms, others %s/%s ms, goodput %.0f, hits %.0f %%, refused %s, %v", name,
		ms(quiet, 0.5), ms(quiet, 0.99), ms(others, 0.5), ms(others, 0.99), b.goodput(r),
		100*float64(r.hits)/float64(max(r.queried, 1)), r.refused(), r.took.Round(time.Second))
}

func ms(sorted []float64, share float64) string {
	if len(sorted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", 1000*stats.Quantile(sorted, share))
}

// before says whether the kernel runs this program before others. On a busy machine it has to.
func before() string {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	// The 41st field is the policy. The second one is a name in parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 39 || fields[38] == "0" {
		return ""
	}
	return ", and had to wait for this one (`chrt --rr 1`)"
}

// write writes the page.
func (b *bench) write(out io.Writer) {
	o := &b.options
	fmt.Fprintf(out, `# Overload

`+"`make bench-overload`"+` has written this page on %s, on %s, which
other programs used too%s. One Envoy with the filter had
%d simulated servers in a pool, and played the same workload once for each row. A server works on at most %d requests at
once. Its cache has %d blocks of 16 tokens. A step of it takes %v, and a second more for %.0f tokens of prompts that
are not in the cache, or %.0f tokens of answers. New conversations came for %v. [Overload](../overload.md)
says what the settings mean.

Three teams of agents, whose prompts grow, and three applications with chats send %.1f requests a second each. The noisy
client sends ten times as many, and the burst %.1f times the noisy client's for a sixth of the time. A request that is
refused is not sent again.

`, time.Now().UTC().Format(time.DateOnly), lab.Machine(), before(), o.servers, o.server.MaxRunning,
		o.server.CacheBlocks, o.server.StepTime,
		o.server.PrefillRate, o.server.DecodeRate, o.scale.Length, o.scale.Load, o.scale.Burst)
	b.writeLoads(out)
	fmt.Fprint(out, "![Time to the first token of each group, and goodput](overload.svg)\n\n## Rows\n\n")
	var rows [][]string
	for _, r := range b.rows {
		rows = append(rows, []string{r.name, r.about})
	}
	lab.WriteTable(out, []string{"row", "what it is"}, rows)
	for _, r := range b.rows {
		if r.note != "" {
			fmt.Fprintf(out, "%s\n\n", r.note)
		}
	}
	b.writeFirsts(out)
	b.writeWhole(out)
	b.writeTargets(out)
}

func (b *bench) writeLoads(out io.Writer) {
	var rows [][]string
	for _, g := range groups {
		requests, tokens, answers := 0, 0, 0
		for _, c := range b.work.Conversations {
			if c.Group != g {
				continue
			}
			for turn := range c.Turns {
				requests++
				tokens += b.prompts[c.ID][turn]
				answers += c.Turns[turn].Answer
			}
		}
		n := max(requests, 1)
		rows = append(rows, []string{g, fmt.Sprint(requests), fmt.Sprint(tokens / n), fmt.Sprint(answers / n),
			fmt.Sprintf("%.2f", b.loads.groups[g])})
	}
	lab.WriteTable(out, []string{"group", "requests", "tokens of a prompt", "of an answer", "load"}, rows)
	fmt.Fprintf(out, "A load of 1 is what all servers can do in the time, at full batches. In the burst it is %.1f.\n\n",
		b.loads.peak)
}

func (b *bench) writeFirsts(out io.Writer) {
	fmt.Fprint(out, "## Time to the first token\n\np50 / p99 of the answered requests, in ms.\n\n")
	var rows [][]string
	for _, r := range b.rows {
		cells := []string{r.name}
		for _, g := range groups {
			all := b.results[r.name].firsts(func(r *request) bool { return r.group == g })
			cells = append(cells, ms(all, 0.5)+" / "+ms(all, 0.99))
		}
		rows = append(rows, cells)
	}
	lab.WriteTable(out, append([]string{"row"}, groups...), rows)
}

func (b *bench) writeWhole(out io.Writer) {
	o := &b.options
	fmt.Fprintf(out, `## In all

- **Goodput**: tokens of answers a second, of requests whose first token came in time: %v for the quiet, %v for others.
- **Jain**: Jain's index of what each client got in time, for its max-min fair share of the most that came in any row.
- **Hits**: the part of the prompts' tokens that the servers had in their caches.
- **Refused**: requests without an answer, by status, of the quiet clients and of all.

`, o.quiet, o.others)
	most := b.most()
	var rows [][]string
	for _, r := range b.rows {
		one := b.results[r.name]
		jain := "–"
		if !r.alone {
			jain = fmt.Sprintf("%.2f", b.fairness(one, most))
		}
		of := &result{requests: slices.Clone(one.requests)}
		of.requests = slices.DeleteFunc(of.requests, func(r request) bool { return !quiet(r.group) })
		rows = append(rows, []string{r.name, fmt.Sprintf("%.0f", b.goodput(one)), jain,
			fmt.Sprintf("%.0f %%", 100*float64(one.hits)/float64(max(one.queried, 1))), of.refused(), one.refused()})
	}
	lab.WriteTable(out, []string{"row", "goodput", "Jain", "hits", "refused quiet", "refused"}, rows)
}

// writeTargets says whether the queues meet the targets.
func (b *bench) writeTargets(out io.Writer) {
	reference := b.results[alone]
	if reference == nil {
		return
	}
	first, best := stats.Quantile(reference.firsts(isQuiet), 0.99), 0.0
	for _, r := range b.rows {
		if !r.alone {
			best = max(best, b.goodput(b.results[r.name]))
		}
	}
	fmt.Fprintf(out, "## Targets\n\nThe p99 of all quiet clients is at most %.1f × what they have without the noisy one, "+
		"%.0f ms. The goodput is at least\n%.2f of the best row's.\n\n", mostWait, 1000*first, leastGoodput)
	var rows [][]string
	for _, r := range b.rows {
		if r.alone {
			continue
		}
		one := b.results[r.name]
		wait := stats.Quantile(one.firsts(isQuiet), 0.99) / first
		part := b.goodput(one) / best
		rows = append(rows, []string{r.name, fmt.Sprintf("%.2f", wait), verdict(wait <= mostWait),
			fmt.Sprintf("%.2f", part), verdict(part >= leastGoodput)})
	}
	lab.WriteTable(out, []string{"row", "quiet p99 ÷ without the noisy", "", "goodput ÷ the best", ""}, rows)
}

func verdict(ok bool) string {
	if ok {
		return string(stats.Met)
	}
	return string(stats.NotMet)
}
