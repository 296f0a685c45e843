package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// referenceNext is the rules as docs/harmony-format.md#splitting-into-pieces words them, over characters. It shares
// nothing with the splitter but the classes.
func referenceNext(cs []class, rs []rune, i int) int {
	run := func(from int, want class) int {
		for from < len(cs) && cs[from]&want != 0 {
			from++
		}
		return from
	}
	starts := []int{i}
	if cs[i]&(letter|number|newline) == 0 {
		starts = []int{i + 1, i}
	}
	for _, rule := range []int{1, 2} {
		for _, start := range starts {
			u := run(start, upper)
			e := run(u, lower)
			end := -1
			if rule == 2 && u > start {
				end = e
			} else if rule == 1 && e > u {
				end = e
			} else if rule == 1 {
				for k := u - 1; k >= start; k-- {
					if cs[k]&lower != 0 {
						end = k + 1
						break
					}
				}
			}
			if end < 0 {
				continue
			}
			for _, c := range []string{"s", "t", "re", "ve", "m", "ll", "d", "ſ"} {
				n := utf8.RuneCountInString(c)
				if end+n < len(rs) && rs[end] == '\'' && strings.ToLower(string(rs[end+1:end+1+n])) == c {
					return end + 1 + n
				}
			}
			return end
		}
	}
	if cs[i]&number != 0 {
		return min(run(i, number), i+3)
	}
	from := i
	if rs[i] == ' ' {
		from++
	}
	end := from
	for end < len(cs) && cs[end]&(letter|number|space) == 0 {
		end++
	}
	if end > from {
		for end < len(rs) && strings.ContainsRune("\r\n/", rs[end]) {
			end++
		}
		return end
	}
	end = run(i, space)
	for k := end; k > i; k-- {
		if cs[k-1]&newline != 0 {
			return k
		}
	}
	if end == len(cs) || end == i+1 {
		return end
	}
	return end - 1
}

// checkSplit compares next with its two simple forms on every piece of text.
func checkSplit(t *testing.T, s string) {
	t.Helper()
	var cs []class
	var rs []rune
	var at []int // byte place of each character
	for i := 0; i < len(s); {
		c, size := classAt(s, i)
		r, _ := utf8.DecodeRuneInString(s[i:])
		cs, rs, at = append(cs, c), append(rs, r), append(at, i)
		i += size
	}
	at = append(at, len(s))
	for i, k := 0, 0; i < len(s); {
		end, plain := next(s, i), nextAny(s, i)
		kEnd := referenceNext(cs, rs, k)
		if end != plain || end != at[kEnd] {
			t.Fatalf("%+q: piece at %d ends at %d (fast), %d (plain), %d (twin)", s, i, end, plain, at[kEnd])
		}
		i, k = end, kEnd
	}
}

var splitAtoms = []string{
	"a", "b", "zebra", "A", "ABC", "Word", "'s", "'S", "'re", "'LL", "'ſ", "'v", "'", "1", "12", "1234", " ", " ", "  ",
	"\t", "\n", "\r\n",
	"\u3000", "\u0085", "!", "...", "/", "//", "_", "é", "É", "中", "ʰ", "ǅ", "\u0301", "Я", "я", "½", "😀", "\u200d",
	"\xff", "\xc5", "\xe4\xb8",
	"\u0897", "\U00010d50", "\U000e0101", "\x00",
}

func TestSplitFormsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30000 {
		var text strings.Builder
		for range 1 + rng.IntN(12) {
			text.WriteString(splitAtoms[rng.IntN(len(splitAtoms))])
		}
		checkSplit(t, text.String())
	}
}

func FuzzSplit(f *testing.F) {
	for _, a := range splitAtoms {
		f.Add("x" + a + "y " + a + a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 10000 {
			checkSplit(t, text)
		}
	})
}
