package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestConstantFilter checks that the module that is written by hand runs, and what it does to an answer.
func TestConstantFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "constant.wasm")
	if err := os.WriteFile(path, constantFilter(), 0o600); err != nil {
		t.Fatal(err)
	}
	x := filtertest.New(t, path, "").BeginRequest("POST", "/v1/completions")
	x.EndRequest(`{"prompt":[1]}`)
	if got := x.Server().Body(); got != `{"prompt":[1]}` {
		t.Errorf("the server got %q", got)
	}
	long := strings.Repeat("x", 3*readSize)
	x.BeginResponse(200, "content-length", strconv.Itoa(8+len(long)))
	x.SendResponse("data: 1\n", long)
	x.EndResponse("")
	if got, want := x.Client().Body(), strings.Repeat(constantEvent, 2); got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
}
