package promptrules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A column is a front end with its answers, by the case's place.
type column struct {
	frontEnd

	answers map[int]answer
}

// ask asks every front end every case of its APIs. A renderer of Harmony is not asked what we refuse.
func ask(cases []testCase, fronts []frontEnd) ([]column, error) {
	var out []column
	for _, f := range fronts {
		c := column{frontEnd: f, answers: map[int]answer{}}
		for i := range cases {
			if !slices.Contains(f.apis, cases[i].api) || f.library && out[0].answers[i].refusal != "" {
				continue
			}
			a, err := f.ask(&cases[i])
			if err != nil {
				return nil, fmt.Errorf("%s, %s/%s: %w", f.name, cases[i].api, cases[i].name, err)
			}
			c.answers[i] = a
		}
		out = append(out, c)
	}
	return out, nil
}

// tables returns both tables of the page. The first column is ours. unexplained are differences without a rule.
func tables(cases []testCase, columns []column) (byRule, byCase string, unexplained []string) {
	for i := range rules {
		cells := []string{strconv.Itoa(i + 1), rules[i].name}
		for k := range columns {
			cells = append(cells, rules[i].cell(cases, &columns[k]))
		}
		byRule += row(cells...)
	}
	equal, asked := make([]int, len(columns)), make([]int, len(columns))
	for i := range cases {
		cells := []string{cases[i].api + "/" + cases[i].name}
		for k, col := range columns[1:] {
			got, was := col.answers[i]
			if !was {
				cells = append(cells, "–")
				continue
			}
			used, ok := explain(&cases[i], columns[0].answers[i], got, col.name)
			if !ok {
				unexplained = append(unexplained, fmt.Sprintf("%s/%s, ours and %s:\n%s", cases[i].api, cases[i].name,
					col.name, show(columns[0].answers[i], got)))
			}
			asked[k+1]++
			if len(used) == 0 {
				equal[k+1]++
			}
			cells = append(cells, numbers(used))
		}
		byCase += row(cells...)
	}
	cells := []string{"**equal to ours**"}
	for k := range columns[1:] {
		cells = append(cells, fmt.Sprintf("%d of %d", equal[k+1], asked[k+1]))
	}
	names := func(from int, more ...string) (out []string) {
		for _, c := range columns[from:] {
			more = append(more, c.name)
		}
		return more
	}
	byRule = row(names(0, "#", "what")...) + line(len(columns)+2) + byRule
	byCase = row(names(1, "conversation")...) + line(len(columns)) + byCase + row(cells...)
	return byRule, byCase, unexplained
}

// cell says what a front end does by a rule.
func (r *rule) cell(cases []testCase, col *column) string {
	if col.library && !r.ofLibraries {
		return "the caller's"
	}
	for i := range cases {
		a, asked := col.answers[i]
		if !slices.Contains(strings.Fields(r.decided), cases[i].name) || !asked {
			continue
		}
		if a.refusal != "" {
			return a.refusal[:3]
		}
		p, err := read(a.ids)
		if err != nil {
			return err.Error()
		}
		return r.says(p)
	}
	return "–"
}

// numbers lists rules as the table counts them.
func numbers(used []int) string {
	if len(used) == 0 {
		return "="
	}
	var out []string
	for _, i := range used {
		out = append(out, strconv.Itoa(i+1))
	}
	return strings.Join(out, ", ")
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func line(cells int) string { return "|" + strings.Repeat("---|", cells) + "\n" }
