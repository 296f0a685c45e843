package wasmhost

import (
	"os"
	"path/filepath"
)

// CacheDir returns the user's own folder for [Options.CacheDir] and creates it if needed. The folder holds machine
// code, so no other user may be able to write to it.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(base, "harmony-edge", "wazero")
	return folder, os.MkdirAll(folder, 0o700)
}
