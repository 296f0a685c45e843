package nearest

import "strings"

// Word returns the member of known that is most similar to word, or an empty string if none is similar. Words are
// similar if they differ in few letters or only in case, dashes and underscores, or if one is a prefix of the other.
func Word(word string, known []string) string {
	best, minimum := "", 0
	for _, k := range known {
		d := distance(plain(word), plain(k))
		if len(word) >= 4 && strings.HasPrefix(plain(k), plain(word)) {
			d = min(d, 1)
		}
		if d > max(1, len(word)/3) {
			continue
		}
		d *= 2
		if len(k) != len(word) {
			d++ // swapped letters are more likely than missing ones
		}
		if best == "" || d < minimum {
			best, minimum = k, d
		}
	}
	return best
}

func plain(word string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(word))
}

// distance returns how many letters must be inserted, deleted, changed or swapped with a neighbour to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
