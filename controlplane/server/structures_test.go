package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestStructures checks what structured_outputs of models is in force by what their servers do with structural tags.
func TestStructures(t *testing.T) {
	const two = "models:\n- { name: a, pool: p }\n- { name: b, pool: p, structured_outputs: none }\n- { name: c, pool: q }\n" +
		"pools:\n- { name: p, servers: [ 'http://10.0.0.1:1' ], spares: [ s ]%s }\n" +
		"- { name: q, servers: [ 'http://10.0.0.2:1' ] }\n- { name: s, servers: [ 'http://10.0.0.3:1' ]%s }\n"
	state := func(tags ...pools.Tags) (s pools.PoolState) {
		for _, one := range tags {
			s.Servers = append(s.Servers, pools.Server{Tags: one})
		}
		return s
	}
	const unknown, held, dropped, refused = pools.TagsNotAsked, pools.TagsHeld, pools.TagsDropped, pools.TagsRefused
	refuse, ignore, never := ", probe: { on_lost_tags: refuse }", ", probe: { on_lost_tags: ignore }",
		", probe: { ask: never }"
	for _, tt := range []struct {
		name, onP, onS string
		p, s           pools.PoolState
		before         map[string]string
		want           string
	}{
		{"all hold them", "", "", state(held, held), state(held), nil, "map[]"},
		{"nobody was asked", "", "", state(unknown), state(unknown), nil, "map[]"},
		{"nobody was asked, and it was so before", "", "", state(unknown), state(),
			map[string]string{"a": "none", "b": "none"}, "map[a:none]"},
		{"one of two drops them", "", "", state(held, dropped), state(held), nil, "map[a:none]"},
		{"they are refused", "", "", state(refused), state(held), nil, "map[a:none]"},
		{"a spare drops them", "", "", state(held), state(dropped), nil, "map[a:none]"},
		{"refuse", refuse, "", state(dropped), state(held), nil, "map[a:refuse]"},
		{"one refuses, the other degrades", refuse, "", state(dropped), state(dropped), nil, "map[a:refuse]"},
		{"the other way round", "", refuse, state(dropped), state(dropped), nil, "map[a:refuse]"},
		{"ignore", ignore, "", state(dropped), state(held), nil, "map[]"},
		{"ignored from now on", ignore, "", state(unknown), state(unknown), map[string]string{"a": "none"}, "map[]"},
		{"never asked", never, "", state(dropped), state(held), nil, "map[]"},
		{"the server was exchanged", "", "", state(held), state(unknown), map[string]string{"a": "none"}, "map[]"},
	} {
		c, err := config.Parse("h.yaml", []byte(fmt.Sprintf(two, tt.onP, tt.onS)))
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]pools.PoolState{"p": tt.p, "q": state(held), "s": tt.s}
		if got := fmt.Sprint(Structures(resolved, states, tt.before)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		json := string(resolved.FilterJSONWith(nil, nil, nil, Structures(resolved, states, tt.before)))
		if n := strings.Count(json, `"structured_outputs"`); n != strings.Count(tt.want, ":")+1 {
			t.Errorf("%s: %d models of the filter have another value:\n%s", tt.name, n, json)
		}
	}
}

// TestLostTagsAreShown checks the warning, the status and the metric of a server that drops structural tags, and what
// Envoys get.
func TestLostTagsAreShown(t *testing.T) {
	gpu := sim.New(sim.Options{Models: []string{"m"}})
	t.Cleanup(gpu.Close)
	router := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		text = bytes.Replace(text, []byte(`"structured_outputs"`), []byte(`"unknown_member"`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		gpu.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(router.Close)
	folder := folderWith(t, "models:\n- { name: m, pool: p }\npools:\n- { name: p, servers: [ '"+router.URL+"' ] }\n")
	p := start(t, folder)
	e := startEnvoy(t, p.ads, "one")
	eventually(t, "degraded", func() bool {
		return p.current() &&
			strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), `"structured_outputs":"none"`)
	})
	pool := p.Status().Pools[0]
	want := "1 of 1 servers pass over structural tags, such as " + router.URL + ": forced calls and JSON formats are only " +
		"asked for in the prompt; a router or an old program may drop them: see docs/routers.md"
	if len(pool.Warnings) != 1 || pool.Warnings[0] != want || pool.StructuredOutputs["m"] != "none" ||
		pool.Servers[0].StructuralTags != pools.TagsDropped || pool.Servers[0].State != pools.Ready {
		t.Errorf("got %+v", pool)
	}
	for tags, n := range map[string]string{"dropped": "1", "refused": "0"} {
		if got := p.metric(`harmony_controlplane_lost_tags_servers{pool="p",tags="` + tags + `"}`); got != n {
			t.Errorf("%q servers are counted as %s", got, tags)
		}
	}
}
