package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const moduleName = "harmony-filter.wasm"

// findModule returns the path of the filter: explicit, else next to this program, else in dist/.
func findModule(explicit string) (string, error) {
	if explicit != "" {
		if !isFile(explicit) {
			return "", fmt.Errorf("--wasm %s does not exist; make wasm builds dist/%s", explicit, moduleName)
		}
		return filepath.Abs(explicit)
	}
	candidates := []string{filepath.Join("dist", moduleName)}
	if program, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		folder := filepath.Dir(program)
		candidates = append([]string{filepath.Join(folder, moduleName), filepath.Join(folder, "dist", moduleName)},
			candidates...)
	}
	for _, c := range candidates {
		if isFile(c) {
			return filepath.Abs(c)
		}
	}
	return "",
		fmt.Errorf("no filter found next to this program or at dist/%s; run make wasm, or name the file with --wasm",
			moduleName)
}

// systemCAFile returns the path of the system's trusted certificates, or "" if they are at none of the usual places.
func systemCAFile() string {
	for _, f := range []string{
		os.Getenv("SSL_CERT_FILE"),
		"/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Alpine
		"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
		"/etc/ssl/ca-bundle.pem",             // openSUSE
		"/etc/ssl/cert.pem",                  // macOS, BSD
	} {
		if f != "" && isFile(f) {
			return f
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
