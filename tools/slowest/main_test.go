package main

import (
	"strings"
	"testing"
)

// TestReport checks the order of the tables, and that the output of a failed test is shown with its subtests', and the
// output of a test that passed is not.
func TestReport(t *testing.T) {
	const in = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1.5}
{"Action":"output","Package":"p","Test":"TestB/sub","Output":"loud\n"}
{"Action":"fail","Package":"p","Test":"TestB/sub","Elapsed":9}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":9.5}
{"Action":"skip","Package":"p","Test":"TestC","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":11}
{"Action":"pass","Package":"q","Elapsed":12}
`
	var out strings.Builder
	passed, err := report(strings.NewReader(in), &out, 2)
	if passed || err != nil {
		t.Errorf("passed = %v, %v", passed, err)
	}
	const want = "loud\n\n2 packages, 23 s together. The slowest:\n    12.0 s  q\n    11.0 s  p\n" +
		"\n3 tests, 11 s together. The slowest:\n     9.5 s  p TestB\n     1.5 s  p TestA\n"
	if out.String() != want {
		t.Errorf("got %q\nwant %q", out.String(), want)
	}
	for _, bad := range []string{"", "FAIL\n"} {
		if _, err := report(strings.NewReader(bad), &out, 2); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
