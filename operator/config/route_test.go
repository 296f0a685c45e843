package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const routedFile = `
pools:
- { name: far, servers: ["http://h:1"] }
- { name: near, servers: ["http://h:2"], policy: prefix, capacity: 7 }
- { name: mine, servers: ["http://h:3"] }
clients: { keys_file: keys.yaml }
models:
- name: m
  pool: far
  route:
  - { pool: mine, class: batch }
  - { pool: near, max_prompt: 900, min_answer: 100, context_length: 1000 }
  - { pool: near, class: other }
  - { pool: far, max_prompt: 2000 }
`

// TestRoute: the filter gets each rule with what its pool needs, and each pool knows the model.
func TestRoute(t *testing.T) {
	c, err := Parse("h.yaml", []byte(routedFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	f, err := filterconfig.Parse(r.FilterJSON)
	if err != nil {
		t.Fatal(err)
	}
	type rule struct {
		class            string
		longest, answer  int
		context          int
		route, name, how string
		affinity         bool
	}
	var got []rule
	for _, b := range f.Models[0].Route {
		got = append(got, rule{b.Class, b.MaxPrompt, b.MinAnswer, b.ContextLength, b.Pool, b.PoolName, b.Policy,
			b.Routing.Affinity})
	}
	want := []rule{
		{"batch", 0, 1, 0, "m to mine", "mine", PolicyLeastRequest, false},
		{"", 900, 100, 1000, "m to near", "near", PolicyPrefix, true},
		{"other", 0, 1, 0, "m to near", "near", PolicyPrefix, true},
		{"", 2000, 1, 0, "m", "far", PolicyLeastRequest, false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for pool, want := range map[string]string{"far": "m", "near": "m to near", "mine": "m to mine"} {
		if models := r.Pool(pool).Models; len(models) != 1 || models[0].Route() != want || models[0].Name != "m" {
			t.Errorf("%s: %d models, want %s", pool, len(models), want)
		}
	}
}

// TestRouteContexts: the contexts of servers count for their pool, unless the operator has set one.
func TestRouteContexts(t *testing.T) {
	c, err := Parse("h.yaml", []byte(routedFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{"m": 50_000, "m to mine": 4_000, "m to near": 3_000}
	f, err := filterconfig.Parse(r.FilterJSONWith(nil, nil, told, nil))
	if err != nil {
		t.Fatal(err)
	}
	got := []int{f.Models[0].ContextLength}
	for _, b := range f.Models[0].Route {
		got = append(got, b.ContextLength)
	}
	// The second rule has set it.
	if want := []int{50_000, 4_000, 1_000, 3_000, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	remembered := ContextsIn(r.FilterJSONWith(nil, nil, told, nil))
	if remembered["m"] != 50_000 || remembered["m to mine"] != 4_000 {
		t.Errorf("remembered %v", remembered)
	}
}

// TestRouteOfFilter: a filter refuses rules that it cannot follow.
func TestRouteOfFilter(t *testing.T) {
	for in, path := range map[string]string{
		`{"name":"a","route":[{}]}`:                                     "models[0].route[0].pool",
		`{"name":"a","route":{}}`:                                       "models[0].route",
		`{"name":"a","route":[{"pool":"a to b","colour":1}]}`:           "models[0].route[0].colour",
		`{"name":"a","server":"chat","route":[{"pool":"a to b"}]}`:      "models[0].route",
		`{"name":"a","overflow_model":"b"}`:                             "models[0].overflow_model",
		`{"name":"a","route":[{"pool":"a to b","min_answer":0}]}`:       "models[0].route[0].min_answer",
		`{"name":"a","route":[{"pool":"a to b","class":"x y"}]}`:        "models[0].route[0].class",
		`{"name":"a","overflow_model":"a"}`:                             "models[0].overflow_model",
		`{"name":"a","route":[{"pool":"a to b","max_prompt":5000000}]}`: "models[0].route[0].max_prompt",
	} {
		_, err := filterconfig.Parse([]byte(`{"schema":1,"models":[` + in + `]}`))
		if e, ok := err.(*filterconfig.Error); !ok || e.Path != path {
			t.Errorf("%s: %v, want an error at %s", in, err, path)
		}
	}
}

// TestRouteClasses: the filter learns clients' classes only where a rule needs them.
func TestRouteClasses(t *testing.T) {
	for in, want := range map[string]string{
		routedFile: "[a x]",
		strings.Replace(routedFile, "keys.yaml }", "keys.yaml, classes: [{ name: other }, { name: batch }] }",
			1): "other [a x]",
		strings.NewReplacer("class: batch", "max_prompt: 9", "class: other", "max_prompt: 9", "keys.yaml }",
			"keys.yaml, classes: [{ name: other }] }").Replace(routedFile): "[]",
	} {
		c, err := Parse("h.yaml", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		f, err := filterconfig.Parse(r.FilterJSONWith(nil, func(c *contract.Clients) { c.Classes = []string{"a x"} }, nil,
			nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(fmt.Sprint(f.Clients.DefaultClass, " ", f.Clients.Classes)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
