//go:build e2e

package page

import (
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
)

// TestLostTags: the page shows which servers do not hold answers to structural tags, and what follows for the pool.
func TestLostTags(t *testing.T) {
	t.Parallel()
	s := fake.Well(time.Now())
	s.Pools[0].Servers[0].StructuralTags = pools.TagsHeld
	s.Pools[0].Servers[1].StructuralTags = pools.TagsRefused
	s.Pools[1].Servers[0].StructuralTags = pools.TagsDropped
	s.Pools[1].Warnings = []string{"1 of 1 servers pass over structural tags"}
	b := open(t, newFleet(t, s).serve(t), "/")
	b.see("1 of 1 servers pass over structural tags")
	b.until(`[...document.querySelectorAll(".server .facts")].filter((e) => /tags/.test(e.textContent)).length === 2`)
	b.see("drops structural tags")
	b.see("refuses structural tags")
}
