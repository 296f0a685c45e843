package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestCluster: a watch that asks for what there is gets each object with its kind, and a bookmark behind them; a list
// has the same objects; discovery names each kind.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := cluster{ports: []int{8001, 8002}, objectives: map[string]int{"interactive": 1, "batch": 0}}
	url, err := c.serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range c.kinds() {
		if got := get(url + k.folder()); !strings.Contains(got, `"kind":"`+k.name+`"`) {
			t.Errorf("%s: discovery says %s", k.name, got)
		}
		at := url + k.folder() + "/namespaces/" + namespace + "/" + k.plural
		if n := strings.Count(get(at), `"namespace":"bench"`); n != len(k.objects) || n == 0 {
			t.Errorf("%s: the list has %d objects of %d", k.name, n, len(k.objects))
		}
		response, err := http.Get(at + "?watch=true&sendInitialEvents=true")
		if err != nil {
			t.Fatal(err)
		}
		events := json.NewDecoder(response.Body)
		for i := range len(k.objects) + 1 {
			var e struct {
				Type   string
				Object struct{ Kind string }
			}
			want := "ADDED"
			if i == len(k.objects) {
				want = "BOOKMARK"
			}
			if err := events.Decode(&e); err != nil || e.Type != want || e.Object.Kind != k.name {
				t.Errorf("%s: event %d is %+v, %v; want %s", k.name, i, e, err, want)
			}
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
