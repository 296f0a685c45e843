package nearest

import "strings"

// Word is the one of known that is most like word; empty if none is like it. Words are alike that differ in few letters, or
// only in their case, dashes and underscores, and so are a word and its beginning.
func Word(word string, known []string) string {
	best, least := "", 0
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
			d++ // letters are swapped more often than left out
		}
		if best == "" || d < least {
			best, least = k, d
		}
	}
	return best
}

func plain(word string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(word))
}

// distance is how many letters are to be put in, left out, changed or swapped with their neighbour to make b of a.
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
