//go:build e2e

package hostile

import (
	"bytes"
	"testing"
)

// TestFamilies shows that there are enough families with unique names, and that each body has the requested size and
// depends only on its seed.
func TestFamilies(t *testing.T) {
	const size = 1 << 16
	seen := map[string]bool{}
	all := All()
	for i := range all {
		f := &all[i]
		if f.Name == "" || f.Path == "" || seen[f.Name] {
			t.Errorf("family %d: %q at %q", i, f.Name, f.Path)
		}
		seen[f.Name] = true
		body := f.Body(size, 1)
		if len(body) != size {
			t.Errorf("%s: %d bytes", f.Name, len(body))
		}
		if !bytes.Equal(body, f.Body(size, 1)) {
			t.Errorf("%s: another body for the same seed", f.Name)
		}
	}
	if len(all) < 70 {
		t.Errorf("%d families", len(all))
	}
	t.Logf("%d families", len(all))
}
