package version

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))

// TestOf holds the forms of versions, their order, and what Python makes of them.
func TestOf(t *testing.T) {
	tests := []struct {
		next          string
		tagged, dirty bool
		want, python  string
	}{
		{"0.1.0\n", false, false, "0.1.0-dev.20260102020405.g0123456789ab", "0.1.0.dev20260102020405+g0123456789ab"},
		{"0.1.0\n", false, true, "0.1.0-dev.20260102020405.g0123456789ab+dirty",
			"0.1.0.dev20260102020405+g0123456789ab.dirty"},
		{"0.1.0-rc.1", false, false, "0.1.0-dev.20260102020405.g0123456789ab", "0.1.0.dev20260102020405+g0123456789ab"},
		{"0.1.0-rc.1", true, false, "0.1.0-rc.1", "0.1.0rc1"},
		{"0.1.0\n", true, false, "0.1.0", "0.1.0"},
		{"0.1.0\n", true, true, "0.1.0+dirty", "0.1.0+dirty"},
	}
	last := "v0.0.9"
	for _, tt := range tests {
		b := of(tt.next, commit, at, tt.tagged, tt.dirty)
		if b.Version != tt.want || b.Commit != commit || b.Dirty() != tt.dirty {
			t.Errorf("%+v: got %+v", tt, b)
		}
		if !semver.IsValid(b.Tag()) || semver.Compare(b.Tag(), last) < 0 {
			t.Errorf("%s is older than %s, or no version", b.Tag(), last)
		}
		last = b.Tag()
		if python, err := Python(b.Version); err != nil || python != tt.python {
			t.Errorf("%s: %s for Python, %v", b.Version, python, err)
		}
	}
}

func TestPython(t *testing.T) {
	if v, err := Python(unknown("0.2.0-rc.1").Version); err != nil || v != "0.2.0.dev0" {
		t.Errorf("unknown: %s, %v", v, err)
	}
	for _, v := range []string{"", "1.2", "v1.2.3", "1.2.3-beta", "1.2.3-rc.1.dev"} {
		if got, err := Python(v); err == nil || !strings.Contains(err.Error(), "X.Y.Z-rc.N") {
			t.Errorf("%s: %s, %v", v, got, err)
		}
	}
}

// TestVersionFile checks that the version released next can be released, also to Python.
func TestVersionFile(t *testing.T) {
	v := strings.TrimSpace(next)
	if _, err := Python(v); err != nil || !semver.IsValid("v"+v) || strings.Contains(v, "dev") {
		t.Errorf("internal/version/VERSION: %q, %v", v, err)
	}
}

func TestArchive(t *testing.T) {
	if _, ok := parseArchive("$Format:%H %ct %(describe:tags=true,match=v[0-9]*)$\n", "0.1.0"); ok {
		t.Error("a checkout's file is taken for an archive's")
	}
	for line, want := range map[string]string{
		commit + " 1767323045 v0.1.0\n":              "0.1.0",
		commit + " 1767323045 v0.0.9-7-g01234567\n":  "0.1.0-dev.20260102030405.g0123456789ab",
		commit + " 1767323045 v0.1.0-3-g01234567 \n": "0.1.0-dev.20260102030405.g0123456789ab",
		commit + " 1767323045 \n":                    "0.1.0-dev.20260102030405.g0123456789ab",
	} {
		if b, ok := parseArchive(line, "0.1.0\n"); !ok || b.Version != want || b.Commit != commit {
			t.Errorf("%q: %+v", line, b)
		}
	}
	for _, line := range []string{"", commit, commit + " yesterday"} {
		if b, ok := parseArchive(line, "0.1.0"); ok {
			t.Errorf("%q: %+v", line, b)
		}
	}
}

func TestFromInfo(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-01-02T02:04:05Z"},
			{Key: "vcs.modified", Value: modified}}
	}
	tests := []struct {
		name         string
		main         debug.Module
		settings     []debug.BuildSetting
		want, commit string
	}{
		{"go install of a release", debug.Module{Path: modulePath, Version: "v0.1.0"}, nil, "0.1.0", ""},
		{"go install between releases", debug.Module{Path: modulePath, Version: "v0.1.0-dev.20260102020405.g0123456789ab"},
			nil, "0.1.0-dev.20260102020405.g0123456789ab", "0123456789ab"},
		{"go install of a commit", debug.Module{Path: modulePath, Version: "v0.1.1-0.20260102020405-0123456789ab"},
			nil, "0.1.1-0.20260102020405-0123456789ab", "0123456789ab"},
		{"go build", debug.Module{Path: modulePath, Version: "v0.0.0-20260102020405-0123456789ab"}, vcs("false"),
			"0.1.0-dev.20260102020405.g0123456789ab", commit},
		{"go build at the tag", debug.Module{Path: modulePath, Version: "v0.1.0"}, vcs("false"), "0.1.0", commit},
		{"go build at the tag, with changes", debug.Module{Path: modulePath, Version: "v0.1.0+dirty"}, vcs("true"),
			"0.1.0+dirty", commit},
		{"go build with changes", debug.Module{Path: modulePath, Version: "v0.0.0-20260102020405-0123456789ab+dirty"},
			vcs("true"), "0.1.0-dev.20260102020405.g0123456789ab+dirty", commit},
		{"go build without git", debug.Module{Path: modulePath, Version: "(devel)"}, nil, "0.1.0-dev", ""},
		{"in another program", debug.Module{Path: "example.com/other", Version: "v7.0.0"}, nil, "0.1.0-dev", ""},
		{"in another program's clone", debug.Module{Path: "example.com/other", Version: "v0.1.0"}, vcs("false"), "0.1.0-dev", ""},
	}
	for _, tt := range tests {
		if b := fromInfo(&debug.BuildInfo{Main: tt.main, Settings: tt.settings}, "0.1.0\n"); b != (Build{tt.want, tt.commit}) {
			t.Errorf("%s: %+v", tt.name, b)
		}
	}
}

func TestStamp(t *testing.T) {
	defer func() { stamp = "" }()
	want := Build{"0.1.0", commit}
	stamp = want.Stamp()
	if b := Current(); b != want {
		t.Errorf("%+v", b)
	}
	if want.Linker() != "-X "+modulePath+"/internal/version.stamp=0.1.0@"+commit {
		t.Error(want.Linker())
	}
}
