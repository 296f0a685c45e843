package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
	"github.com/harmonyedge/harmonyedge/internal/version"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

var testModule = []byte("\x00asm\x01\x00\x00\x00 a filter")

// parts returns parts of a release whose programs are a few bytes each.
func parts(t *testing.T) *Parts {
	t.Helper()
	source := t.TempDir()
	files := map[string]string{
		"LICENSE": "the license", "NOTICE": "the notice", "go.mod": "module " + modulePath + "\n\ngo 1.26.0\n",
		"operator/config/schema.json": "{}", vocabularyFile: "words", bundled.File: "packed",
		"envoy/chart/Chart.yaml":  "apiVersion: v2\nname: harmony-edge\nversion: 0.0.0\nappVersion: 0.0.0\n",
		"envoy/chart/values.yaml": "a: b\n", "envoy/chart/templates/a.yaml": "{}\n", "envoy/chart/.helmignore": ".*\n",
		"examples/systemd/harmony-up.service": "[Unit]\n", "examples/compose/compose.yaml": "services: {}\n",
		"tools/other/go.mod": "module example.com/other\n", "tools/other/other.go": "package other\n",
	}
	p := &Parts{Build: version.Build{Version: "0.1.0-dev.20260102030405.g0123456789ab", Commit: commit},
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Source: source, Archive: []byte("a tar file"), Filter: testModule,
		ProgramModules: []*debug.Module{{Path: "example.com/A", Version: "v1.0.0"}, {Path: "example.com/b",
			Version: "v2.0.0"}},
		FilterModules: []*debug.Module{{Path: "example.com/b", Version: "v2.0.0"}}, Tools: []Tool{{"go", "1.26.0"}}}
	for name, text := range files {
		if err := write(source, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		p.Files = append(p.Files, name)
	}
	slices.Sort(p.Files)
	p.Manual = []ManPage{{"harmony.1", []byte(".TH HARMONY 1\n")}}
	for _, platform := range Platforms() {
		p.Programs = append(p.Programs, Program{platform, []byte("program for " + platform.String())})
	}
	return p
}

func quiet(string, ...any) {}

// release writes a release and returns its folder.
func release(t *testing.T, p *Parts) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "release")
	if err := Write(p, folder, quiet); err != nil {
		t.Fatal(err)
	}
	return folder
}

// contents returns the files of a folder, by their names.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSameBytes makes a release twice, at another time and from another folder.
func TestSameBytes(t *testing.T) {
	first, second := contents(t, release(t, parts(t))), contents(t, release(t, parts(t)))
	for _, want := range []string{
		"harmony-edge-0.1.0-dev.20260102030405.g0123456789ab-linux-amd64.tar.gz",
		"harmony-edge-0.1.0-dev.20260102030405.g0123456789ab-darwin-arm64.tar.gz",
		"harmony-edge-0.1.0-dev.20260102030405.g0123456789ab-source.tar.gz",
		"harmony-edge-0.1.0-dev.20260102030405.g0123456789ab.cdx.json",
		"harmony-filter-0.1.0-dev.20260102030405.g0123456789ab.wasm",
		"harmony-config-0.1.0-dev.20260102030405.g0123456789ab.schema.json",
		"harmony_edge-0.1.0.dev20260102030405+g0123456789ab-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		"harmony-edge-0.1.0-dev.20260102030405.g0123456789ab.tgz",
		"oci/oci-layout", "oci/index.json", "SHA256SUMS",
	} {
		if _, ok := first[want]; !ok {
			t.Errorf("no file %s", want)
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, text := range first {
		if second[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

func TestProgramArchive(t *testing.T) {
	p := parts(t)
	f, err := os.Open(filepath.Join(release(t, p), p.name(productName, "-linux-arm64.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !h.ModTime.Equal(p.Time) {
			t.Errorf("%s: %v, %s", h.Name, err, h.ModTime)
		}
		got = append(got, fmt.Sprintf("%s %o %s", h.Name, h.Mode, text))
	}
	folder := p.name(productName, "-linux-arm64")
	want := []string{folder + "/harmony 755 program for linux-arm64", folder + "/LICENSE 644 the license",
		folder + "/NOTICE 644 the notice", folder + "/man/man1/harmony.1 644 .TH HARMONY 1\n",
		folder + "/systemd/harmony-up.service 644 [Unit]\n", folder + "/compose/compose.yaml 644 services: {}\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestWheel checks a wheel by the rules of its format: a record with every file and its checksum, last in the archive.
func TestWheel(t *testing.T) {
	p := parts(t)
	const v = "0.1.0.dev20260102030405+g0123456789ab"
	archive, err := zip.OpenReader(filepath.Join(release(t, p), "harmony_edge-"+v+"-py3-none-macosx_12_0_arm64.whl"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if program := strings.Contains(f.Name, ".data/scripts/"); program != (f.Mode() == 0o755) {
			t.Errorf("%s has the mode %o", f.Name, f.Mode())
		}
	}
	info := "harmony_edge-" + v + ".dist-info/"
	record, err := csv.NewReader(bytes.NewReader(files[info+"RECORD"])).ReadAll()
	if err != nil || len(record) != len(files) || archive.File[len(files)-1].Name != info+"RECORD" {
		t.Fatalf("the record has %d lines for %d files: %v", len(record), len(files), err)
	}
	for _, line := range record[:len(record)-1] {
		content, ok := files[line[0]]
		digest := sha256.Sum256(content)
		if !ok || line[1] != "sha256="+base64.RawURLEncoding.EncodeToString(digest[:]) || line[2] != fmt.Sprint(len(content)) {
			t.Errorf("the record says %q", line)
		}
	}
	for name, want := range map[string]string{
		info + "METADATA":                             "\nVersion: " + v + "\n",
		info + "WHEEL":                                "\nTag: py3-none-macosx_12_0_arm64\n",
		info + "licenses/NOTICE":                      "the notice",
		"harmony_edge/__init__.py":                    `__version__ = "` + v + `"`,
		"harmony_edge-" + v + ".data/scripts/harmony": "program for darwin-arm64",
	} {
		if !strings.Contains(string(files[name]), want) {
			t.Errorf("%s: %s", name, files[name])
		}
	}
}

// TestModule checks that go takes the module, and that it has the filter and no other module's files.
func TestModule(t *testing.T) {
	p := parts(t)
	at := filepath.Join(release(t, p), proxyFolder, modulePath, "@v")
	m := module.Version{Path: modulePath, Version: p.Build.Tag()}
	checked, err := modzip.CheckZip(m, filepath.Join(at, m.Version+".zip"))
	if err != nil || checked.Err() != nil {
		t.Fatal(err, checked.Err())
	}
	inside := modulePath + "@" + m.Version + "/"
	if !slices.Contains(checked.Valid, inside+bundled.File) || slices.Contains(checked.Valid,
		inside+"tools/other/other.go") {
		t.Errorf("it has %q", checked.Valid)
	}
	info, err := os.ReadFile(filepath.Join(at, m.Version+".info"))
	if want := `{"Version":"` + m.Version + `","Time":"2026-01-02T03:04:05Z"}` + "\n"; err != nil || string(info) != want {
		t.Errorf("%s, %v", info, err)
	}
}

func TestBOM(t *testing.T) {
	p := parts(t)
	f, err := os.Open(filepath.Join(release(t, p), p.name(productName, ".cdx.json")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{bom.Metadata.Component.BOMRef: true}
	var names []string
	for _, c := range *bom.Components {
		if known[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		known[c.BOMRef] = true
		names = append(names, c.Name)
	}
	want := []string{"o200k.vocab", "harmony-filter.wasm", "harmony-linux-amd64", "harmony-linux-arm64",
		"harmony-darwin-amd64",
		"harmony-darwin-arm64", "example.com/A", "example.com/b"}
	if !slices.Equal(names, want) {
		t.Errorf("components: %q", names)
	}
	for _, d := range *bom.Dependencies {
		for _, ref := range append(*d.Dependencies, d.Ref) {
			if !known[ref] {
				t.Errorf("%s depends on %s, which is not there", d.Ref, ref)
			}
		}
	}
	if !strings.HasPrefix(bom.SerialNumber, "urn:uuid:") || bom.Metadata.Timestamp != "2026-01-02T03:04:05Z" {
		t.Errorf("%s of %s", bom.SerialNumber, bom.Metadata.Timestamp)
	}
}

// TestVerify finds a file that was changed, and one that is missing.
func TestVerify(t *testing.T) {
	p := parts(t)
	folder := release(t, p)
	if n, err := Verify(folder); err != nil || n != len(contents(t, folder))-1 {
		t.Errorf("%d files, %v", n, err)
	}
	filter := filepath.Join(folder, p.name("harmony-filter", ".wasm"))
	if err := os.WriteFile(filter, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(folder); err == nil || !strings.Contains(err.Error(), "has another checksum") {
		t.Errorf("changed: %v", err)
	}
	if err := os.Remove(filter); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(folder); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing: %v", err)
	}
	if _, err := Verify(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a release") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestParsePlatforms(t *testing.T) {
	for text, want := range map[string]string{
		"": "linux-amd64 linux-arm64 darwin-amd64 darwin-arm64", "linux/amd64": "linux-amd64",
		"darwin/arm64, linux/arm64,linux/arm64": "linux-arm64 darwin-arm64",
	} {
		got, err := ParsePlatforms(text)
		var names []string
		for _, p := range got {
			names = append(names, p.String())
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q: %v, %v", text, names, err)
		}
	}
	for _, text := range []string{"linux", "windows/amd64", "darwin/arm64", "linux/amd64,", "linux-amd64"} {
		if got, err := ParsePlatforms(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestOnePlatform writes a release of one platform.
func TestOnePlatform(t *testing.T) {
	p := parts(t)
	p.Programs = p.Programs[:1]
	for name := range contents(t, release(t, p)) {
		if strings.Contains(name, "arm64") || strings.Contains(name, "darwin") {
			t.Errorf("it has %s", name)
		}
	}
}
