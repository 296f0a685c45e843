package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The units of runs with the longest tokens, and what breaks runs, as JSON. Such texts have the fewest tokens for their
// length, so a context has room for most of them.
var (
	runUnits  = []string{" ", "-", "=", "#", ".", "*", "_", "/", `\t`, "\u3000", "\u00a0", "─", "…"}
	runBreaks = []string{"x", `\n`, `\r\n`, "+", "7", "é", " "}
)

// run returns a run of a unit, about so many bytes long.
func run(unit string, width int) string { return strings.Repeat(unit, max(1, width/len(unit))) }

// broken returns a piece of a run and what breaks it.
func broken(unit string, width int, mark string) piece { return same(run(unit, width) + mark) }

// mixed returns a piece of a run of any unit, up to so many bytes long, and one of the breaks.
func mixed(units []string, longest int, breaks []string) piece {
	return func(_ int, rng *rand.Rand) string {
		return run(units[rng.IntN(len(units))], 1+longest/3+rng.IntN(longest)) + breaks[rng.IntN(len(breaks))]
	}
}

// placesOfText returns families of one text in each kind of request that has its tokens counted.
func placesOfText(name string, p piece) []Family {
	return []Family{
		inChat("broken runs, "+name, `"messages":[{"role":"user","content":"`, `"}]`, "", p),
		inResponses("broken runs, "+name, `"input":"`, `"`, "", p),
		inResponses("", `"input":"`, `"`, "", p).at("/v1/responses/input_tokens", "input_tokens: broken runs, "+name),
		inChat("", `"prompt":"`, `"`, "", p).at("/tokenize", "tokenize: broken runs, "+name),
	}
}

// brokenFamilies returns runs that are broken by something else: a few of them, and of each kind of request.
func brokenFamilies() []Family {
	var list []Family
	for i, t := range []struct {
		name  string
		piece piece
	}{
		{"spaces and a line end", broken(" ", 100, `\n`)}, {"dashes and a plus", broken("-", 200, "+")},
		{"number signs and a letter", broken("#", 1000, "é")}, {"equals signs", broken("=", 64, "+")},
		{"ideographic spaces", broken("\u3000", 200, `\n`)}, {"all units, up to 170", mixed(runUnits, 130, runBreaks)},
		{"few units without breaks, up to 170", mixed(runUnits[1:7], 130, []string{""})},
		{"all units, up to 400", mixed(runUnits, 300, []string{`\n`, ""})},
	} {
		places := placesOfText(t.name, t.piece)
		if i < 5 {
			places = places[i%len(places):][:1]
		}
		list = append(list, places...)
	}
	return list
}

// AllBroken returns runs of each unit and many widths, broken in each way. They are many.
func AllBroken() []Family {
	var list []Family
	for _, unit := range runUnits {
		for _, mark := range runBreaks {
			for i, width := range []int{16, 24, 32, 48, 64, 65, 80, 100, 128, 150, 200, 256, 300, 400, 500, 512, 700, 1000} {
				places := placesOfText(fmt.Sprintf("%q of %d before %q", unit, width, mark), broken(unit, width, mark))
				list = append(list, places[i%len(places)])
			}
		}
	}
	for _, longest := range []int{30, 60, 100, 130, 200, 300, 600, 1000} {
		for _, breaks := range [][]string{{""}, {"+"}, {`\n`}, runBreaks} {
			for _, units := range [][]string{runUnits, runUnits[1:8], {" ", `\n`, `\t`}, {"-", "="}} {
				name := fmt.Sprintf("%d units up to %d before %q", len(units), longest, breaks)
				list = append(list, placesOfText(name, mixed(units, longest, breaks))...)
			}
		}
	}
	return list
}
