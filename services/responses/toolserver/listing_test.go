package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// expire makes all lists old.
func expire(p *Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listings {
		l.until = time.Now().Add(-time.Second)
	}
}

func TestPages(t *testing.T) {
	box := newToolbox(&mcp.ServerOptions{PageSize: 1})
	s := serve(t, box.streamable(nil), nil)
	if tools, err := newPool(t, Limits{Tools: 4}).Tools(t.Context(), s, ""); err != nil || len(tools) != 4 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	_, err := newPool(t, Limits{Tools: 3}).Tools(t.Context(), s, "")
	if e := fails[*LimitError](t, err); e != nil && (e.Limit != 3 || e.What != "tools of a server") {
		t.Errorf("it is %v", e)
	}
	_, err = newPool(t, Limits{Listing: 600}).Tools(t.Context(), s, "")
	if e := fails[*LimitError](t, err); e != nil && (e.Limit != 600 || e.What != bytesOfList) {
		t.Errorf("it is %v", e)
	}
}

func TestBadLists(t *testing.T) {
	tool := func(i int) string { return fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i) }
	isLimit := func(t *testing.T, err error) { fails[*LimitError](t, err) }
	isProtocol := func(t *testing.T, err error) { fails[*ProtocolError](t, err) }
	for name, c := range map[string]struct {
		result func(page int) string
		want   func(*testing.T, error)
	}{
		"pages without end": {func(i int) string { return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool(i), i) },
			isLimit},
		"empty pages":   {func(i int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, i) }, isLimit},
		"the same page": {func(i int) string { return `{"tools":[],"nextCursor":"a"}` }, isProtocol},
		"a long cursor": {func(i int) string {
			return `{"tools":[],"nextCursor":"` + strings.Repeat("a",
				2000) + `"}`
		}, isProtocol},
		"many tools": {func(i int) string {
			return `{"tools":[` + strings.Repeat(tool(i)+",",
				600) + tool(i) + `]}`
		}, isLimit},
		"large": {func(i int) string {
			return `{"tools":[{"name":"a","description":"` + strings.Repeat("a",
				2<<20) + `"}]}`
		}, isLimit},
		"not an array":        {func(i int) string { return `{"tools":{"a":1}}` }, isProtocol},
		"not an object":       {func(i int) string { return `"a"` }, isProtocol},
		"a cursor of numbers": {func(i int) string { return `{"tools":[],"nextCursor":1}` }, isProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			var page atomic.Int32
			s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
				if m.Method == methodList {
					answer(w, m.ID, `"result":`+c.result(int(page.Add(1))))
				}
			}), nil)
			tools, err := newPool(t, Limits{}).Tools(t.Context(), s, "")
			if tools != nil {
				t.Errorf("%d tools", len(tools))
			}
			c.want(t, err)
			if n := page.Load(); n > maxPages {
				t.Errorf("%d pages were asked for", n)
			}
		})
	}
}

// Tools that cannot be used are left out.
func TestOddTools(t *testing.T) {
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		answer(w, m.ID,
			`"result":{"tools":[null,1,{},{"name":""},{"name":1},{"name":"a","inputSchema":[1]},
			{"name":"a","description":"second"},
			{"name":"b.c/d","inputSchema":{ "type" : "object" ,
				"x":{"b":1,"a":2}},"annotations":{"readOnlyHint":true}},{"name":"c","inputSchema":null},
			{"name":"d","description":7}]}`)
	}), nil)
	tools, err := newPool(t, Limits{}).Tools(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range tools {
		got = append(got, fmt.Sprintf("%s %s %s %t", tool.Name, tool.Description, tool.InputSchema, tool.ReadOnly))
	}
	want := `a  {"type":"object","properties":{}} false|b.c/d  {"type":"object","x":{"b":1,"a":2}} true|` +
		`c  {"type":"object","properties":{}} false`
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// A list is kept for its tenant, until it is old or the server says that it has changed. An error is kept for a moment.
func TestListsAreKept(t *testing.T) {
	box := newToolbox(nil)
	var lists atomic.Int32
	var broken atomic.Bool
	h := box.streamable(&mcp.StreamableHTTPOptions{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() && r.Method == http.MethodPost {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	}), nil)
	box.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == methodList {
				lists.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	p := newPool(t, Limits{})
	expect := func(tenant string, want int32) {
		t.Helper()
		if _, err := p.Tools(t.Context(), s, tenant); err != nil {
			t.Error(err)
		}
		if n := lists.Load(); n != want {
			t.Errorf("the server has listed %d times, want %d", n, want)
		}
	}
	expect("a", 1)
	expect("a", 1)
	expect("b", 2)
	expire(p)
	expect("a", 3)
	p.relist(s.session("a"))
	expect("a", 4)

	expire(p)
	broken.Store(true)
	for range 2 {
		_, err := p.Tools(t.Context(), s, "a")
		fails[*HTTPError](t, err)
	}
	broken.Store(false)
	expire(p)
	expect("a", 5)
}

// A server may say in the middle of a call that its tools have changed.
func TestListChanges(t *testing.T) {
	var lists atomic.Int32
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		switch m.Method {
		case methodList:
			answer(w, m.ID, fmt.Sprintf(`"result":{"tools":[{"name":"t%d"}]}`, lists.Add(1)))
		case methodCall:
			events(w)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"%s\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n\n",
				listChanged, m.ID, textResult("ok"))
		}
	}), nil)
	p := newPool(t, Limits{})
	name := func() string {
		tools, err := p.Tools(t.Context(), s, "")
		if err != nil {
			t.Fatal(err)
		}
		return tools[0].Name
	}
	for range 2 {
		if got := name(); got != "t1" {
			t.Errorf("the list is not kept: %s", got)
		}
	}
	mustCall(t, p, s, "x")
	eventually(t, "a new list", func() bool { return name() == "t2" })
}

// Many who ask for a list at once make one request. One of them leaves; the others get the list.
func TestListForMany(t *testing.T) {
	var lists atomic.Int32
	asked, finish := make(chan struct{}, 10), make(chan struct{})
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		lists.Add(1)
		asked <- struct{}{}
		<-finish
		answer(w, m.ID, `"result":{"tools":[{"name":"a"}]}`)
	}), nil)
	p := newPool(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := p.Tools(ctx, s, "")
		left <- err
	}()
	wait(t, "the request", asked)
	got := make(chan error)
	for range 10 {
		go func() {
			tools, err := p.Tools(context.Background(), s, "")
			if err == nil && len(tools) != 1 {
				err = errors.New("no tool")
			}
			got <- err
		}()
	}
	cancel()
	if err := wait(t, "the end of the first", left); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(finish)
	for range 10 {
		if err := wait(t, "the list", got); err != nil {
			t.Error(err)
		}
	}
	if n := lists.Load(); n != 1 {
		t.Errorf("the server has listed %d times", n)
	}
}

// The lists of many servers do not fill the memory: the oldest are forgotten.
func TestListsAreForgotten(t *testing.T) {
	s := serve(t, rude(func(w http.ResponseWriter, _ *http.Request, m *rpc) {
		answer(w, m.ID,
			`"result":{"tools":[]}`)
	}), nil)
	p := newPool(t, Limits{Sessions: 3})
	for i := range 10 {
		if _, err := p.Tools(t.Context(), s, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.listings) != 3 || len(p.sessions) > 3 {
		t.Errorf("%d lists and %d sessions are kept", len(p.listings), len(p.sessions))
	}
	for _, l := range p.listings {
		l.size = maxListings
	}
	if !p.makeListRoom(1) || len(p.listings) != 0 {
		t.Errorf("%d lists that are too large are kept", len(p.listings))
	}
}

// TestUncallableTools: a tool with a wrong x-mcp-header is not offered.
func TestUncallableTools(t *testing.T) {
	tool := func(name, header string) Tool {
		return Tool{Name: name, InputSchema: json.RawMessage(`{"properties":{"a":{"type":"string","x-mcp-header":"` + header + `"}}}`)}
	}
	p := page{tools: []Tool{tool("right", "A"), tool("wrong", "A B"), {Name: "plain", InputSchema: json.RawMessage(`{}`)}}}
	p.dropUncallable(&mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "right"}}})
	if len(p.tools) != 2 || p.tools[0].Name != "right" || p.tools[1].Name != "plain" {
		t.Errorf("%+v", p.tools)
	}
}
