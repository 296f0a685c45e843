package responses

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// retried returns a model whose lost answers are asked for once more.
func retried(name string) contract.Model {
	m := contract.DefaultModel(name)
	m.Relay = contract.RelayRetry
	return m
}

// TestApply changes settings under a service that runs. The next request has them.
func TestApply(t *testing.T) {
	large := `{"model":"m","input":"` + strings.Repeat("x", 2000) + `"}`
	get := func(f *fixture, id string, header ...string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/v1/responses/"+id, nil)
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for name, test := range map[string]func(*testing.T, *fixture){
		"body limit": func(_ *testing.T, f *fixture) {
			f.change(func(o *Settings) { o.BodyLimit = 1000 })
			f.wants(413, "request_too_large", "POST", "/v1/responses", large)
			f.change(func(o *Settings) { o.BodyLimit = 4000 })
			f.create(`"input":"` + strings.Repeat("x", 2000) + `"`)
		},
		"memory": func(_ *testing.T, f *fixture) {
			f.change(func(o *Settings) { o.Memory = 100 })
			f.wants(429, "service_overloaded", "POST", "/v1/responses", large)
		},
		"requests": func(_ *testing.T, f *fixture) {
			f.hold = make(chan struct{})
			ended := make(chan bool)
			go func() { f.do("POST", "/v1/responses", large); close(ended) }()
			<-f.asked
			f.change(func(o *Settings) { o.InFlight = 1 })
			f.wants(429, "service_overloaded", "GET", "/v1/responses/resp_1", "")
			f.change(func(o *Settings) { o.InFlight = 2 })
			f.wants(404, "", "GET", "/v1/responses/resp_1", "")
			close(f.hold)
			<-ended
		},
		"background": func(_ *testing.T, f *fixture) {
			f.hold = make(chan struct{})
			f.change(func(o *Settings) { o.Background = 1 })
			for range 2 {
				f.create(`"input":"x","background":true`)
			}
			<-f.asked
			f.change(func(o *Settings) { o.Background = 2 })
			<-f.asked
			close(f.hold)
		},
		"gateway": func(t *testing.T, f *fixture) {
			other := start(t, Options{})
			f.change(func(o *Settings) { o.Gateway = other.s.Settings().Gateway + "/" })
			f.create(`"input":"x"`)
			<-other.asked
		},
		"tenant": func(t *testing.T, f *fixture) {
			id := f.create(`"input":"x"`)
			f.change(func(o *Settings) { o.TenantHeader = "x-tenant" })
			if none, other := get(f, id), get(f, id, "x-tenant", "a"); none != 200 || other != 404 {
				t.Errorf("%d %d", none, other)
			}
		},
		"retention": func(t *testing.T, f *fixture) {
			f.change(func(o *Settings) { o.Retention = -time.Second })
			if status := get(f, f.create(`"input":"x"`)); status != 404 {
				t.Errorf("what has expired is answered %d", status)
			}
		},
		"websocket": func(t *testing.T, f *fixture) {
			f.wants(404, "unknown_url", "GET", "/v1/responses", "")
			f.change(func(o *Settings) { o.WebSocket, o.Origins = true, []string{"https://page.example"} })
			w, _ := dial(t, f.url, http.Header{"Origin": {"https://page.example"}})
			w.ask(`"store":false,"input":"x"`)
			w.answer()
			f.change(func(o *Settings) { o.BodyLimit = 8 << 20 }) // also of a connection that is open
			w.ask(`"store":false,"input":"` + strings.Repeat("x", 6<<20) + `"`)
			w.answer()
			f.change(func(o *Settings) { o.WebSocket = false })
			w.ask(`"store":false,"input":"x"`)
			w.refused("invalid_request")
			f.wants(404, "unknown_url", "GET", "/v1/responses", "")
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, start(t, Options{})) })
	}
}

// TestRequestKeepsSettings changes settings while a response is made. It is stored by those with which it was asked for.
func TestRequestKeepsSettings(t *testing.T) {
	f := start(t, Options{})
	f.hold = make(chan struct{})
	made := make(chan string)
	go func() { made <- f.create(`"input":"x"`) }()
	<-f.asked
	f.change(func(o *Settings) {
		o.Retention, o.TenantHeader, o.Gateway = -time.Second, "x-tenant", "http://127.0.0.1:1"
	})
	close(f.hold)
	if status, body := f.do("GET", "/v1/responses/"+<-made, ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// TestToolServerChanges replaces the server of a label. The next call goes to the new one.
func TestToolServerChanges(t *testing.T) {
	calls := []string{answerOf("completed", 1, 1, callItem("t", "say_it", `{}`)), answerOf("completed", 1, 1, textItem("done"))}
	f, gateway, _ := startTools(t, ToolOptions{}, append(calls, calls...), saying("the old one"))
	ask := func() string {
		f.create(`"input":"x","tools":[{"type":"mcp","server_label":"t","require_approval":"never"}]`)
		return gateway.last()
	}
	if asked := ask(); !strings.Contains(asked, "the old one") {
		t.Error(asked)
	}
	other := toolservers.Plain(t, saying("the new one"))
	f.change(func(o *Settings) { o.Tools.Servers = []ToolServer{{Label: "t", URL: other.Streamable()}} })
	if asked := ask(); !strings.Contains(asked, "the new one") {
		t.Error(asked)
	}
	f.change(func(o *Settings) { o.Tools.Servers, o.Tools.RefuseOthers = nil, true })
	f.wants(400, "missing_required_parameter", "POST", "/v1/responses", `{"model":"m","input":"x",`+
		`"tools":[{"type":"mcp","server_label":"t"}]}`)
}
