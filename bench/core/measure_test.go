package main

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// fake is a worker that takes cost(n) nanoseconds for an input of n bytes.
type fake struct {
	cost func(n int) int64
	sum  uint32
	fail error
}

func (f fake) run(t request) (outcome, error) {
	data, err := os.ReadFile(t.File)
	if err != nil {
		return outcome{}, err
	}
	if f.fail != nil && len(data) >= corpusSize {
		return outcome{}, f.fail
	}
	return outcome{CPU: f.cost(len(data)) * int64(t.Repeat), Count: len(data), Sum: f.sum}, nil
}

func (f fake) loaded() loaded { return loaded{} }
func (f fake) stop()          {}

func (f fake) column(name string, ours bool) column {
	return column{name, ours, []string{"encode"}, func() (worker, error) { return f, nil }}
}

func linear(n int) int64 { return int64(n) * 10 }

// testRow returns a row with probes.
func testRow(t *testing.T) *row {
	t.Helper()
	w := writer{folder: t.TempDir()}
	r := repeated("encode", "run", "encode", w.text("run", strings.Repeat("a", corpusSize)), corpusSize, megabytes)
	for _, size := range []string{"1", "2"} {
		r.probes = append(r.probes, w.text(size, strings.Repeat("a", smallProbe*len(r.probes)+smallProbe))...)
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	return r
}

func TestMeasureSaysWhoFails(t *testing.T) {
	r := testRow(t)
	columns := []column{
		fake{cost: linear}.column("tiktoken", false),
		fake{cost: func(n int) int64 { return int64(n) * int64(n) }}.column("squared", false),
		fake{cost: func(n int) int64 { return int64(n) * int64(n) / 1000 }}.column("squared, but quick", false),
		fake{cost: linear, fail: errDies}.column("weak", false),
		fake{cost: func(n int) int64 { return 2 * linear(n) }}.column(native, true),
	}
	cells, err := measure(r, columns, 3)
	if err != nil {
		t.Fatal(err)
	}
	for name, word := range map[string]string{
		"tiktoken": "", "squared": "quadratic", "squared, but quick": "", "weak": "dies", native: ""} {
		if c := cells[name]; c.failure != word || word == "" && len(c.ns) != 3 {
			t.Errorf("%s: %q with %d values, want %q", name, c.failure, len(c.ns), word)
		}
	}
	ratio, ok := target{of: native, than: "tiktoken"}.ratio(result{cells: cells})
	if !ok || ratio != 0.5 {
		t.Errorf("ratio %v, %v, want 0.5", ratio, ok)
	}
}

func TestWrongIDsFailTheRun(t *testing.T) {
	r := testRow(t)
	judge := fake{cost: linear}.column("tiktoken", false)
	weak := fake{cost: linear, fail: errDies}.column("tiktoken", false)
	second := fake{cost: linear}.column("bpe-openai", false)
	good, bad := fake{cost: linear}.column(native, true), fake{cost: linear, sum: 1}.column(native, true)
	for _, tt := range []struct {
		name    string
		columns []column
		want    bool
	}{
		{"right", []column{judge, good}, true},
		{"wrong", []column{judge, bad}, false},
		{"right, the judge dies", []column{weak, second, good}, true},
		{"wrong, the judge dies", []column{weak, second, bad}, false},
		{"nobody judges", []column{good}, false},
	} {
		cells, err := measure(r, tt.columns, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(r, tt.columns, compare(r, cells)); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestProcessThatDies(t *testing.T) {
	w, err := startProcess(nil, "sh", "-c",
		`echo '{"start":1,"load":2,"rss":3}'; read line; echo '{"cpu":7}'; read line; exit 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer w.stop()
	if got := w.loaded(); got != (loaded{1, 2, 3}) {
		t.Errorf("loaded %v", got)
	}
	if o, err := w.run(request{}); err != nil || o.CPU != 7 {
		t.Errorf("first request: %v, %v", o, err)
	}
	if _, err := w.run(request{}); !errors.Is(err, errDies) {
		t.Errorf("second request: %v, want %v", err, errDies)
	}
	if _, err := startProcess(nil, "sh", "-c", "exit 1"); !errors.Is(err, errDies) {
		t.Errorf("a start that fails: %v", err)
	}
}
