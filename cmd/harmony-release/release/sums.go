package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SumsFile is the name of a release's file of checksums. It is in the format of sha256sum,
// which checks it: sha256sum -c SHA256SUMS.
const SumsFile = "SHA256SUMS"

// writeSums writes the checksums of every file that is in the folder, sorted by name.
func writeSums(_ *Parts, folder string) error {
	var out bytes.Buffer
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		digest, err := sha256OfFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		fmt.Fprintf(&out, "%s  %s\n", digest, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	return write(folder, SumsFile, out.Bytes())
}

// Verify compares a release's files with its checksums. It returns how many there are.
func Verify(folder string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, SumsFile))
	if err != nil {
		return 0, fmt.Errorf("%s is not a release (%w); make one with make release, or name its folder with --from", folder, err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var problems []error
	for _, line := range lines {
		want, name, ok := strings.Cut(line, "  ")
		if !ok || !filepath.IsLocal(name) {
			return 0, fmt.Errorf("%s: %q is not a checksum and a name", SumsFile, line)
		}
		if got, err := sha256OfFile(filepath.Join(folder, filepath.FromSlash(name))); err != nil {
			problems = append(problems, err)
		} else if got != want {
			problems = append(problems, fmt.Errorf("%s has another checksum than %s says; make the release again, or copy it again",
				name, SumsFile))
		}
	}
	return len(lines), errors.Join(problems...)
}

func sha256OfFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
