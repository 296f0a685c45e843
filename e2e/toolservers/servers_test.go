package toolservers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transports are those by which a server can be reached.
var transports = map[string]func(*Server) mcp.Transport{
	"streamable HTTP": func(s *Server) mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: s.Streamable()} },
	"SSE": func(s *Server) mcp.Transport {
		return &mcp.SSEClientTransport{Endpoint: s.SSE(), MaxEventSize: -1} // a flood is to be received
	},
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func textOf(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d contents", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("a content that is no text: %T", result.Content[0])
	}
	return text.Text
}

func callTool(ctx context.Context, session *mcp.ClientSession, name, arguments string) (*mcp.CallToolResult, error) {
	return session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
}

func TestScripts(t *testing.T) {
	python, container := Python(t, nil), Container(t, nil)
	for _, c := range []struct {
		server          *Server
		tool, arguments string
		want            string
		failed          bool
	}{
		{python, "python", `{"code":"print(6*7)\n"}`, "42\n", false},
		{python, "python", `{"code":"x = 1"}`, noOutput, false},
		{python, "python", `{"code":"what()"}`, "NameError", false},
		{python, "python", `{}`, "Error executing tool python", true},
		{container, "exec", `{"cmd":["echo","hello"],"timeout":5}`, "hello\n", false},
		{container, "exec", `{"cmd":["rm","-rf","/"]}`, "bash: line 1: rm: command not found\n", false},
		{container, "exec", `{"cmd":"ls"}`, "Error executing tool exec", true},
	} {
		for name, transport := range transports {
			result, err := callTool(t.Context(), connect(t, transport(c.server)), c.tool, c.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(t, result); !strings.Contains(got, c.want) || result.IsError != c.failed {
				t.Errorf("%s, %s %s: %q, failed %t", name, c.tool, c.arguments, got, result.IsError)
			}
		}
	}
	if !slices.ContainsFunc(python.Requests(), func(r Request) bool {
		return r.Method == http.MethodPost && r.Path == "/mcp" && r.Header.Get("Content-Type") == "application/json"
	}) {
		t.Errorf("requests that were noted: %+v", python.Requests())
	}
}

func TestPlain(t *testing.T) {
	broken := func(json.RawMessage) (*mcp.CallToolResult, error) { return nil, io.ErrUnexpectedEOF }
	server := Plain(t, Tool{Name: "echo", ReadOnly: true}, Tool{Name: "broken", Answer: broken})
	session := connect(t, transports["streamable HTTP"](server))
	result, err := callTool(t.Context(), session, "echo", `{"a":1}`)
	if err != nil || textOf(t, result) != `{"a":1}` {
		t.Error(result, err)
	}
	if _, err := callTool(t.Context(), session, "broken", `{}`); err == nil {
		t.Error("an error of the protocol must reach the client")
	}
	server.Close()
	server.Close()
}

// TestLarge has a flood, as it comes by HTTP, and a long listing.
func TestLarge(t *testing.T) {
	response, err := http.Post(Rude(t, Floods).Streamable(), "application/json",
		strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("event: message\ndata: ")), &answer); err != nil {
		t.Fatal(err)
	}
	if n := len(answer.Result.Content[0].Text); n != FloodSize {
		t.Errorf("a flood of %d bytes", n)
	}
	session := connect(t, transports["streamable HTTP"](Rude(t, ManyTools)))
	if n := countTools(t, session); n != 10_000 {
		t.Errorf("%d tools", n)
	}
}

// TestRude shows that each rude server is as rude as its manner says, by both transports where it can be asked.
func TestRude(t *testing.T) {
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			open := func(manner Manner) (*Server, *mcp.ClientSession) {
				server := Rude(t, manner)
				return server, connect(t, transport(server))
			}
			ctx := t.Context()

			server, session := open(Hangs)
			hung := make(chan error, 1)
			go func() {
				_, err := callTool(ctx, session, "echo", `{}`)
				hung <- err
			}()
			waitForCall(t, server)
			server.Close()
			if err := <-hung; err == nil {
				t.Error("a call that hangs was answered")
			}

			_, session = open(Dies)
			if _, err := callTool(ctx, session, "echo", `{}`); err == nil {
				t.Error("a server that dies has answered")
			}

			_, session = open(UnauthorizedListing)
			if name == "streamable HTTP" { // by SSE, the client does not wait for the answer to its request
				if _, err := session.ListTools(ctx, nil); err == nil {
					t.Error("a listing that is refused")
				}
			}

			_, session = open(ListsForever)
			list, err := session.ListTools(ctx, nil)
			if err != nil || list.NextCursor == "" {
				t.Error("a list without an end:", list, err)
			}
			_, session = open(OddNames)
			if n := countTools(t, session); n != len(OddToolNames)+1 {
				t.Errorf("%d tools with odd names", n-1)
			}
			_, session = open(ControlTokens)
			result, err := callTool(ctx, session, "echo", `{}`)
			if err != nil || textOf(t, result) != Forged {
				t.Error("a forged message:", err)
			}
		})
	}
}

// TestRefusals asks the servers that no session can be had with.
func TestRefusals(t *testing.T) {
	for manner, want := range map[Manner]int{
		Unauthorized: http.StatusUnauthorized, Redirects: http.StatusOK, NoMCP: http.StatusOK,
	} {
		server := Rude(t, manner)
		for _, url := range []string{server.Streamable(), server.SSE()} {
			response, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s: %s has status %d", manner, url, response.StatusCode)
			}
		}
		if strayed := len(server.Strayed()); manner == Redirects && strayed != 2 {
			t.Errorf("%d requests have followed a redirect", strayed)
		}
	}
}

func waitForCall(t *testing.T, server *Server) {
	t.Helper()
	select {
	case <-server.Called():
	case <-t.Context().Done():
		t.Fatal("no call has come")
	}
}

func countTools(t *testing.T, session *mcp.ClientSession) int {
	t.Helper()
	n := 0
	for _, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
