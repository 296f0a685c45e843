package exchange

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestPathsOfKindsAreGuarded checks that clients cannot send prompts of their own to a path of any kind of server, to
// other spellings of it, nor to paths below it.
func TestPathsOfKindsAreGuarded(t *testing.T) {
	for _, path := range contract.PromptPaths() {
		for _, method := range []string{"POST", "PUT"} {
			for target, unlisted := range map[string]bool{path: false, path + "/batch": true, path + "/": true,
				path + ";v=1": true} {
				x := testGateway(nil).Begin(method, target)
				if x == nil {
					t.Errorf("%s %s is not guarded", method, target)
					continue
				}
				if raw, ok := x.endpoint.(*rawPrompt); !ok || raw.path != target || raw.unlisted != unlisted {
					t.Errorf("%s %s: %+v", method, target, x.endpoint)
				}
			}
			x := testGateway(nil).Begin(method, "/."+path)
			if _, ok := x.endpoint.(*refusal); !ok {
				t.Errorf("%s /.%s: %+v", method, path, x.endpoint)
			}
		}
	}
}
