package pools

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// plainFiles are files that are read without the YAML parser, and the number of their servers.
var plainFiles = map[string]int{
	"- http://10.0.0.7:8000\n- http://10.0.0.8:8000\n- http://10.0.0.9:8000\n":          3,
	"- http://10.0.0.8:8000\n- http://10.0.0.9:8000\n":                                  2,
	"- http://10.0.0.9:8000\n- http://10.0.0.7:8000\n- http://10.0.0.8:8000":            3,
	"# rack 7\n- http://10.0.0.7:8000 # since Monday\n\n  # rack 8\n- http://gpu8\n":    2,
	"---\n# größer\n  - http://a\n   \n  - 'http://b'\n  -   \"https://c\"   # the c\n": 3,
	"- http://[fd00::7]:8000\n- http://[fd00::8]\n":                                     2,
	"- HTTP://A:1\n- http://a:2/\n":                                                     2,
	`["http://10.0.0.7:8000","http://10.0.0.8:8000"]`:                                   2,
	"[\n\t\"http://10.0.0.7:8000\" ,\n  \"http://10.0.0.10:8000\"\n]\n\n":               2,
	"[]":       0,
	"[\n\n]\n": 0,
}

// otherFiles are files that the YAML parser reads, or refuses.
var otherFiles = []string{
	"", "\n", "# nothing\n", "---\n", "- http://10.0.0.7:8000\r\n- http://b\r\n", "- http://a\n---\n- http://b\n",
	"- http://10.0.0.7:8000\n- http://10.0.0.7:8000\n", "- http://a\n- http://A:80/\n", `["http://a","http://a"]`,
	"- http://10.0.0.7:8000\n - http://10.0.0.8:8000\n", "- http://10.0.0.7:8000\n  #\n  http://b\n",
	"- http://10.0.0.7:8000 #\n- ftp://b\n", "- http://10.0.0.7:8000\n- gpu:8000\n", "- http://a/v1\n", "- http://a:\n",
	"- http://a#b\n", "- http://a \"b\"\n", "- \"http://a\"b\n", "- \"http://a\n- http://b\n", "-http://a\n", "- \n", "-\n",
	"-\thttp://a\n", "\t- http://a\n", "- http://a\t# b\n", "- http://a # \x01\n", "- [http://a]\n", "- http://a: b\n",
	`["http:\/\/a"]`, "[http://a]", "['http://a']", `["http://a",]`, `["http://a" "http://b"]`, `["http://a"`, `["http://a"] x`,
	`["http://a"] # b`, "[,]", `[""]`, `[["http://a"]]`, " []", "- |\n  http://a\n", "- http://a # |\n- >\n",
	"- http://10.0.0.7:8000 # x\r- y\n", "- http://a\n...\n", "- http://a\u0085- http://b\n",
}

// TestReadPlain reads each file after each other one. The result is always the same as from the YAML parser only.
func TestReadPlain(t *testing.T) {
	files := otherFiles
	for text, n := range plainFiles {
		files = append(files, text)
		if l, ok := readPlain([]byte(text), list{}); !ok || len(l.endpoints) != n || len(l.known) != n {
			t.Errorf("%q: %t, %v, want %d servers", text, ok, l.endpoints, n)
		}
	}
	for _, text := range otherFiles {
		if l, ok := readPlain([]byte(text), list{}); ok {
			t.Errorf("%q is read as a plain one: %v", text, l.endpoints)
		}
	}
	for _, before := range files {
		for _, text := range files {
			checkReading(t, []byte(before), []byte(text))
		}
	}
}

// checkReading checks that a file is read as the YAML parser reads it, after another content of the same file.
func checkReading(t *testing.T, before, data []byte) {
	t.Helper()
	first, _ := parseServers("f", before, list{}) // after a mistake nothing is known
	got, err := parseServers("f", data, first)
	want, wantErr := parseYAML("f", bytes.TrimPrefix(data, []byte("\ufeff")))
	if !slices.Equal(got.endpoints, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("%q, after %q: %v, %v; want %v, %v", data, before, got.endpoints, err, want, wantErr)
	}
}

// FuzzReadPlain reads a file after another one, as [TestReadPlain] does.
func FuzzReadPlain(f *testing.F) {
	for text := range plainFiles {
		f.Add([]byte("- http://10.0.0.8:8000\n"), []byte(text))
	}
	for _, text := range otherFiles {
		f.Add([]byte("- http://10.0.0.7:8000\n"), []byte(text))
	}
	f.Fuzz(func(t *testing.T, before, data []byte) {
		if len(before)+len(data) > 64<<10 {
			return // larger input would only be slower
		}
		checkReading(t, before, data)
	})
}

// TestKnownServers checks that a URL of the last reading is not parsed again, and that one is forgotten when the file
// no longer has it.
func TestKnownServers(t *testing.T) {
	before := list{known: map[string]config.Endpoint{"http://a": {Host: "known", Port: 1}, "http://gone": {}}}
	l, err := parseServers("f", []byte("- http://a\n- http://b\n"), before)
	must(t, err)
	want := []config.Endpoint{{Host: "known", Port: 1}, {Host: "b", Port: 80}}
	if !slices.Equal(l.endpoints, want) || len(l.known) != 2 {
		t.Errorf("%v, known are %v", l.endpoints, l.known)
	}
}

// manyLines is how many lines the file of the benchmarks has.
const manyLines = 10_000

// lines returns a file of many servers, of which the first has a port of its own.
func lines(port int) []byte {
	var text strings.Builder
	for i := range manyLines {
		if i > 0 {
			port = 8000
		}
		fmt.Fprintf(&text, "- http://10.1.%d.%d:%d\n", i/200, i%200+1, port)
	}
	return []byte(text.String())
}

// BenchmarkParseServers measures the reading of a large file: at first, and when a line has changed.
//
//	go test -run '^$' -bench ParseServers -count 10 ./controlplane/pools | tee new.txt; benchstat old.txt new.txt
func BenchmarkParseServers(b *testing.B) {
	odd, even := lines(1), lines(2)
	parse := func(b *testing.B, data []byte, before list) list {
		l, err := parseServers("f", data, before)
		if err != nil || len(l.endpoints) != manyLines {
			b.Fatal(err)
		}
		return l
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parse(b, odd, list{})
		}
	})
	b.Run("a line changed", func(b *testing.B) {
		b.ReportAllocs()
		before := parse(b, odd, list{})
		for b.Loop() {
			before = parse(b, even, before)
			odd, even = even, odd
		}
	})
	b.Run("YAML", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseYAML("f", odd); err != nil {
				b.Fatal(err)
			}
		}
	})
}
