package exchange

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestPathsOfKindsAreGuarded checks that clients cannot send prompts of their own to the path of any kind of server, nor
// to paths below it.
func TestPathsOfKindsAreGuarded(t *testing.T) {
	for _, name := range contract.ServerKinds() {
		path := contract.KindNamed(name).Path
		for _, method := range []string{"POST", "PUT"} {
			if !slices.ContainsFunc(routes[:], func(r route) bool {
				return r.method == method && r.path == path && r.api == apiCompletions
			}) {
				t.Errorf("%s: no route guards %s %s; write one that begins with beginServersOwn", name, method, path)
			}
		}
		if !mayTakePrompt(path + "/batch") {
			t.Errorf("%s: paths below %s are not guarded; add it to rawRoots", name, path)
		}
		if !isUnder(path, apiRoots[:]) {
			t.Errorf("%s: spellings of %s that can be read in two ways are not refused; add it to apiRoots", name, path)
		}
	}
}
