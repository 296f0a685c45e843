package main

import (
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/workload"
)

// client is a client of the workload.
type client struct{ name, group string }

// clients returns the clients in the order of their names.
func (b *bench) clients() []client {
	var all []client
	for _, c := range b.work.Conversations {
		if one := (client{c.Client, c.Group}); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b client) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return all
}

// loads say how much of the servers' time the groups' requests need, as a part of what there is.
type loads struct {
	groups map[string]float64
	// peak is the load in the burst.
	peak float64
}

// measureWork renders the prompts, and estimates what they need of the servers at full batches: each new token of a
// prompt is computed once.
func (b *bench) measureWork() error {
	o := &b.options
	translator := workload.NewTranslator(model)
	b.prompts = map[string][]int{}
	b.loads.groups = map[string]float64{}
	seen := map[string]bool{} // clients whose instructions are known to a server
	for _, c := range b.work.Conversations {
		before := []uint32(nil)
		for turn := range c.Turns {
			ids, err := translator.ChatPrompt(c.Body(model, turn))
			if err != nil {
				return err
			}
			b.prompts[c.ID] = append(b.prompts[c.ID], len(ids))
			known := common(before, ids)
			if before = ids; turn == 0 && seen[c.Client] {
				known = systemTokens[c.Group]
			}
			seen[c.Client] = true
			seconds := float64(len(ids)-known)/o.server.PrefillRate + float64(c.Turns[turn].Answer)*
				(1/o.server.DecodeRate+o.server.StepTime.Seconds()/float64(o.capacity))
			b.loads.groups[c.Group] += seconds / (float64(o.servers) * o.scale.Length.Seconds())
		}
	}
	for group, load := range b.loads.groups {
		if group == workload.Burst {
			load *= 6 // it is a sixth of the time
		}
		b.loads.peak += load
	}
	return nil
}

// systemTokens is about how many tokens the prompts of a client have in common.
var systemTokens = map[string]int{workload.Agents: 2000, workload.Chats: 300, workload.Noisy: 300, workload.Burst: 300}

func common(a, b []uint32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// share returns the max-min fair shares of an amount: no client gets more than it asks for, and what it leaves is for
// the others.
func share(asked map[string]float64, amount float64) map[string]float64 {
	shares, left := map[string]float64{}, len(asked)
	names := make([]string, 0, len(asked))
	for name := range asked {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if asked[a] < asked[b] || asked[a] == asked[b] && a < b {
			return -1
		}
		return 1
	})
	for _, name := range names {
		shares[name] = min(asked[name], amount/float64(left))
		amount -= shares[name]
		left--
	}
	return shares
}

// jain returns Jain's index of what clients have got for their fair shares: 1 if all have the same part of them.
func jain(parts []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range parts {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(parts)) * squares)
}

func seconds(d time.Duration) float64 { return d.Seconds() }
