package exchange

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

var wholeService = contract.ResponsesService{Pool: "service", Stores: true, HostedTools: true}

// destination is where a request goes: to the service, to the model's servers, or back with a code.
func destination(t *testing.T, g *Gateway, path, body string) string {
	t.Helper()
	x := g.Begin("POST", path)
	if x == nil {
		t.Fatalf("the gateway does not take %s", path)
	}
	return destinationOf(t, x, body)
}

func destinationOf(t *testing.T, x *Exchange, body string) string {
	t.Helper()
	if !x.RequestHeaders().Hold {
		t.Fatal("the headers go on before the body is read")
	}
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	switch {
	case a.Reply != nil:
		_, code, _ := strings.Cut(string(a.Reply.Body), `"code":"`)
		return strings.TrimRight(code, `"}`)
	case a.Forward != nil && a.Forward.Pool == wholeService.Pool:
		if r := x.Report(); a.Forward.Path != "" || a.Forward.Body != nil || !x.PassesThrough() || !r.Routed ||
			r.API == "" || r.Model != "gpt-oss-120b" {
			t.Errorf("%s: %+v, %+v", body, a.Forward, r)
		}
		return "service"
	case a.Forward != nil:
		return "model"
	}
	return "elsewhere"
}

// TestMessagesToService checks which requests to Messages go to the service: those with tools that a server runs, if
// the service runs tools and knows Messages.
func TestMessagesToService(t *testing.T) {
	service := wholeService
	service.Messages = true
	without, older := service, wholeService
	without.HostedTools = false
	const search = `"tools":[{"name":"f"},{"type":"web_search_20250305","name":"web_search"}]`
	for _, tt := range []struct {
		members, decline string
		service          contract.ResponsesService
		want             string
	}{
		{search, "", service, "service"},
		{`"tools":[{"type":"web_search_29990101","name":"web_search"}]`, "", service, "service"},
		{`"mcp_servers":[{"type":"url"}]`, "", service, "service"},
		{`"tools":[{"type":"mcp_toolset","mcp_server_name":"n"}]`, "", service, "service"},
		{`"mcp_servers":[],"tools":[]`, "", service, "model"},
		{`"tools":[{"name":"f","type":"custom"},{"name":"g","input_schema":{},"type":"x"}]`, "", service, "model"},
		{`"tools":[{"name":"f"},{"type":"tool_search_tool_bm25_20251119","name":"t"}]`, "", service, "model"},
		{`"tools":{"type":"web_search_20250305"},"mcp_servers":{}`, "", service, "refused"},
		{search, "decline", service, "refused"},
		{search, "", without, "refused"},
		{search, "", older, "refused"},
		{search, "", contract.ResponsesService{}, "refused"},
	} {
		for path, rest := range map[string]string{"/v1/messages": `,"max_tokens":9`, "/v1/messages/count_tokens": ""} {
			g := testGateway(func(o *Options) { o.ResponsesService = tt.service })
			x := g.Begin("POST", path)
			x.Header(contract.ServiceHeader, tt.decline)
			if !x.RequestHeaders().Hold {
				t.Fatal("the headers go on before the body is read")
			}
			body := `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"hi"}],` + tt.members + rest + `}`
			got := "model"
			switch a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); {
			case a.Reply != nil && a.Reply.Status == 400:
				got = "refused"
			case a.Forward != nil && a.Forward.Pool == service.Pool && a.Forward.Body == nil && x.Report().Routed:
				got = "service"
			}
			if got != tt.want {
				t.Errorf("%s %s: %s, want %s", path, body, got, tt.want)
			}
		}
	}
}

// TestServiceDeclined checks that the header keeps a request from the service, and that no header leads to it.
func TestServiceDeclined(t *testing.T) {
	for _, tt := range []struct{ value, members, want string }{
		{"decline", `"store":true`, "model"},
		{"decline", `"store":false,"previous_response_id":"r"`, contract.CodePreviousResponseNotFound},
		{"decline", `"store":false,"tools":[{"type":"web_search"}]`, "unsupported_parameter"},
		{"", `"store":true`, "service"},
		{"accept", `"store":true`, "service"},
		{"accept", `"store":false`, "model"},
	} {
		g := testGateway(func(o *Options) { o.ResponsesService, o.HostedTools = wholeService, contract.HostedToolsRefuse })
		x := g.Begin("POST", "/v1/responses")
		if own := x.Header(contract.ServiceHeader, tt.value); !own {
			t.Error("the header goes to the model's servers")
		}
		body := `{"model":"gpt-oss-120b","input":"hi",` + tt.members + `}`
		if got := destinationOf(t, x, body); got != tt.want {
			t.Errorf("%q, %s: %s, want %s", tt.value, tt.members, got, tt.want)
		}
	}
}

// TestRelay checks which requests go through the service for a model's relay, and that the service's own do not.
func TestRelay(t *testing.T) {
	for _, tt := range []struct{ relay, members, want string }{
		{"off", `"stream":true`, "model"},
		{"finish", `"stream":true`, "service"},
		{"finish", `"stream":false`, "model"},
		{"retry", `"stream":true`, "service"},
		{"retry", `"stream":false`, "service"},
	} {
		g := testGateway(func(o *Options) {
			o.ResponsesService = wholeService
			o.Models[0].Relay = tt.relay
		})
		none := testGateway(func(o *Options) { o.Models[0].Relay = tt.relay })
		for path, members := range map[string]string{
			contract.ResponsesPath: `"input":"hi","store":false,`,
			contract.ChatPath:      `"messages":[{"role":"user","content":"hi"}],`,
			contract.MessagesPath:  `"max_tokens":9,"messages":[{"role":"user","content":"hi"}],`,
		} {
			body := `{"model":"gpt-oss-120b",` + members + tt.members + `}`
			if got := destination(t, g, path, body); got != tt.want {
				t.Errorf("%s, %s, %s: %s, want %s", tt.relay, path, tt.members, got, tt.want)
			}
			x := g.Begin("POST", path)
			x.Header(contract.ServiceHeader, contract.ServiceDeclined)
			if got := destinationOf(t, x, body); got != "model" {
				t.Errorf("%s: a call of the service's own for %s goes to the %s", tt.relay, path, got)
			}
			if got := destination(t, none, path, body); got != "model" {
				t.Errorf("%s: without a service a request for %s goes to the %s", tt.relay, path, got)
			}
		}
	}
	shares(t)
	g := testGateway(func(o *Options) { o.ResponsesService = wholeService })
	compact := `{"model":"gpt-oss-120b","input":"hi"}`
	if got := destination(t, g, contract.CompactPath, compact); got != "service" {
		t.Errorf("compaction goes to the %s", got)
	}
	none := testGateway(func(o *Options) { o.Passthrough = true })
	if got := destination(t, none, contract.CompactPath, compact); got != contract.CodeUnknownURL {
		t.Errorf("without a service, compaction is %s", got)
	}
	if got := destination(t, none, contract.CompactPath, `{"model":"other","input":"hi"}`); got != "elsewhere" {
		t.Errorf("another model's compaction is %s", got)
	}
}

// shares checks that a request that is not translated does not go through the service, where its answer would be
// translated.
func shares(t *testing.T) {
	g := testGateway(func(o *Options) {
		o.ResponsesService, o.Models[0].Relay, o.Models[0].Translate = wholeService, contract.RelayFinish, "50%"
		o.Models[0].ServerModel = testModel
	})
	went := map[string]int{}
	for i := range 100 {
		a := g.Begin("POST", contract.ChatPath).Request([]byte(chatBody(true)), Host{Now: testNow, ID: strconv.Itoa(i)})
		if a.Forward == nil {
			t.Fatalf("%+v", a.Reply)
		}
		went[a.Forward.Pool]++
	}
	untranslated := contract.UntranslatedRoute("pool-1")
	if went["service"] < 20 || went[untranslated] < 20 || went["service"]+went[untranslated] != 100 {
		t.Errorf("of 100 requests, half of which are translated, %v", went)
	}
}

func TestServiceRequests(t *testing.T) {
	refusals := map[bool]string{false: contract.HostedToolsIgnore, true: contract.HostedToolsRefuse}
	gateway := func(s contract.ResponsesService, refuse bool) *Gateway {
		return testGateway(func(o *Options) { o.ResponsesService, o.HostedTools, o.Passthrough = s, refusals[refuse], true })
	}
	none, refusing, whole := gateway(contract.ResponsesService{}, false), gateway(contract.ResponsesService{},
		true), gateway(wholeService, true)
	store, tools := gateway(contract.ResponsesService{Pool: "service", Stores: true},
		false), gateway(contract.ResponsesService{Pool: "service", HostedTools: true}, false)
	strict := gateway(contract.ResponsesService{Pool: "service", Stores: true}, true)
	for _, tt := range []struct {
		members                                       string
		none, refusing, whole, store, tools, strictly string
	}{
		{`"store":false`, "model", "model", "model", "model", "model", "model"},
		{`"store":true`, "model", "model", "service", "service", "model", "service"},
		{`"stream":true`, "model", "model", "service", "service", "model", "service"},
		{
			`"store":false,"tools":[{"type":"web_search"}]`, "model", "unsupported_parameter", "service", "model", "service",
			"unsupported_parameter",
		},
		{
			`"store":false,"tools":[{"type":"mcp","server_label":"a"}]`, "model", "unsupported_parameter", "service", "model",
			"service", "unsupported_parameter",
		},
		{`"store":false,"tools":[{"type":"function","name":"f"}]`, "model", "model", "model", "model", "model", "model"},
		{`"store":false,"tools":[{"type":"function","name":"f","defer_loading":true}]`, "model", "model", "service", "model",
			"service", "model"},
		{`"store":false,"tools":[{"type":"function","name":"f","defer_loading":true},` +
			`{"type":"tool_search","execution":"client"}]`, "model", "model", "model", "model", "model", "model"},
		{
			`"store":false,"background":true`, "unsupported_parameter", "unsupported_parameter", "service", "service",
			"unsupported_parameter", "service",
		},
		{
			`"store":false,"conversation":"c"`, "unsupported_parameter", "unsupported_parameter", "service", "service",
			"unsupported_parameter", "service",
		},
		{
			`"store":false,"previous_response_id":"r"`, "previous_response_not_found", "previous_response_not_found", "service",
			"service", "previous_response_not_found", "service",
		},
		{
			`"store":false,"prompt":{"id":"p"}`, "unsupported_parameter", "unsupported_parameter", "unsupported_parameter",
			"unsupported_parameter", "unsupported_parameter", "unsupported_parameter",
		},
		{`"store":0`, "invalid_type", "invalid_type", "invalid_type", "invalid_type", "invalid_type", "invalid_type"},
	} {
		body := `{"model":"gpt-oss-120b","input":"Hi",` + tt.members + `}`
		for _, g := range []struct {
			name string
			g    *Gateway
			want string
		}{
			{"none", none, tt.none},
			{"refusing", refusing, tt.refusing},
			{"whole", whole, tt.whole},
			{"store", store, tt.store},
			{"tools", tools, tt.tools},
			{"a store that refuses", strict, tt.strictly},
		} {
			if got := destination(t, g.g, "/v1/responses?x=1", body); got != g.want {
				t.Errorf("%s: %s: %s, want %s", g.name, tt.members, got, g.want)
			}
		}
		other := strings.Replace(body, "gpt-oss-120b", "other", 1)
		if got := destination(t, whole, "/v1/responses", other); got != "elsewhere" {
			t.Errorf("another model's %s: %s", tt.members, got)
		}
	}
	if got := destination(t, whole, "/v1/responses", `{"model":"gpt-oss-120b","store":false,`+
		`"input":[{"type":"item_reference","id":"m"}]}`); got != "service" {
		t.Errorf("a reference: %s", got)
	}
	if got := destination(t, whole, "/v1/chat/completions", `{"model":"gpt-oss-120b","store":true,`+
		`"messages":[{"role":"user","content":"Hi"}]}`); got != "model" {
		t.Errorf("Chat: %s", got)
	}
	// A request that is counted is not kept.
	for members, want := range map[string]string{`"input":"Hi"`: "", `"previous_response_id":"r"`: "service",
		`"input":"Hi","tools":[{"type":"mcp"}]`: "service"} {
		x := whole.Begin("POST", "/v1/responses/input_tokens")
		a := x.Request([]byte(`{"model":"gpt-oss-120b",`+members+`}`), Host{Now: testNow, ID: testID})
		if got := a.Forward != nil && a.Forward.Pool == want; got != (want != "") {
			t.Errorf("counting %s: %+v", members, a)
		}
	}
}

func TestStoredPaths(t *testing.T) {
	none := testGateway(nil)
	passing := testGateway(func(o *Options) { o.Passthrough = true })
	tools := testGateway(func(o *Options) {
		o.ResponsesService = contract.ResponsesService{Pool: "service",
			HostedTools: true}
	})
	storing := testGateway(func(o *Options) { o.ResponsesService, o.Passthrough = wholeService, true })
	for _, tt := range []struct {
		method, path string
		// id is what the error names where nothing is stored; conversations have none.
		id string
	}{
		{"GET", "/v1/responses/resp_1", "resp_1"},
		{"GET", "/v1/responses/resp%5f1?stream=true&starting_after=3", "resp_1"},
		{"DELETE", "/v1/responses/resp_1", "resp_1"},
		{"POST", "/v1/responses/resp_1/cancel", "resp_1"},
		{"GET", "/v1/responses/resp_1/input_items?limit=1", "resp_1"},
		{"POST", "/v1/conversations", ""},
		{"GET", "/v1/conversations/conv_1", ""},
		{"DELETE", "/v1/conversations/conv_1/items/msg_1", ""},
	} {
		x := storing.Begin(tt.method, tt.path)
		if x == nil {
			t.Fatalf("%s %s is not stored", tt.method, tt.path)
		}
		if a := x.Request(nil, Host{Now: testNow, ID: testID}); a.Forward == nil || a.Forward.Pool != "service" ||
			a.Forward.Path != "" || a.Forward.Body != nil || !x.PassesThrough() {
			t.Errorf("%s %s: %+v", tt.method, tt.path, a)
		}
		x = storing.Begin(tt.method, tt.path)
		if head := x.RequestHeaders(); !reflect.DeepEqual(head, RequestHead{Pool: "service"}) || !x.PassesThrough() || !x.Report().Routed {
			t.Errorf("%s %s with a body: %+v", tt.method, tt.path, head)
		}
		if passing.Begin(tt.method, tt.path) != nil {
			t.Errorf("%s %s is not left to the server for all others", tt.method, tt.path)
		}
		for _, g := range []*Gateway{none, tools} {
			x = g.Begin(tt.method, tt.path)
			if tt.id == "" {
				if x != nil {
					t.Errorf("%s %s: the gateway has no conversations", tt.method, tt.path)
				}
				continue
			}
			if !x.RequestHeaders().Hold {
				t.Errorf("%s %s: the headers go on", tt.method, tt.path)
			}
			a := x.Request(nil, Host{Now: testNow, ID: testID})
			want := `{"error":{"message":"Response with id '` + tt.id +
				`' not found.","type":"invalid_request_error","param":null,"code":"response_not_found"}}`
			if a.Reply == nil || a.Reply.Status != 404 || string(a.Reply.Body) != want || x.Report().Routed {
				t.Errorf("%s %s: %+v", tt.method, tt.path, a.Reply)
			}
		}
	}
	for _, path := range []string{"/v1/responses/", "/v1/responses/a/b", "/v1/responses/a/input_items/b",
		"/v1/conversationsx", "/v1/responsesx/a"} {
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			if storing.Begin(method, path) != nil {
				t.Errorf("%s the gateway does not take %s", method, path)
			}
		}
	}
	// The service gets no path that it may read as another.
	for _, path := range []string{"/v1/responses//cancel", "/v1/responses/..", "/v1/responses/.",
		"/v1/responses/..%2f..%2fadmin", "/v1/conversations/../../admin", "/v1/conversations/%2e%2E/x"} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
			if x := storing.Begin(method, path); x == nil || x.RequestHeaders().Reply == nil {
				t.Errorf("%s %s is not refused", method, path)
			}
		}
	}
	for _, method := range []string{"PUT", "PATCH", "TRACE"} {
		if storing.Begin(method, "/v1/conversations/conv_1") != nil {
			t.Errorf("%s of a conversation is not in the API", method)
		}
	}
}
