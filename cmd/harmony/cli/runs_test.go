package cli

import (
	"os"
	"testing"
)

// TestRunsThatWereKilled checks that a start removes the folders of killed runs in TMPDIR.
func TestRunsThatWereKilled(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	folder, err := NewRunFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Remove()
	// The lock of a process that has ended is a file without a lock.
	dead := temp + "/" + RunFolders + "dead"
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead+"/lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	RemoveDeadRuns()
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(folder.Path); err != nil {
		t.Errorf("the folder of this run: %v", err)
	}
}
