package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
)

const moduleName = "harmony-filter.wasm"

// howToGetFilter ends every error about a missing filter.
const howToGetFilter = "install a release (docs/installing.md), or in a checkout run make wasm and name " +
	"dist/" + moduleName + " with --wasm"

// findModule returns the filter: the file explicit, else the one inside this program, else a file next to this program or
// in dist/.
func findModule(explicit string, inside func() ([]byte, error)) (filterSource, error) {
	if explicit != "" {
		if !isFile(explicit) {
			return filterSource{}, fmt.Errorf("--wasm %s does not exist; without --wasm the filter in this program is used; %s", explicit,
				howToGetFilter)
		}
		path, err := filepath.Abs(explicit)
		return filterSource{file: path}, err
	}
	content, err := inside()
	if !errors.Is(err, bundled.ErrNone) {
		return filterSource{content: content}, err
	}
	if path := moduleBeside(); path != "" {
		path, err = filepath.Abs(path)
		return filterSource{file: path}, err
	}
	return filterSource{}, fmt.Errorf("%w, and there is none next to it or at dist/%s; %s", err, moduleName, howToGetFilter)
}

// moduleBeside returns the path of a filter that was built beside this program, or "".
func moduleBeside() string {
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
			return c
		}
	}
	return ""
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
