package pools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// parse parses a file as at its first reading.
func parse(data []byte) ([]config.Endpoint, error) {
	l, err := parseServers("f", data, list{})
	return l.endpoints, err
}

func TestParseServers(t *testing.T) {
	for in, want := range map[string][]string{
		"- http://10.0.0.7:8000\n- https://gpu.example # the > other\n": {"http://10.0.0.7:8000", "https://gpu.example:443"},
		"# ours\n- 'http://a'\n\n# theirs\n- \"http://[::1]:80\"":       {"http://a:80", "http://[::1]:80"},
		"---\n- http://A:1\n":      {"http://a:1"},
		"\ufeff- http://a:1\n":     {"http://a:1"},
		"[]":                       {},
		"[http://a:1, http://a:2]": {"http://a:1", "http://a:2"},
		"[\n\t\"http://a:1\",\n\t\"http:\\/\\/b\"\n]\n": {"http://a:1", "http://b:80"},
	} {
		servers, err := parse([]byte(in))
		got := []string{}
		for _, e := range servers {
			got = append(got, e.String())
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestParseServersRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "f: is empty; write [] for no servers",
		"# - http://a\n":                         "f: is empty; write [] for no servers",
		"http://a:1\n":                           "f:1: is not a list of URLs",
		"servers:\n- http://a\n":                 "f:1: is not a list of URLs",
		"- http://a\n- url: http://b\n":          "f:2: is not a list of URLs",
		"- http://a\n- - http://b\n":             "f:2: is not a list of URLs",
		"- http://a\n- [http://b]\n":             "f:2: is not a list of URLs",
		"- http://a\n  - http://b\n":             "f:2: ", // one text of two lines, or a list in a list
		"- &a http://a\n- *a\n":                  "f:1: is not a list of URLs",
		"- http://a\n- \n- http://b":             "f:2: is not a URL",
		"- http://a\n- 8000\n":                   "f:2: is not a URL",
		"- http://a\n- |\n  http://b\n":          "f:2: is not a list of URLs",
		"- |\n " + strings.Repeat("\n", 1<<17):   "f:1: is not a list of URLs",
		"- http://a\n- gpu:8000\n":               `f:2: "gpu:8000" is not a URL`,
		"- http://a\n- ftp://b\n":                `f:2: "ftp://b" has the scheme ftp`,
		"- http://a/v1\n":                        `f:1: "http://a/v1" has the path /v1`,
		"- http://a\n- http://b\n- http://A:80/": "f:3: http://a:80 is already on line 1",
		"- http://a\n---\n- http://b\n":          "f: holds more than one document",
		"# one\n[http://a,\n":                    "f:2: ",
		strings.Repeat("[", 1<<17):               "f:1: is not a list of URLs",
		strings.Repeat("- ", 1<<16):              "f:1: is not a list of URLs",
		strings.Repeat("? ", 1<<16):              "f:1: is not a list of URLs",
	} {
		servers, err := parse([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.50q: %v, %v; want %s", in, servers, err, want)
		}
	}
}

// FuzzParseServers checks that accepted text yields a list without duplicates, that this list is accepted again with
// the same result, and that an error is one line that begins with the file.
func FuzzParseServers(f *testing.F) {
	for _, seed := range []string{
		"- http://10.0.0.7:8000\n- https://gpu.example # c\n", "[\"http://a:1\", 'http://b']", "[]", "", "# c\n", "- \n- ~",
		"---\n- http://a\n...\n---\n", "- &a http://a\n- *a", "- !!str http://a", "- |\n  http://a", "? - : [{",
		"- - - http://a", "[[[", "%YAML 1.2\n---\n- http://a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return // larger input would only be slower
		}
		servers, err := parse(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		var again strings.Builder
		seen := map[config.Endpoint]bool{}
		for _, e := range servers {
			if seen[e] {
				t.Errorf("%s is listed twice", e)
			}
			seen[e] = true
			text, err := json.Marshal(e.String())
			must(t, err)
			again.WriteString("- " + string(text) + "\n")
		}
		if len(servers) == 0 {
			again.WriteString("[]")
		}
		if got, err := parse([]byte(again.String())); err != nil || !slices.Equal(got, servers) {
			t.Errorf("%v is read as %v, %v", servers, got, err)
		}
	})
}
