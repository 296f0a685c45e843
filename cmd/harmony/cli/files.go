package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
)

// ModuleName is the name of the filter's file.
const ModuleName = "harmony-filter.wasm"

// howToGetFilter ends every error about a missing filter.
const howToGetFilter = "install a release (docs/installing.md), or in a checkout run make wasm and name " +
	"dist/" + ModuleName + " with --wasm"

// findModule returns the filter: the file explicit, else the one inside this program, else a file next to this program
// or in dist/.
func findModule(explicit string, inside func() ([]byte, error)) (FilterSource, error) {
	if explicit != "" {
		if !IsFile(explicit) {
			return FilterSource{}, fmt.Errorf("--wasm %s does not exist; without --wasm the filter in this program is "+
				"used; %s", explicit, howToGetFilter)
		}
		path, err := filepath.Abs(explicit)
		return FilterSource{file: path}, err
	}
	content, err := inside()
	if !errors.Is(err, bundled.ErrNone) {
		return FilterSource{content: content}, err
	}
	if path := moduleBeside(); path != "" {
		path, err = filepath.Abs(path)
		return FilterSource{file: path}, err
	}
	return FilterSource{}, fmt.Errorf("%w, and there is none next to it or at dist/%s; %s", err, ModuleName,
		howToGetFilter)
}

// moduleBeside returns the path of a filter that was built beside this program, or "".
func moduleBeside() string {
	candidates := []string{filepath.Join("dist", ModuleName)}
	if program, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		folder := filepath.Dir(program)
		candidates = append([]string{filepath.Join(folder, ModuleName), filepath.Join(folder, "dist", ModuleName)},
			candidates...)
	}
	for _, c := range candidates {
		if IsFile(c) {
			return c
		}
	}
	return ""
}

// SystemCAFile returns the path of the system's trusted certificates, or "" if they are not at a usual place.
func SystemCAFile() string {
	for _, f := range []string{
		os.Getenv("SSL_CERT_FILE"),
		"/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Alpine
		"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
		"/etc/ssl/ca-bundle.pem",             // openSUSE
		"/etc/ssl/cert.pem",                  // macOS, BSD
	} {
		if f != "" && IsFile(f) {
			return f
		}
	}
	return ""
}

// IsFile reports whether there is a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
