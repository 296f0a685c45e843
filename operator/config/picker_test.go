package config

import (
	"strings"
	"testing"
	"time"
)

const pickedModels = "models: [{name: m, pool: p}, {name: n, pool: q}]\n"

func TestPicker(t *testing.T) {
	c, err := Parse("h.yaml", []byte(pickedModels+`pools:
- {name: p, servers: ['http://h:1'], policy: picker, picker: {url: 'http://epp:9002'}}
- {name: q, servers: ['http://h:2'], policy: picker}
- {name: r, servers: ['http://h:3'], policy: round_robin}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, q, other := r.Pool("p"), r.Pool("q"), r.Pool("r")
	if !p.Asked() || p.PickedInFront() || p.PickerEndpoint.Port != 9002 || p.Picker.Send != SendHeaders ||
		time.Duration(p.Picker.Timeout) != DefaultPickerTimeout || p.Picker.OnFailure != OnFailureFallback ||
		p.Picker.Fallback != PolicyLeastRequest {
		t.Errorf("a picker with a URL: %+v", p)
	}
	if in := string(r.FilterJSON); strings.Count(in, `"block_hashes":512`) != 1 || strings.Count(in,
		`"destination":true`) != 1 || strings.Contains(in, "affinity") {
		t.Errorf("the filter gets %s", in)
	}
	if q.Asked() || !q.PickedInFront() {
		t.Errorf("a picker in front: %+v", q)
	}
	if other.Asked() || other.PickedInFront() || other.Picker != (Picker{}) {
		t.Errorf("no picker: %+v", other)
	}
}

func TestPickerRefusals(t *testing.T) {
	const picked = "{name: p, servers: ['http://h:1'], policy: picker, picker: {url: 'http://epp:9002', timeout: 1s}}"
	for pool, want := range map[string]string{
		"policy: session, picker: {url: 'http://epp:9002'}":    "pools[1].picker: is for the policy picker",
		"policy: picker, picker: {timeout: 1s}":                "pools[1].picker.timeout: is for a picker with a url",
		"policy: picker, picker: {send: bodies}":               "pools[1].picker.send: is for a picker with a url",
		"policy: picker, picker: {url: epp}":                   `pools[1].picker.url: "epp" is not a URL`,
		"policy: picker, picker: {url: 'http://epp/x'}":        "has the path /x",
		"policy: picker, picker: {url: 'http://h:1'}":          "pools[1].picker.url: http://h:1 is a server of the pool p",
		"policy: picker, picker: {url: 'http://e', send: all}": `pools[1].picker.send: "all" is not known`,
		"policy: picker, picker: {on_failure: open}":           `pools[1].picker.on_failure: "open" is not known`,
		"policy: picker, picker: {url: 'http://e', send: bodies, on_failure: fallback}": "pools[1].picker.on_failure: cannot " +
			"be fallback with send: bodies",
		"policy: picker, picker: {fallback: random}":            `pools[1].picker.fallback: "random" is not known`,
		"policy: picker, picker: {blocks: 5}":                   "pools[1].picker.blocks: is for a picker with a url",
		"policy: picker, picker: {url: 'http://e', blocks: -1}": "pools[1].picker.blocks: -1 is out of range",
		"policy: picker, affinity: {blocks: 4}":                 "pools[1].affinity: has settings for the policy prefix",
		"policy: picker, picker: {url: 'http://e:1'}":           "pools[1].picker.timeout: 200ms differs from the 1s of p",
		"policy: picker, picker: {url: 'http://e', timeout: 0}": "pools[1].picker.timeout",
		"policy: picker, picker: {url: 'http://e', timeout: 6m}": "pools[1].picker.timeout: 6m0s is out of range; write a " +
			"time from 1ms to 5m",
		"policy: picker, picker: {on_failure: refuse, fallback: round_robin}": "pools[1].picker.fallback: chooses nothing " +
			"with on_failure: refuse",
	} {
		_, err := Parse("h.yaml", []byte(pickedModels+"pools:\n- "+picked+"\n- {name: q, servers: ['http://h:2'], "+pool+"}\n"))
		if got := allOf(err); !strings.Contains(got, want) { // some are two mistakes
			t.Errorf("%s: got %v, want %s", pool, got, want)
		}
	}
	_, err := Parse("h.yaml", []byte("mode: reduced\nmodels: [{name: m, pool: p}]\npools: [{name: p, policy: picker, "+
		"servers: ['http://h:1'], picker: {url: 'http://e', send: bodies}}]\n"))
	if want := "pools[0].picker.send: cannot be bodies in mode reduced"; err == nil || !strings.Contains(err.Error(),
		want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
