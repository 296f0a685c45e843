package golden

import (
	"fmt"
	"slices"
	"strings"
)

// context is how many equal lines are shown before and after a change.
const context = 1

// head is how the first line of a hunk begins.
const head = "@@ skip %d @@"

// Diff returns the differences of a text to a base, as hunks of lines. A line with a space before it is in both, one
// with a minus is only in the base, and one with a plus is only in the text. A hunk begins with
//
//	@@ skip 12 @@ Cluster > harmony-unrouted > load_assignment
//
// which says how many equal lines are between the hunk before and this one, and where in the base it is. So a change of
// the base changes only the hunks around it. Both texts end with a line's end, or are empty.
func Diff(base, text string) string {
	a := lines(base)
	edits := align(a, lines(text))
	var out strings.Builder
	skipped, at := 0, 0
	for i, e := range edits {
		if near(edits, i) {
			if i == 0 || !near(edits, i-1) {
				fmt.Fprintf(&out, head+"%s\n", skipped, place(a, at, edits[i:]))
				skipped = 0
			}
			fmt.Fprintf(&out, "%s%s\n", e.sign, e.line)
		} else {
			skipped++
		}
		if e.sign != added {
			at++
		}
	}
	return out.String()
}

// near reports whether an edit is a change, or so near to one that it is shown.
func near(edits []edit, i int) bool {
	around := edits[max(0, i-context):min(len(edits), i+context+1)]
	return slices.ContainsFunc(around, func(e edit) bool { return e.sign != equal })
}

// Apply returns the text whose differences to a base [Diff] has returned.
func Apply(base, diff string) (string, error) {
	rest := lines(base)
	var out []string
	for _, line := range lines(diff) {
		sign, text := line[:min(1, len(line))], line[min(1, len(line)):]
		var skipped int
		switch sign {
		case "@":
			if _, err := fmt.Sscanf(line, head, &skipped); err != nil {
				return "", fmt.Errorf("%q is not the head of a hunk: %w", line, err)
			}
			if skipped < 0 || skipped > len(rest) {
				return "", fmt.Errorf("the base ends before %q", line)
			}
			out, rest = append(out, rest[:skipped]...), rest[skipped:]
		case "+":
			out = append(out, text)
		case " ", "-":
			if len(rest) == 0 || rest[0] != text {
				return "", fmt.Errorf("the base does not have %q there", text)
			}
			if sign == " " {
				out = append(out, text)
			}
			rest = rest[1:]
		default:
			return "", fmt.Errorf("%q begins with neither a space, a minus, a plus nor @@", line)
		}
	}
	out = append(out, rest...)
	if len(out) == 0 {
		return "", nil
	}
	return strings.Join(out, "\n") + "\n", nil
}

// lines returns the lines of a text that ends with a line's end, or is empty.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
