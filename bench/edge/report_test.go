package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/bench/stats"
)

// measuredBench has figures for which every verdict is known.
func measuredBench(rounds int) *bench {
	r := &result{load: loads(options{rate: 50})[0], rounds: rounds, samples: map[string][]sample{}}
	for i := range rounds {
		drift := 1 + float64(i)/10 // the machine becomes slower from round to round
		for name, figure := range map[string]float64{plain: 20, constant: 24, "chat": 24, "responses": 30,
			rustFrontEnd: 28 + 4*float64(i%2)} {
			r.samples[name] = append(r.samples[name], sample{cpu: figure * drift, resident: 100, longest: 0.5})
		}
	}
	return &bench{variants: variantsOf(false), results: []*result{r}}
}

// TestVerdicts checks that ratios are taken within rounds, so that a drift of the machine does not count.
func TestVerdicts(t *testing.T) {
	b := measuredBench(6)
	want := map[string]stats.Verdict{"chat" + plain: stats.Met, "responses" + plain: stats.NotMet,
		"chat" + constant: stats.Met, "responses" + constant: stats.NotMet, "chat" + rustFrontEnd: stats.Open,
		"chat": stats.Met}
	for _, target := range targets {
		e, ok := target.measured(b.results[0])
		if ok != (target.load == "paced") {
			t.Errorf("%s: measured %v", target, ok)
		}
		if got := e.Judge(target.limit); ok && got != want[target.of+target.against] {
			t.Errorf("%s: %v is %s", target, e, got)
		}
	}
	if !b.isOpen(b.results[0]) {
		t.Error("an interval across a target does not ask for more rounds")
	}
	delete(b.results[0].samples, rustFrontEnd)
	if b.isOpen(b.results[0]) {
		t.Error("more rounds, although every target is decided")
	}
	if few := measuredBench(4); !few.isOpen(few.results[0]) {
		t.Error("four rounds decide")
	}
}

// TestReport checks the tables' figures, and that the plot is XML with a bar for each variant beside no filter.
func TestReport(t *testing.T) {
	b := measuredBench(6)
	var text strings.Builder
	b.write(&text)
	for _, want := range []string{"| 1.20 [1.20 … 1.20] |", "| paced: CPU of chat ÷ none ", "| not met |", "Rounds: 6."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	bars := 0
	for d := xml.NewDecoder(strings.NewReader(string(b.plot()))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			bars++
		}
	}
	if want := len(b.results[0].samples) - 1 + 1; bars != want { // without no filter, and the line at 1
		t.Errorf("%d ranges and lines, want %d", bars, want)
	}
}
