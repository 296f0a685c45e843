package main

import "fmt"

// verdict reports whether a column's ids in a row are right.
type verdict uint8

const (
	unknown verdict = iota // nothing was compared
	exact
	wrong
)

// judges are the columns whose ids count as right, in order of preference: bpe-openai where tiktoken gives none.
var judges = map[string][]string{
	"encode": {"tiktoken", "bpe-openai"},
	"render": {"openai-harmony, Rust"},
	"parse":  {"openai-harmony, Rust"},
}

// compare compares every column's ids, or messages, with the judge's in every round.
func compare(r *row, cells map[string]*cell) map[string]verdict {
	out := map[string]verdict{}
	for _, name := range judges[r.group] {
		judge := cells[name]
		if judge == nil {
			continue
		}
		for column, c := range cells {
			out[column] = worst(out[column], c.against(judge))
		}
		if len(judge.outcomes) > 0 {
			break
		}
	}
	return out
}

func worst(a, b verdict) verdict { return max(a, b) }

// against compares everything that both have done: the shorter input and the rounds.
func (c *cell) against(judge *cell) verdict {
	result := unknown
	note := func(a, b outcome) {
		if a.Count == b.Count && a.Sum == b.Sum {
			result = max(result, exact)
		} else {
			result = wrong
		}
	}
	if c.probe.Count > 0 && judge.probe.Count > 0 {
		note(c.probe, judge.probe)
	}
	for i := range min(len(c.outcomes), len(judge.outcomes)) {
		note(c.outcomes[i], judge.outcomes[i])
	}
	return result
}

// verify returns an error if a column of ours is not exact.
func verify(r *row, columns []column, verdicts map[string]verdict) error {
	for _, c := range columns {
		if c.ours && verdicts[c.name] != exact {
			return fmt.Errorf("%s, %s: not the ids of %v", r.name, c.name, judges[r.group])
		}
	}
	return nil
}
