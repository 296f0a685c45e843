package main

// target requires one column to be at least so many times as fast as another in some rows.
type target struct {
	group    string
	rows     []string
	of, than string
	atLeast  float64
}

const (
	native, wasm  = "ours", "ours, wasm"
	referenceRust = "openai-harmony, Rust"
)

var (
	texts   = []string{"prose", "code", "mixed"}
	targets = []target{
		{"encode", texts, native, "tiktoken", 4},
		{"encode", texts, native, "bpe-openai", 2.5},
		{"encode", texts, wasm, "tiktoken", 2},
		{"encode", []string{newMessages + "prose", newMessages + "code", newMessages + "mixed"}, native, "gigatoken", 1.1},
		{"encode", []string{prompt}, native, "tiktoken", 4},
		{"encode", []string{"1 MB of 'a'", "1 MB of spaces", "1 MB of one Chinese character"}, native, "bpe-openai", 0.7},
		{"render", []string{conversation3, conversation41, conversation201}, native, referenceRust, 20},
		{"parse", []string{"strict parser", "tolerant parser"}, native, referenceRust, 20},
	}
)

// ratio returns how many times as fast: the median of the ratios in each round, because within a round the machine's
// speed is about the same for both.
func (t target) ratio(r result) (float64, bool) {
	of, than := r.cells[t.of], r.cells[t.than]
	if of == nil || than == nil {
		return 0, false
	}
	var all []float64
	for i := range min(len(of.ns), len(than.ns)) {
		all = append(all, than.ns[i]/of.ns[i])
	}
	if len(all) == 0 {
		return 0, false
	}
	return median(all), true
}
