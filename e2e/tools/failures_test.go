//go:build e2e

package tools

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestErrors has calls that fail, each in its way. The model is told, and answers.
func TestErrors(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		faulty := toolservers.Plain(t, tool("fail", failing("the tool is out of order")))
		dying, flooding, hanging := toolservers.Rude(t, toolservers.Dies), toolservers.Rude(t, toolservers.Floods),
			toolservers.Rude(t, toolservers.Hangs)
		g := start(t, host, configuration{
			servers: []string{at("failing", faulty.Streamable()), at("dying", dying.Streamable()),
				at("flooding", flooding.Streamable()), at("hanging", hanging.Streamable()),
				at("sse", hanging.SSE(), "transport: sse")},
			settings: []string{"call_time: 1s"},
			script: []sim.Line{
				asked("Fail.", calls("fail", `{}`)), asked("Call it.", calls("echo", `{}`)),
				asked("Call badly.", calls("fail", `{"a":`)), told("", says("It did not work.")),
			}})
		for _, tt := range []struct{ label, question, kind string }{
			{"failing", "Fail.", "mcp_tool_execution_error"},
			{"dying", "Call it.", ""},
			{"flooding", "Call it.", ""},
			{"hanging", "Call it.", ""},
			{"sse", "Call it.", ""},
		} {
			t.Run(tt.label, func(t *testing.T) {
				g := g.In(t)
				whole := g.Create(ask(tt.question, mcp(tt.label)))
				streamed, _ := g.Stream(ask(tt.question, mcp(tt.label)))
				for _, r := range []*response{whole, streamed} {
					c := r.Of("mcp_call")
					if len(c) != 1 || r.Status != "completed" || r.Text() != "It did not work." {
						t.Fatalf("%+v", r)
					}
					kind, whole := errorOf(c[0])
					if c[0].Status != "failed" || kind == "" || tt.kind != "" && kind != tt.kind || len(whole) > 4096 {
						t.Errorf("%s, %.4096s", c[0].Status, whole)
					}
				}
				// It is remembered as a failure.
				if r := g.Create(after(whole) + ask(tt.question, mcp(tt.label))); r.Text() != "It did not work." {
					t.Errorf("%+v", r)
				}
			})
		}
		t.Run("arguments", func(t *testing.T) {
			g := g.In(t)
			before := len(faulty.Calls())
			r, _ := g.Stream(ask("Call badly.", mcp("failing")))
			if r.Text() != "It did not work." || len(faulty.Calls()) != before {
				t.Errorf("%+v", r)
			}
		})
		if prompt := g.LastPrompt(); len(prompt) > 100_000 {
			t.Errorf("a prompt of %d bytes", len(prompt))
		}
	})
}

// TestLongResult cuts what a tool returns at the limit.
func TestLongResult(t *testing.T) {
	server := toolservers.Plain(t, tool("read", answering(strings.Repeat("é", 100_000))))
	g := start(t, "wazero", configuration{servers: []string{at("a", server.Streamable())},
		settings: []string{"result_limit: 8KiB"},
		script:   []sim.Line{asked("Read.", calls("read", `{}`)), told("é", says("Read."))}})
	r, _ := g.Stream(ask("Read.", mcp("a")))
	c := r.Of("mcp_call")
	if len(c) != 1 || r.Text() != "Read." {
		t.Fatalf("%+v", r)
	}
	text := output(c[0])
	if n := strings.Count(text, "é"); n > 4096 || n < 3500 || strings.Contains(text, "\ufffd") {
		t.Errorf("%d characters are left", n)
	}
}

// TestListingFails has servers that cannot be listed. The request fails: no model is asked, and nothing is stored.
func TestListingFails(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		unauthorized, many := toolservers.Rude(t, toolservers.Unauthorized), toolservers.Rude(t, toolservers.ManyTools)
		hanging := toolservers.Rude(t, toolservers.HangsListing)
		good := counter(t, "a")
		g := start(t, host, configuration{
			servers: []string{at("unauthorized", unauthorized.Streamable()), at("hanging", hanging.Streamable()),
				at("many", many.Streamable()), at("gone", "http://"+lab.FreeAddress(t)+"/mcp"), at("good", good.Streamable()),
				"label: command, command: [/no/such/program]", "label: silent, command: [sleep, '1000']"},
			settings: []string{"call_time: 1s"}, script: counting("a", 1)})
		for _, label := range []string{"unauthorized", "hanging", "many", "gone", "command", "silent"} {
			t.Run(label, func(t *testing.T) {
				g := g.In(t)
				code := "server_error" // there is no status of HTTP
				if label == "unauthorized" {
					code = "http_error"
				}
				a := g.Refused("POST", "responses", g.Body(ask("Count.", mcp("good"), mcp(label))), 424, code)
				for _, want := range []string{`"type":"external_connector_error"`, `"param":"tools"`,
					"Error retrieving tool list from MCP server: '" + label + "'."} {
					if !strings.Contains(a.Body, want) {
						t.Errorf("no %s in %s", want, a.Body)
					}
				}
				if label == "unauthorized" && !strings.Contains(a.Body, "Http status code: 401 (Unauthorized)") {
					t.Errorf("%s", a.Body)
				}
				listingFailsInStream(g, label)
			})
		}
		if n := len(lab.Completions(g.Sim)); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
		if r := g.Create(ask("Count.", mcp("good"))); r.Text() != "Counted." {
			t.Errorf("%+v", r)
		}
		g.Refused("POST", "responses", g.Body(ask("Count.", mcp("unknown"))), 400, "missing_required_parameter")
	})
}

// listingFailsInStream wants the same of a stream: the status before its first event, or a failure in it.
func listingFailsInStream(g *gateway, label string) {
	g.T.Helper()
	a := lab.Do(g.Client, "POST", g.URL+lab.ResponsesPath, nil, strings.NewReader(g.Body(ask("Count.", mcp(label))+
		`,"stream":true`)))
	switch {
	case a.Err != nil:
		g.T.Error(a.Err)
	case a.Status == 424:
	case a.Status != 200:
		g.T.Errorf("%d %s", a.Status, a.Body)
	default:
		if r := g.LastOf(a.Body); r.Status != "failed" ||
			!strings.Contains(a.Body, "event: response.mcp_list_tools.failed\n") {
			g.T.Errorf("%s", a.Body)
		}
	}
}

// TestRedirect has a server that sends its callers on to another one. Nobody goes there.
func TestRedirect(t *testing.T) {
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	g := start(t, "wazero", configuration{servers: []string{at("a", redirecting.URL)}, script: counting("a", 1)})
	g.Refused("POST", "responses", g.Body(ask("Count.", mcp("a"))), 424, "http_error")
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests have followed", n)
	}
}

// waiting is a server with a tool that waits until its caller gives up, and how many have begun and were given up.
type waiting struct {
	*toolservers.Server
	begun, over atomic.Int64
}

func wait(t *testing.T) *waiting {
	w := &waiting{}
	w.Server = toolservers.Plain(t, tool("wait", func(ctx context.Context, _ string) (string, error) {
		w.begun.Add(1)
		<-ctx.Done()
		w.over.Add(1)
		return "", ctx.Err()
	}))
	return w
}

// until waits for a number.
func until(t *testing.T, what string, n *atomic.Int64, want int64) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); n.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: %d, want %d", what, n.Load(), want)
		}
	}
}

// TestCancel cancels responses in the middle of a call, in three ways. The tool is cancelled too.
func TestCancel(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := wait(t)
		g := start(t, host, configuration{servers: []string{at("a", server.Streamable())},
			script: []sim.Line{asked("Wait.", calls("wait", `{}`)), asked("And now?", says("As before."))}})
		request := g.Body(ask("Wait.", mcp("a")) + `,"stream":true,"background":true`)
		behind := g.Open("POST", "responses", request).Until(`"type":"response.mcp_call.in_progress"`)
		until(t, "begun", &server.begun, 1)
		cancelled := &response{}
		g.Object("Response", g.Do("POST", "responses/"+behind.ID+"/cancel", "", 200), cancelled)
		if last := g.LastOf(behind.End()); last.Status != "cancelled" || cancelled.Status != "cancelled" ||
			len(cancelled.Output) != 0 {
			t.Errorf("%+v", last)
		}
		until(t, "cancelled by the endpoint", &server.over, 1)
		// A client that hangs up.
		before := g.Open("POST", "responses",
			g.Body(ask("Wait.", mcp("a"))+`,"stream":true`)).Until(`"type":"response.mcp_call.in_progress"`)
		until(t, "begun", &server.begun, 2)
		before.Leave()
		until(t, "given up by a client", &server.over, 2)
		if r := awaitStatus(g, before.ID); r.Status != "cancelled" {
			t.Errorf("%+v", r)
		}
		// And one without a stream.
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+lab.ResponsesPath,
				strings.NewReader(g.Body(ask("Wait.", mcp("a")))))
			if err == nil {
				r.Header.Set("content-type", "application/json")
				var answer *http.Response
				if answer, err = g.Client.Do(r); err == nil {
					answer.Body.Close()
				}
			}
			left <- err
		}()
		until(t, "begun", &server.begun, 3)
		leave()
		if err := <-left; err == nil {
			t.Error("an answer to a client that has left")
		}
		until(t, "given up by a client without a stream", &server.over, 3)
		// The model was never asked again.
		if n := len(lab.Completions(g.Sim)); n != 3 {
			t.Errorf("%d rounds", n)
		}
	})
}

// TestTime ends a response whose time is over in the middle of a call. The tool is cancelled.
func TestTime(t *testing.T) {
	server := wait(t)
	g := start(t, "envoy", configuration{servers: []string{at("a", server.Streamable())}, settings: []string{"time: 1s"},
		script: []sim.Line{asked("Wait.", calls("wait", `{}`)), told("", says("It took too long."))}})
	r, _ := g.Stream(ask("Wait.", mcp("a")))
	if c := r.Of("mcp_call"); len(c) != 1 || c[0].Status != "failed" || r.Status != "completed" && r.Status != "incomplete" {
		t.Errorf("%+v", r)
	}
	until(t, "cancelled", &server.over, 1)
}

// TestKilled kills the program in the middle of a call of a response in the background. When it is back, the response
// has failed, and the call is not made again.
func TestKilled(t *testing.T) {
	server := wait(t)
	c := configuration{servers: []string{at("a", server.Streamable())}, database: filepath.Join(t.TempDir(), "responses.db"),
		script: []sim.Line{asked("Wait.", calls("wait", `{}`)), asked("And now?", says("As before."))}}
	g := start(t, "wazero", c)
	r := g.Create(`"background":true,` + ask("Wait.", mcp("a")))
	until(t, "begun", &server.begun, 1)
	g.Program.Kill(t)
	g = start(t, "wazero", c)
	if r := g.Await(r.ID); r.Status != "failed" || r.Code() != "server_error" {
		t.Errorf("%+v", r)
	}
	if n := server.begun.Load(); n != 1 || len(lab.Completions(g.Sim)) != 0 {
		t.Errorf("%d calls, %d rounds after the kill", n, len(lab.Completions(g.Sim)))
	}
	if next := g.Create(after(r) + ask("And now?", mcp("a"))); next.Text() != "As before." {
		t.Errorf("%+v", next)
	}
}

// awaitStatus polls a response that is only stored when it has ended.
func awaitStatus(g *gateway, id string) *response {
	g.T.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		if a := lab.Do(g.Client, "GET", g.URL+"/v1/responses/"+id, nil, nil); a.Status == 200 {
			return g.Await(id)
		} else if time.Now().After(end) {
			g.T.Fatalf("%d %s", a.Status, a.Body)
		}
	}
}

// TestServerBack kills a server between two turns, and starts another at its address.
func TestServerBack(t *testing.T) {
	first := counter(t, "first")
	address := strings.TrimPrefix(origin(first), "http://")
	g := start(t, "wazero", configuration{servers: []string{at("a", first.Streamable())}, script: []sim.Line{
		asked("Count.", calls("count", `{}`)), told("first counts", says("First.")), told("second counts", says("Second.")),
		told("", says("It did not work.")),
	}})
	if r := g.Create(ask("Count.", mcp("a"))); r.Text() != "First." {
		t.Errorf("%+v", r)
	}
	first.Close()
	if r := g.Create(ask("Count.", mcp("a"))); r.Text() != "It did not work." {
		t.Errorf("%+v", r)
	}
	second := counter(t, "second")
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	relay(t, l, strings.TrimPrefix(origin(second), "http://"))
	if r := g.Create(ask("Count.", mcp("a"))); r.Text() != "Second." {
		t.Errorf("%+v", r)
	}
}
