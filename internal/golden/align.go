package golden

import "strings"

// The signs of edits.
const (
	equal   = " "
	removed = "-"
	added   = "+"
)

// edit is a line of the base, of the text, or of both.
type edit struct {
	sign, line string
}

// align returns the fewest edits that make b of a.
func align(a, b []string) []edit {
	common := commonLines(a, b)
	var edits []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{equal, a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			edits = append(edits, edit{removed, a[i]})
			i++
		default:
			edits = append(edits, edit{added, b[j]})
			j++
		}
	}
	return slideUp(edits)
}

// commonLines returns for each i and j how many lines a[i:] and b[j:] have in common, in the same order.
func commonLines(a, b []string) [][]int32 {
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// slideUp moves each block of added or of removed lines up to where it begins with the line that is indented the least,
// if the block is the same there: a new item of a list is then shown from its first line to its last.
func slideUp(edits []edit) []edit {
	for start := 0; start < len(edits); start++ {
		sign := edits[start].sign
		if sign == equal {
			continue
		}
		end := start
		for end < len(edits) && edits[end].sign == sign {
			end++
		}
		if end < len(edits) && edits[end].sign != equal {
			continue // lines that others replace stay together with these
		}
		best := start
		for s, e := start-1, end-1; s >= 0 && edits[s].sign == equal && edits[s].line == edits[e].line; s, e = s-1, e-1 {
			if indent(edits[s].line) < indent(edits[best].line) {
				best = s
			}
		}
		for s, e := start-1, end-1; s >= best; s, e = s-1, e-1 {
			edits[s].sign, edits[e].sign = sign, equal
		}
		start = end - 1
	}
	return edits
}

// indent is how far a line is indented. An item of a list is further in than the key of the list at the same column.
func indent(line string) int {
	text := strings.TrimLeft(line, " ")
	n := 2 * (len(line) - len(text))
	if strings.HasPrefix(text, "- ") {
		n++
	}
	return n
}

// place names the object, the keys and the items of the base that the first change of some edits is in. The edits begin
// at a line of the base.
func place(base []string, at int, edits []edit) string {
	for len(edits) > 0 && edits[0].sign == equal {
		at, edits = at+1, edits[1:]
	}
	names := ""
	for inner := indent(edits[0].line); at > 0 && inner > 0; {
		at--
		if n := indent(base[at]); n < inner && base[at] != "" {
			inner = n
			names = " > " + name(base[at]) + names
		}
	}
	names = object(base, at) + names
	return strings.Replace(names, " > ", " ", 1)
}

// object names the object of Kubernetes that a line of the base is in, if it is in one.
func object(base []string, at int) string {
	for at > 0 && base[at-1] != "---" {
		at--
	}
	kind := ""
	for _, line := range base[at:] {
		if k, ok := strings.CutPrefix(line, "kind: "); ok {
			kind = " > " + k
		} else if n, ok := strings.CutPrefix(line, "  name: "); ok && kind != "" {
			return kind + " " + n
		} else if line == "---" {
			break
		}
	}
	return kind
}

// name returns the key of a line, or the value of an item's first key.
func name(line string) string {
	key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
	if strings.HasPrefix(key, "- ") && value != "" {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(key, "- "), ":")
}
