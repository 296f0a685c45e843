package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

func TestVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	code, text, stderr := command(t, t.Context(), "version")
	want := regexp.MustCompile(`^harmony  ` + regexp.QuoteMeta(version.Current().Version) +
		`\ncommit   \S+\nfilter   .+\n(sha256   [0-9a-f]{64}\n)?go       go1\.\S+ \w+/\w+\n$`)
	if code != 0 || !want.MatchString(text) {
		t.Errorf("exit %d: %s%s", code, text, stderr)
	}
	var v versions
	code, text, _ = command(t, t.Context(), "version", "--json")
	if err := json.Unmarshal([]byte(text), &v); code != 0 || err != nil || v.Version != version.Current().Version {
		t.Errorf("exit %d, %v: %s", code, err, text)
	}
	if code, text, _ = command(t, t.Context(), "--version"); code != 0 || text != "harmony "+v.Version+"\n" {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestVersionOfProgramAlone checks that a damaged filter beside the program is an error after the program's own version,
// and that a program with a filter inside does not look at it.
func TestVersionOfProgramAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("dist", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("dist", ModuleName), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := bundled.Filter()
	alone := errors.Is(err, bundled.ErrNone)
	code, text, stderr := command(t, t.Context(), "version")
	if (code != 0) != alone || !strings.HasPrefix(text, "harmony  "+version.Current().Version+"\n") ||
		strings.Contains(stderr, "is not a WebAssembly module") != alone {
		t.Errorf("exit %d: %s%s", code, text, stderr)
	}
}

// TestFindVersions checks where the filter is looked for: in the program, then beside it.
func TestFindVersions(t *testing.T) {
	t.Chdir(t.TempDir())
	none := func() ([]byte, error) { return nil, bundled.ErrNone }
	if v, err := findVersions(none); err != nil || v != nil {
		t.Errorf("nowhere: %+v, %v", v, err)
	}
	module := stub.Filter("1.2.3")
	if v, err := findVersions(func() ([]byte, error) { return module, nil }); err != nil ||
		*v != (filterVersions{"1.2.3", checksum(module), ""}) {
		t.Errorf("inside: %+v, %v", v, err)
	}
	if err := os.Mkdir("dist", 0o755); err != nil {
		t.Fatal(err)
	}
	beside, err := filepath.Abs(filepath.Join("dist", ModuleName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(beside, module, 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := findVersions(none); err != nil || *v != (filterVersions{"1.2.3", checksum(module), beside}) {
		t.Errorf("beside: %+v, %v", v, err)
	}
	if err := os.WriteFile(beside, module[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if v, err := findVersions(none); err == nil || !strings.HasPrefix(err.Error(), beside+" ends in the middle") {
		t.Errorf("a part of it: %+v, %v", v, err)
	}
	broken := errors.New("broken")
	if v, err := findVersions(func() ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("broken: %+v, %v", v, err)
	}
}
