package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func getModels(t *testing.T, g *Gateway, path string) (int, string) {
	t.Helper()
	x := g.Begin("GET", path)
	if x == nil {
		t.Fatalf("the gateway does not take %s", path)
	}
	a := x.Request(nil, Host{Now: testNow, ID: testID})
	if a.Reply == nil {
		t.Fatalf("%s: %+v", path, a)
	}
	if !json.Valid(a.Reply.Body) {
		t.Fatalf("%s: not JSON: %q", path, a.Reply.Body)
	}
	if !x.PassesThrough() {
		t.Errorf("%s: the reply does not pass by", path)
	}
	return a.Reply.Status, string(a.Reply.Body)
}

const ourModel = `{"id":"gpt-oss-120b","object":"model","created":1754352000,"owned_by":"harmony-edge",` +
	`"max_model_len":4096}`

func TestModels(t *testing.T) {
	g := testGateway(nil)
	slashed := testGateway(func(o *Options) { o.Models[0].Name = "openai/gpt oss" })
	for _, tt := range []struct {
		g      *Gateway
		path   string
		status int
		want   string
	}{
		{g, "/v1/models", 200, `{"object":"list","data":[` + ourModel + `]}`},
		{g, "/v1/models?limit=1", 200, `{"object":"list","data":[` + ourModel + `]}`},
		{g, "/v1/models/gpt-oss-120b", 200, ourModel},
		{slashed, "/v1/models/openai%2Fgpt%20oss", 200, `"id":"openai/gpt oss"`},
		{slashed, "/v1/models/openai/gpt%20oss", 200, `"id":"openai/gpt oss"`},
		{g, "/v1/models/gpt-5", 404, `"code":"model_not_found"`},
		{g, "/v1/models/%ff%zz%4", 404, `"code":"model_not_found"`},
	} {
		if status, body := getModels(t, tt.g, tt.path); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.path, status, body, tt.want)
		}
	}
	for _, path := range []string{"/v1/models/", "/v1/modelsx", "/v1"} {
		if g.Begin("GET", path) != nil {
			t.Errorf("the gateway does not take %s", path)
		}
	}
}

// TestOtherModels checks that the gateway's models come first, and after them the models of the server for all other
// models.
func TestOtherModels(t *testing.T) {
	g := testGateway(func(o *Options) { o.Passthrough = true })
	if g.Begin("GET", "/v1/models/gpt-5") != nil {
		t.Error("a model of another server's is asked for there")
	}
	const other = `{"id":"llama","object":"model","created":1,"owned_by":"meta"}`
	ok := ResponseHead{Status: 200, ContentType: "application/json; charset=utf-8"}
	ownList, both := `{"object":"list","data":[`+ourModel+`]}`, `{"object":"list","data":[`+ourModel+`,`+other+`]}`
	for _, tt := range []struct {
		name string
		head ResponseHead
		body string
		want string
	}{
		{"a list", ok, `{"object":"list", "data": [` + other + `]}`, both},
		{"one that has ours too", ok, `{"data":[{"id":"gpt-oss-120b"},` + other + `]}`, both},
		{"an empty one", ok, `{"data":[]}`, ownList},
		{"no list", ok, `{"data":{"id":"x"}}`, ownList},
		{"no JSON", ok, `{"data":[{"id":"x"}`, ownList},
		{"things that are no models", ok, `{"data":[1,"x",null,` + other + `]}`, both},
		{"an error", ResponseHead{Status: 401, ContentType: "application/json"}, `{"error":"Unauthorized"}`, ownList},
		{"a page", ResponseHead{Status: 200, ContentType: "text/html"}, `<html>`, ownList},
		{"server unreachable", ResponseHead{Status: 503, ContentType: "application/json", Local: true}, `{"error":{}}`,
			ownList},
		{"nothing", ResponseHead{Status: 200, ContentType: "application/json", End: true}, ``, ownList},
		{"too long a list", ok, `{"data":[` + other + strings.Repeat(" ", maxOthers) + `]}`, ownList},
	} {
		for _, size := range []int{1 << 20, 7} {
			if len(tt.body) > 1000 {
				size = 1 << 20
			}
			if got := playModels(t, g, tt.head, tt.body, size); got != tt.want {
				t.Errorf("%s, in pieces of %d: %s", tt.name, size, got)
			}
		}
	}
}

// playModels is what the client gets of the list of models when the other server answers so.
func playModels(t *testing.T, g *Gateway, head ResponseHead, body string, size int) string {
	t.Helper()
	x := g.Begin("GET", "/v1/models")
	if a := x.Request(nil, Host{Now: testNow, ID: testID}); a.Forward == nil || !a.Forward.Readable ||
		a.Forward.Body != nil {
		t.Fatalf("not forwarded: %+v", a)
	}
	a := x.ResponseHeaders(head)
	for a.Reply == nil && len(body) > 0 {
		if !a.Hold {
			t.Fatalf("%+v", a)
		}
		n := min(size, len(body))
		a = x.ResponseBody([]byte(body[:n]), n == len(body))
		body = body[n:]
	}
	if a.Reply != nil {
		return string(a.Reply.Body)
	}
	if a.Head == nil || a.Head.Status != 200 {
		t.Fatalf("%+v", a)
	}
	return string(a.Body)
}

func TestOtherModelsStall(t *testing.T) {
	g := testGateway(func(o *Options) { o.Passthrough = true })
	for _, headers := range []bool{false, true} {
		x := g.Begin("GET", "/v1/models")
		x.Request(nil, Host{Now: testNow, ID: testID})
		if headers {
			x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "application/json"})
			x.ResponseBody([]byte(`{"data":[`), false)
		}
		x.Stalled(testNow)
		if a := x.Stalled(testNow + testLimit - 1); a.Reply != nil {
			t.Fatalf("too early: %+v", a)
		}
		a := x.Stalled(testNow + testLimit)
		if a.Reply == nil || a.Reply.Status != 200 || !strings.Contains(string(a.Reply.Body), ourModel) {
			t.Errorf("%+v", a)
		}
		if a := x.Stalled(testNow + 2*testLimit); a.Reply != nil || a.Reset {
			t.Errorf("again: %+v", a)
		}
	}
}

// TestReducedModels: a host that holds no headers gives our models at once.
func TestReducedModels(t *testing.T) {
	g := testGateway(func(o *Options) { o.Passthrough, o.Mode = true, contract.ModeReduced })
	if status, body := getModels(t, g, "/v1/models"); status != 200 || !strings.Contains(body, ourModel) {
		t.Errorf("%d %s", status, body)
	}
}
