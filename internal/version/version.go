package version

import (
	_ "embed" // VERSION and archive.txt
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// modulePath is the Go module that a program must be of to have the version of its build information.
const modulePath = "github.com/harmonyedge/harmonyedge"

// next is the version that is released next, or that this very commit is, if it has the tag.
//
//go:embed VERSION
var next string

// archived has the commit of a source archive. In a checkout git has not filled it in.
//
//go:embed archive.txt
var archived string

// stamp is what make gives a program by the linker: VERSION@COMMIT (RATIONALE.md#111).
var stamp string

// Build is what something was built from.
type Build struct {
	// Version is a semantic version without a v: 0.1.0 for a release, else 0.1.0-dev.TIME.gCOMMIT, which is older than
	// 0.1.0. +dirty follows if the checkout had changes. Without a known commit it is 0.1.0-dev.
	Version string
	// Commit is the commit's hash, or "" if it is not known. A program that go install has built knows 12 digits at most.
	Commit string
}

// Tag returns the version as a tag and as a Go module's version, with a v.
func (b Build) Tag() string { return "v" + b.Version }

// dirty ends the version of a checkout with changes.
const dirty = "+dirty"

// Dirty reports whether the checkout had changes that are not in the commit.
func (b Build) Dirty() bool { return strings.HasSuffix(b.Version, dirty) }

// Stamp returns b as the linker gives it to a program, as the value of this package's variable stamp.
func (b Build) Stamp() string { return b.Version + "@" + b.Commit }

// Tags are the tags with which the program is built. Without grpcnotrace gRPC has pages of traces, whose templates make
// the linker keep every method of every type (RATIONALE.md#115).
const Tags = "grpcnotrace"

// Linker returns the linker's flag that gives b to a program.
func (b Build) Linker() string { return "-X " + modulePath + "/internal/version.stamp=" + b.Stamp() }

// Current returns what this program was built from.
func Current() Build {
	if v, commit, ok := strings.Cut(stamp, "@"); ok {
		return Build{v, commit}
	}
	if b, ok := parseArchive(archived, next); ok {
		return b
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return fromInfo(info, next)
	}
	return unknown(next)
}

func unknown(next string) Build { return Build{Version: core(next) + "-dev"} }

// core returns the version without -rc.N.
func core(next string) string {
	v, _, _ := strings.Cut(strings.TrimSpace(next), "-")
	return v
}

// commitDigits is how many digits of a commit a version has.
const commitDigits = 12

// of returns the version of a commit, which is the next one if it is tagged with it.
func of(next, commit string, at time.Time, tagged, changed bool) Build {
	v := strings.TrimSpace(next)
	if !tagged {
		v = fmt.Sprintf("%s-dev.%s.g%.*s", core(next), at.UTC().Format("20060102150405"), commitDigits, commit)
	}
	if changed {
		v += dirty
	}
	return Build{v, commit}
}

// parseArchive reads the line that git archive has filled in: commit, time, and the nearest tag if there is one.
func parseArchive(line, next string) (Build, bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.HasPrefix(fields[0], "$Format") {
		return Build{}, false
	}
	seconds, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return Build{}, false
	}
	tagged := len(fields) == 3 && fields[2] == "v"+strings.TrimSpace(next)
	return of(next, fields[0], time.Unix(seconds, 0), tagged, false), true
}

// moduleCommit matches the commit in a version of ours between two releases.
var moduleCommit = regexp.MustCompile(`-dev\.\d{14}\.g([0-9a-f]{12})$`)

// fromInfo returns what go has written into a program that is not stamped: the module's version from go install, the
// commit from go build in a checkout.
func fromInfo(info *debug.BuildInfo, next string) Build {
	var commit string
	var at time.Time
	var changed bool
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			at, _ = time.Parse(time.RFC3339, s.Value) // go writes it so; a zero time is still a version
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if info.Main.Path != modulePath {
		return unknown(next) // the commit is that of the program that has this as a library
	}
	v := info.Main.Version
	if commit != "" {
		return of(next, commit, at, strings.TrimSuffix(v, dirty) == "v"+strings.TrimSpace(next), changed)
	}
	if semver.IsValid(v) {
		b := Build{Version: strings.TrimPrefix(v, "v")}
		if m := moduleCommit.FindStringSubmatch(v); m != nil {
			b.Commit = m[1]
		} else if rev, err := module.PseudoVersionRev(v); err == nil {
			b.Commit = rev
		}
		return b
	}
	return unknown(next)
}
