package golden

import (
	"bytes"
	"os"
	"testing"
)

// Compare compares a text with a golden file, or writes the file if update is true. If there is a base, the file holds
// the text's differences to the base.
func Compare(t testing.TB, update bool, file string, base, got []byte) {
	t.Helper()
	if !bytes.HasSuffix(got, []byte("\n")) {
		t.Fatalf("%s: the text does not end with a line's end", file)
	}
	form := string(got)
	if base != nil {
		form = Diff(string(base), string(got))
	}
	if update {
		if err := os.WriteFile(file, []byte(form), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) == form {
		return
	}
	want := string(stored)
	if base != nil {
		if want, err = Apply(string(base), want); err != nil {
			t.Fatalf("%s: %v; run go test -update", file, err)
		}
	}
	t.Errorf("%s differs; look at the difference after go test -update\n%s", file, Diff(want, string(got)))
}
