package wasmhost

import (
	"os"
	"path/filepath"
)

// CacheDir is the user's own folder for [Options.CacheDir], made if it is not there. What lies in it is machine code,
// so it must be one that nobody else writes to.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(base, "harmony-edge", "wazero")
	return folder, os.MkdirAll(folder, 0o700)
}
