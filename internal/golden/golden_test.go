package golden

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const base = `Cluster:
- name: a
  type: STATIC
  load:
    port: 1
- name: b
  type: STATIC
  load:
    port: 2
Route:
- name: r
  cluster: a
`

// TestDiff checks the form of differences: an added item is shown whole, and a head names where a change is.
func TestDiff(t *testing.T) {
	text := strings.Replace(base, "- name: b\n", "- name: c\n  type: STATIC\n  load:\n    port: 3\n- name: b\n", 1)
	text = strings.Replace(text, "port: 2", "port: 4", 1)
	want := `@@ skip 4 @@ Cluster
     port: 1
+- name: c
+  type: STATIC
+  load:
+    port: 3
 - name: b
@@ skip 1 @@ Cluster > b > load
   load:
-    port: 2
+    port: 4
 Route:
`
	if got := Diff(base, text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Diff(base, base); got != "" {
		t.Errorf("a text differs from itself: %s", got)
	}
}

// TestPlaceOfObject checks that a head names the object of Kubernetes.
func TestPlaceOfObject(t *testing.T) {
	a := "# Two.\nkind: A\nmetadata:\n  name: a\nspec:\n  port: 1\n"
	base := a + "---\n" + strings.NewReplacer("A", "B", "name: a", "name: b").Replace(a)
	got := Diff(base, strings.ReplaceAll(base, "1", "2"))
	for _, head := range []string{"@@ A a > spec\n", "@@ B b > spec\n"} {
		if !strings.Contains(got, head) {
			t.Errorf("%q is not in\n%s", head, got)
		}
	}
}

// TestApply checks that a text comes back from its differences, whatever changed.
func TestApply(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range random.IntN(12) {
			line := []string{"a", "- b", "", "- ", "@@ skip 1 @@"}[random.IntN(5)]
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", random.IntN(3)), line)
		}
		return b.String()
	}
	for range 20000 {
		a, b := text(), text()
		diff := Diff(a, b)
		if got, err := Apply(a, diff); err != nil || got != b {
			t.Fatalf("%q to %q: got %q, %v from\n%s", a, b, got, err, diff)
		}
	}
}

// TestApplyRefuses checks differences that are not to the base, or are none.
func TestApplyRefuses(t *testing.T) {
	for _, diff := range []string{"@@ skip 13 @@\n", "@@ skip -1 @@\n", "@@ skip\n", " Route:\n", "-Route:\n", "\n",
		"Route:\n", "@@ skip 12 @@\n-a\n"} {
		if got, err := Apply(base, diff); err == nil {
			t.Errorf("%q made %q", diff, got)
		}
	}
}

// failures counts what a test reports.
type failures struct {
	testing.TB
	n int
}

func (f *failures) Helper()               {}
func (f *failures) Errorf(string, ...any) { f.n++ }
func (f *failures) Fatalf(string, ...any) { f.n++ }

// TestCompare checks that a stored text equals itself, and that a line more or less fails, with a base and without.
func TestCompare(t *testing.T) {
	all := strings.SplitAfter(base, "\n")
	for _, base := range [][]byte{nil, []byte("Cluster:\n- name: x\n")} {
		file := filepath.Join(t.TempDir(), "file")
		Compare(t, true, file, base, []byte(strings.Join(all, "")))
		Compare(t, false, file, base, []byte(strings.Join(all, "")))
		for i := range len(all) - 1 {
			without := strings.Join(all[:i], "") + strings.Join(all[i+1:], "")
			twice := strings.Join(all[:i+1], "") + strings.Join(all[i:], "")
			for _, got := range []string{without, twice} {
				f := &failures{TB: t}
				if Compare(f, false, file, base, []byte(got)); f.n != 1 {
					t.Errorf("line %d: %d failures for\n%s", i, f.n, got)
				}
			}
		}
	}
}

// TestCompareWithAnotherBase checks that differences to another base fail, also where they fit this one.
func TestCompareWithAnotherBase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("@@ skip 0 @@\n-a\n+b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"a\nc\n", "c\n"} {
		f := &failures{TB: t}
		if Compare(f, false, file, []byte(base), []byte("b\n")); f.n == 0 {
			t.Errorf("%q: no failure", base)
		}
	}
}
