//go:build e2e

package tracing

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/internal/tracing"
	"github.com/harmonyedge/harmonyedge/sim"
)

// provider returns what sends the spans of a program of the test's.
func provider(t *testing.T, c *collector, name string) *tracing.Provider {
	t.Helper()
	at, err := url.Parse(c.grpcURL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tracing.New(tracing.Options{Host: at.Host, Share: 1, Service: name, Version: "1",
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startTools runs an MCP server by the official SDK, whose tool makes spans of its own. It returns its URL, and the
// headers and _meta of the calls.
func startTools(t *testing.T, tracer trace.Tracer) (string, func() []string) {
	t.Helper()
	var parents []string
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "lookup", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			meta := propagation.MapCarrier{}
			for _, name := range []string{"traceparent", "tracestate"} {
				meta[name], _ = r.Params.Meta[name].(string)
			}
			header := ""
			if r.Extra != nil {
				header = r.Extra.Header.Get("traceparent")
			}
			parents = append(parents, meta["traceparent"], header)
			_, span := tracer.Start(propagation.TraceContext{}.Extract(ctx, meta), "lookup",
				trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: toolsWord}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	return web.URL, func() []string { return parents }
}

// oneTrace are the spans of a request with a tool, each below the one that has begun it.
const oneTrace = `client: ask
  harmony-gateway: POST /v1/responses
    harmony-gateway: POST harmony-responses
      harmony-responses: POST /v1/responses
        harmony-responses: tools/list
        harmony-responses: chat gpt-oss-120b
          harmony-gateway: POST /v1/responses
            harmony-gateway: POST harmony-pool-gpt-oss-120b
        harmony-responses: tools/call lookup
          tools: lookup
        harmony-responses: chat gpt-oss-120b
          harmony-gateway: POST /v1/responses
            harmony-gateway: POST harmony-pool-gpt-oss-120b
`

// TestOneTrace follows a request of a client's through Envoy, the responses service, Envoy again and a tool's server.
func TestOneTrace(t *testing.T) {
	c := startCollector(t)
	client, tools := provider(t, c, "client"), provider(t, c, "tools")
	toolsURL, parents := startTools(t, tools.Tracer("test"))
	g := service.Start(t, service.Options{Host: "envoy", Configuration: "tracing: { url: " + c.grpcURL + " }\n",
		Settings: "  tools: { servers: [{ label: db, url: " + toolsURL + " }] }\n",
		Sim: sim.Options{Keep: 100, Script: sim.NewScript(
			sim.Line{Last: "<|start|>user<|message|>" + asked, Tokens: lab.Tokens("<|channel|>analysis<|message|>" + thought +
				"<|end|><|start|>assistant<|channel|>commentary to=functions.lookup <|constrain|>json<|message|>{\"a\":\"" +
				argument + "\"}<|call|>")},
			sim.Line{Last: toolsWord, Tokens: lab.Tokens("<|channel|>final<|message|>" + answered + "<|return|>")},
		)}})
	ctx, root := client.Tracer("test").Start(t.Context(), "ask", trace.WithSpanKind(trace.SpanKindClient))
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	r := g.Create(`"input":"`+asked+`","tools":[{"type":"mcp","server_label":"db","require_approval":"never"}]`,
		"traceparent", header["traceparent"], "authorization", "Bearer "+secret)
	root.End()
	client.Close()
	tools.Close()
	if r.Text() != answered || len(r.Of("mcp_call")) != 1 {
		t.Fatalf("%+v", r)
	}
	id := root.SpanContext().TraceID()
	want := strings.Count(oneTrace, "\n")
	all := ofTrace(c.wait(t, func(all []span) bool { return len(ofTrace(all, id.String())) >= want }), id.String())
	if got := tree(t, all, names); got != oneTrace {
		t.Errorf("got\n%swant\n%s", got, oneTrace)
	}
	t.Logf("one trace:\n%s", tree(t, all, attributesOf))
	var call string
	for _, s := range all {
		if s.Name == "tools/call lookup" {
			call = "00-" + id.String() + "-" + hex.EncodeToString(s.SpanId) + "-01"
		}
	}
	if got := parents(); len(got) != 2 || got[0] != call || got[1] != call {
		t.Errorf("the tool's server got %q, want %s in _meta and in a header", got, call)
	}
	var plane []span
	for _, s := range c.wait(t, accepted) {
		if s.service == "harmony-controlplane" {
			plane = append(plane, s)
		}
	}
	checkPlane(t, plane)
	c.checkWords(t)
}

// accepted reports whether an Envoy's answer has come.
func accepted(all []span) bool {
	for _, s := range all {
		if s.Name == "accept listeners" {
			return true
		}
	}
	return false
}

// checkPlane checks the control plane's spans: a load of the configuration has a push, and the push has answers.
func checkPlane(t *testing.T, plane []span) {
	t.Helper()
	byID := map[string]span{}
	for _, s := range plane {
		byID[string(s.SpanId)] = s
	}
	found := false
	for _, s := range plane {
		push := byID[string(s.ParentSpanId)]
		load := byID[string(push.GetParentSpanId())]
		found = found || s.Name == "accept listeners" && push.GetName() == "push" && load.GetName() == "load configuration"
	}
	if !found {
		t.Errorf("no load with a push that an Envoy has accepted: %v", plane)
	}
}

// TestServiceAlone has a service whose collector is dead, and one without tracing: requests are answered, and the
// client's trace goes on to the model's server.
func TestServiceAlone(t *testing.T) {
	for name, configuration := range map[string]string{
		"dead collector": "tracing: { url: http://" + lab.FreeAddress(t) + " }\n", "no tracing": "",
	} {
		t.Run(name, func(t *testing.T) {
			g := service.Start(t, service.Options{Host: "envoy", Configuration: configuration, Sim: script()})
			r := g.Create(`"input":"`+asked+`"`, "traceparent", "00-"+sampledTrace+"-"+clientSpan+"-01")
			if r.Text() != answered {
				t.Errorf("%+v", r)
			}
			for _, q := range lab.Completions(g.Sim) {
				if got := q.Header.Get("traceparent"); !strings.Contains(got, sampledTrace) {
					t.Errorf("the server got %q", got)
				}
			}
		})
	}
}
