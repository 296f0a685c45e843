// Package clitest has what the tests of commands share.
//
// It must not know any command.
package clitest

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes a file that the test can also run as a program, and returns its path.
func WriteFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
