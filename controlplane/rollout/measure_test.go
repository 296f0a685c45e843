package rollout

import (
	"math"
	"strings"
	"testing"
)

// TestTail compares with exact sums.
func TestTail(t *testing.T) {
	for _, c := range []struct{ k, n, p, want float64 }{
		{1, 1, 0.5, 0.5},
		{1, 4, 0.5, 1}, // no more than expected, so it is not needed more exactly
		{2, 2, 0.5, 0.25},
		{14, 14, 0.5, math.Pow(0.5, 14)},
		{8, 10, 0.5, (45 + 10 + 1) / 1024.0},
		{3, 3, 0.1, 0.001},
		{600, 1000, 0.5, 1.364232e-10},
		{5, 4, 0.5, 0},
		{5, 5, 0, 0},
		{5, 5, 1, 1},
	} {
		got := tail(c.k, c.n, c.p)
		if math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("tail(%g, %g, %g) is %g, want %g", c.k, c.n, c.p, got, c.want)
		}
	}
	if got := tail(1e12+1e7, 2e12, 0.5); !(got >= 0 && got <= 1) {
		t.Errorf("of very many: %g", got)
	}
}

// these returns counts with these values.
func these(values map[Count]float64) *Counts {
	var c Counts
	for n, v := range values {
		c.N[n] = v
	}
	return &c
}

// TestVerdicts checks what a few and what many events say.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name       string
		fresh, old *Counts
		beside     Beside
		rules      Rules
		measure    string
		want       Verdict
	}{
		{"one request in ten", these(map[Count]float64{Requests: 300, Errors: 30}), these(map[Count]float64{Requests: 300}),
			Others, nil, "errors", Worse},
		{"few requests", these(map[Count]float64{Requests: 20, Errors: 2}), these(map[Count]float64{Requests: 20}),
			Others, nil, "errors", Well},
		{"all of few", these(map[Count]float64{Requests: 20, Errors: 20}), these(map[Count]float64{Requests: 20}),
			Others, nil, "errors", Worse},
		{"not sure", these(map[Count]float64{Requests: 100, Errors: 7}), these(map[Count]float64{Requests: 100}),
			Others, nil, "errors", Unclear},
		{"servers fail everywhere", these(map[Count]float64{Requests: 3000, Errors: 1500}),
			these(map[Count]float64{Requests: 3000, Errors: 1400}), Others, nil, "errors", Well},
		{"within the rule", these(map[Count]float64{Requests: 1e6, Errors: 4000}), these(map[Count]float64{Requests: 1e6}),
			Others, nil, "errors", Well},
		{"another rule", these(map[Count]float64{Requests: 1e6, Errors: 4000}), these(map[Count]float64{Requests: 1e6}),
			Others, Rules{"errors": 0.001}, "errors", Worse},
		{"off", these(map[Count]float64{Requests: 300, Errors: 30}), these(map[Count]float64{Requests: 300}),
			Others, Rules{"errors": off}, "errors", ""},
		{"servers' errors say nothing beside the past",
			these(map[Count]float64{Requests: 300, Errors: 300, ServerErrors: 300}),
			these(map[Count]float64{Requests: 300}), Past, nil, "errors", Unknown},
		{"nor of the gateway", these(map[Count]float64{Requests: 300, Errors: 300, ServerErrors: 300}),
			these(map[Count]float64{Requests: 300}), Past, nil, "gateway_errors", Well},
		{"the gateway's own", these(map[Count]float64{Requests: 300, Errors: 30}), these(map[Count]float64{Requests: 300}),
			Past, nil, "gateway_errors", Worse},
		{"beside nothing", these(map[Count]float64{Requests: 300, Errors: 30}), &Counts{}, Nothing, nil, "gateway_errors",
			Worse},
		{"VMs beside nothing", these(map[Count]float64{Requests: 300, VMFailures: 12}), &Counts{}, Nothing, nil,
			"vm_failures", Worse},
		{"repairs beside nothing", these(map[Count]float64{Answers: 300, Recoveries: 300}), &Counts{}, Nothing, nil,
			"recoveries", Unknown},
		{"several repairs of an answer", these(map[Count]float64{Answers: 300, Recoveries: 900}),
			these(map[Count]float64{Answers: 300}), Others, nil, "recoveries", Worse},
	} {
		var got Verdict
		for _, f := range c.rules.judge(c.fresh, reference{beside: c.beside, counts: c.old}) {
			if f.Measure == c.measure {
				got = f.Verdict
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSpread checks that Envoys that differ by themselves make a difference less sure.
func TestSpread(t *testing.T) {
	fresh := these(map[Count]float64{Requests: 300, Refused: 60})
	find := func(each ...*Counts) Verdict {
		var sum Counts
		for _, c := range each {
			sum.add(c, 1)
		}
		for _, f := range Rules(nil).judge(fresh, reference{beside: Others, counts: &sum, each: each}) {
			if f.Measure == "refused" {
				return f.Verdict
			}
		}
		return ""
	}
	alike := these(map[Count]float64{Requests: 300, Refused: 20})
	if got := find(alike, alike, alike); got != Worse {
		t.Errorf("beside three that are alike: %s", got)
	}
	bad := these(map[Count]float64{Requests: 300, Refused: 60})
	none := these(map[Count]float64{Requests: 300})
	if got := find(bad, none, none); got == Worse {
		t.Errorf("beside one like it: %s", got)
	}
}

// TestSlow checks that a filter that takes longer is found, whatever the requests are like.
func TestSlow(t *testing.T) {
	old, same, slower := &Counts{}, &Counts{}, &Counts{}
	old.Renders[3], old.Renders[4] = 800, 200
	same.Renders[3], same.Renders[4] = 80, 25
	slower.Renders[6], slower.Renders[7] = 60, 20
	for fresh, want := range map[*Counts]Verdict{same: Well, slower: Worse} {
		all := Rules(nil).judge(fresh, reference{beside: Others, counts: old})
		if got := all[len(all)-1]; got.Measure != slowMeasure || got.Verdict != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

// TestParseRules reads rules, and refuses others.
func TestParseRules(t *testing.T) {
	got, err := ParseRules("errors=1%, recoveries=off,slow=0.3")
	if err != nil || got["errors"] != 0.01 || got["recoveries"] != off || got["slow"] != 0.3 || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"errors", "nothing=1%", "errors=x", "errors=-1%", "errors=101%", "errors=NaN", ","} {
		if _, err := ParseRules(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if got := strings.Join(Measures(), " "); !strings.Contains(got, "errors gateway_errors vm_failures") {
		t.Errorf("%s", got)
	}
}
