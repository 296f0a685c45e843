package toolservers

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shownCall is a call of testdata/shown.json, with what the reference's browser answers.
type shownCall struct {
	Client    string          `json:"client"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Text      string          `json:"text"`
}

// TestBrowserIsTheReferences makes the calls that gpt-oss's own browser was asked: every text is the same.
func TestBrowserIsTheReferences(t *testing.T) {
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			server := Browser(t)
			session := connect(t, transport(server))
			calls := read[[]shownCall](t, "shown.json")
			for i, c := range calls {
				params := &mcp.CallToolParams{Name: c.Tool, Arguments: c.Arguments}
				if c.Client != "" {
					params.Meta = mcp.Meta{"client_id": c.Client}
				}
				result, err := session.CallTool(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				if got := textOf(t, result); got != c.Text {
					t.Errorf("call %d, %s %s:\n%q, want\n%q", i, c.Tool, c.Arguments, got, c.Text)
				}
			}
			seen := server.Calls()
			if len(seen) != len(calls) || seen[0].ClientID != calls[0].Client || seen[0].Tool != calls[0].Tool {
				t.Errorf("%d calls were noted of %d, first %+v", len(seen), len(calls), seen[0])
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for _, c := range read[[]struct {
		Line    string   `json:"line"`
		Wrapped []string `json:"wrapped"`
	}](t, "wrapped.json") {
		if got := wrapLines(c.Line); !slices.Equal(got, c.Wrapped) {
			t.Errorf("%q:\n%q, want\n%q", c.Line, got, c.Wrapped)
		}
	}
}

// TestListings compares what the servers list with what the reference's list.
func TestListings(t *testing.T) {
	for file, start := range map[string]func(testing.TB) *Server{
		"browser_tools.json": Browser,
		"python_tools.json":  func(t testing.TB) *Server { return Python(t, nil) },
	} {
		want := read[listing](t, file)
		session := connect(t, transports["streamable HTTP"](start(t)))
		got, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got.Tools, byName)
		slices.SortFunc(want.Tools, byName)
		if a, b := asJSON(t, got.Tools), asJSON(t, want.Tools); a != b {
			t.Errorf("%s: tools\n%s, want\n%s", file, a, b)
		}
		if got := session.InitializeResult().Instructions; got != want.Instructions {
			t.Errorf("%s: instructions %q, want %q", file, got, want.Instructions)
		}
	}
}

func byName(a, b *mcp.Tool) int {
	if a.Name < b.Name {
		return -1
	}
	return 1
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func read[T any](t *testing.T, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
