package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// corpusSize is the size in bytes of a corpus and of an adversarial text.
const corpusSize = 1_000_000

// Go modules with the files that are too large to commit: a text, and the vocabulary in the form that the peers read.
const (
	proseModule      = "github.com/klauspost/compress@v1.17.11"
	vocabularyModule = "github.com/pkoukk/tiktoken-go-loader@v0.0.2"
)

// corpus is a named text.
type corpus struct{ name, text string }

// corpora makes the three texts from files that exist on every machine that can run the benchmark. The same versions of
// Go, Python and Django give the same bytes.
func corpora(python string) ([]corpus, error) {
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	prose, err := module(proseModule)
	if err != nil {
		return nil, err
	}
	library, err := output(python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))")
	if err != nil {
		return nil, err
	}
	django, err := output(python, "-c", "import django; print(django.__path__[0])")
	if err != nil {
		return nil, err
	}
	var all []corpus
	for _, c := range []struct {
		name  string
		parts []part
	}{
		{"prose", []part{
			{corpusSize, []string{filepath.Join(goroot, "src/testdata/Isaac.Newton-Opticks.txt")}},
			{corpusSize, []string{filepath.Join(prose, "testdata/Mark.Twain-Tom.Sawyer.txt")}},
		}},
		{"code", []part{
			{corpusSize / 2, []string{filepath.Join(goroot, "src/net/http/*.go")}},
			{corpusSize / 2, []string{filepath.Join(library, "*.py")}},
		}},
		{"mixed", languages(django)},
	} {
		text, err := assemble(c.parts)
		if err != nil {
			return nil, fmt.Errorf("corpus %s: %w", c.name, err)
		}
		if c.name == "mixed" {
			text = withEmoji(text)
		}
		all = append(all, corpus{c.name, cut(text, corpusSize)})
	}
	return all, nil
}

// part is the first size bytes of some files, in the order of the patterns and then of the files' names.
type part struct {
	size     int
	patterns []string
}

// languages returns Django's message catalogues in many scripts.
func languages(django string) []part {
	var parts []part
	for _, language := range strings.Fields("zh_Hans ja ar ko hi th ru el he ta bn zh_Hant ka uk") {
		parts = append(parts, part{80_000, []string{
			filepath.Join(django, "conf/locale", language, "LC_MESSAGES/django.po"),
			filepath.Join(django, "contrib/*/locale", language, "LC_MESSAGES/django.po"),
		}})
	}
	return parts
}

// assemble joins the parts, and repeats them if they are too short.
func assemble(parts []part) (string, error) {
	var all bytes.Buffer
	for _, p := range parts {
		var text strings.Builder
		for _, pattern := range p.patterns {
			files, err := filepath.Glob(pattern)
			if err != nil {
				return "", err
			}
			if len(files) == 0 {
				return "", fmt.Errorf("no %s", pattern)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					return "", err
				}
				text.Write(data)
			}
		}
		all.WriteString(cut(strings.ReplaceAll(strings.ToValidUTF8(text.String(), ""), "\x00", ""), p.size))
	}
	for all.Len() < corpusSize {
		all.Write(all.Bytes())
	}
	return all.String(), nil
}

// withEmoji inserts a line of emoji, plain and joined, after every hundred lines.
func withEmoji(text string) string {
	emoji := []string{"😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🚀", "❤️", "🤷🏻‍♀️", "✅", "1️⃣", "🧑‍💻", "🎉"}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		out.WriteString(line)
		if n++; n%100 == 0 {
			for i := range 8 {
				out.WriteString(emoji[(n/100*5+i*i)%len(emoji)] + " ")
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// cut returns at most the first size bytes of text, in whole characters.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// messages cuts a corpus into different messages of about size bytes and deals them out to the sets in turn.
func messages(text string, size, sets int) [][]string {
	seen := map[string]bool{}
	out := make([][]string, sets)
	n := 0
	for len(text) > 0 {
		m := cut(text, size)
		text = text[len(m):]
		if len(m) < size-utf8.UTFMax || seen[m] {
			continue
		}
		seen[m] = true
		out[n%sets] = append(out[n%sets], m)
		n++
	}
	return out
}

// vocabularyFile returns the path of o200k_base.tiktoken, after checking that it is the file that our vocabulary was
// packed from.
func vocabularyFile() (string, error) {
	folder, err := module(vocabularyModule)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "assets", "o200k_base.tiktoken")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != o200k.Source {
		return "", fmt.Errorf("%s is another vocabulary: sha256 %s", path, sum)
	}
	return path, nil
}

// module returns the folder of a Go module, which is downloaded if necessary.
func module(version string) (string, error) {
	out, err := output("go", "mod", "download", "-json", version)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return "", err
	}
	return m.Dir, nil
}

func output(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
