package xds

import (
	"slices"
	"testing"

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
