package xds

import (
	"slices"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestPathsOfKinds checks the routes for kinds of servers whose paths are not the API's.
func TestPathsOfKinds(t *testing.T) {
	own := &contract.Kind{Name: "own", Path: contract.GeneratePath}
	match := poolMatch(own, "m")
	if match.GetPath() != contract.GeneratePath || len(match.Headers) != 1 ||
		match.Headers[0].GetName() != contract.PoolHeader || match.Headers[0].GetStringMatch().GetExact() != "m" {
		t.Errorf("the route to a pool matches %v", match)
	}
	kinds := []*contract.Kind{own, contract.KindNamed(contract.VLLM), {Path: contract.InferenceGeneratePath}, own}
	if got := pathsBesideAPI(kinds); !slices.Equal(got, []string{contract.GeneratePath, contract.InferenceGeneratePath}) {
		t.Errorf("the paths beside the API's are %v", got)
	}
	rest := claimed(exactPath(contract.GeneratePath))
	if rest.GetPath() != contract.GeneratePath || len(rest.Headers) != 1 || !rest.Headers[0].GetPresentMatch() {
		t.Errorf("the route of other claimed requests matches %v", rest)
	}
}

// TestServiceIdleTimeout: a response whose tools run may say nothing for as long as they may take.
func TestServiceIdleTimeout(t *testing.T) {
	for _, tt := range []struct {
		tools config.Tools
		want  time.Duration
	}{
		{config.Tools{}, 90 * time.Second},
		{config.Tools{Allow: []string{"*"}}, 90*time.Second + config.DefaultToolTime},
		{config.Tools{Allow: []string{"*"}, Time: config.Duration(time.Hour)}, 90*time.Second + time.Hour},
	} {
		c := example()
		c.StallTimeout = config.Duration(time.Minute)
		c.ResponsesService.Store, c.ResponsesService.Tools = "responses.db", tt.tools
		r, err := build(c, testOptions)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.ConnectionManager()
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range m.GetRouteConfig().VirtualHosts[0].Routes {
			if got := route.GetRoute().GetIdleTimeout().AsDuration(); route.Name == "responses service" && got != tt.want {
				t.Errorf("%+v: %v, want %v", tt.tools, got, tt.want)
			}
		}
	}
}
