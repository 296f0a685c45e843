package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// command runs the program once.
func command(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	code = run(ctx, args, &out, &errors)
	return code, out.String(), errors.String()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
