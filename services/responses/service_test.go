package responses

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// fixture is a service with a store, before a gateway that says what it is told to.
type fixture struct {
	t   *testing.T
	s   *Service
	url string
	// asked receives the requests that the gateway gets, and hold, if it is not nil, keeps its answers until it is closed.
	asked chan string
	hold  chan struct{}
}

// answered are the events of a gateway's answer.
const answered = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_g","object":"response","status":"in_progress","model":"m","output":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":1,"output_index":0,"item":{"id":"msg_g","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello.","annotations":[],"logprobs":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":2,"response":{"id":"resp_g","object":"response","status":"completed","model":"m","output":[]}}

`

func start(t *testing.T, o Options) *fixture {
	t.Helper()
	f := &fixture{t: t, asked: make(chan string, 100)}
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.asked <- string(body)
		if f.hold != nil {
			select {
			case <-f.hold:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(w, answered)
	}))
	t.Cleanup(gateway.Close)
	o.Settings.Gateway = gateway.URL
	if o.Store.URL == "" {
		o.Store.URL = filepath.Join(t.TempDir(), "responses.db")
	}
	f.s = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.s.Run(ctx) }()
	select {
	case <-f.s.Reached():
	case err := <-ended:
		t.Fatal(err)
	}
	service := httptest.NewServer(f.s.Handler())
	f.url = service.URL
	t.Cleanup(func() {
		service.Close()
		f.s.Stop()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// change changes the settings in force.
func (f *fixture) change(change func(*Settings)) {
	o := f.s.Settings()
	change(&o)
	f.s.Apply(o)
}

// do sends a request and returns the status and the body of the answer.
func (f *fixture) do(method, path, body string) (int, string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer.StatusCode, string(got)
}

// create asks for a response and returns its id.
func (f *fixture) create(members string) string {
	f.t.Helper()
	status, body := f.do("POST", "/v1/responses", `{"model":"m",`+members+`}`)
	var o struct{ ID string }
	if err := json.Unmarshal([]byte(body), &o); err != nil || status != 200 || !strings.HasPrefix(o.ID, "resp_") {
		f.t.Fatalf("%s: %d %s", members, status, body)
	}
	return o.ID
}

// wants sends a request whose answer is an error.
func (f *fixture) wants(status int, code, method, path, body string) {
	f.t.Helper()
	got, text := f.do(method, path, body)
	var o struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil || got != status || o.Error.Code != code ||
		o.Error.Message == "" {
		f.t.Errorf("%s %s %s: %d %s", method, path, body, got, text)
	}
}

func TestChain(t *testing.T) {
	f := start(t, Options{})
	one := f.create(`"input":"first"`)
	<-f.asked
	two := f.create(`"input":"second","previous_response_id":"` + one + `"`)
	if asked := <-f.asked; !strings.HasPrefix(asked, `{"store":false,`) || strings.Contains(asked,
		"previous_response_id") ||
		!(strings.Index(asked, "first") < strings.Index(asked, "Hello.") &&
			strings.Index(asked, "Hello.") < strings.Index(asked, "second")) {
		t.Errorf("the gateway is asked %s", asked)
	}
	if status, body := f.do("GET", "/v1/responses/"+two, ""); status != 200 ||
		!strings.Contains(body, `"previous_response_id":"`+one+`"`) || strings.Contains(body, "resp_g") {
		t.Errorf("%d %s", status, body)
	}
}

// TestRefusals has requests that no store and no model is needed for.
func TestRefusals(t *testing.T) {
	f := start(t, Options{Settings: Settings{BodyLimit: 200}})
	one := f.create(`"input":"first"`)
	for _, tt := range []struct {
		status             int
		code, method, path string
		body               string
	}{
		{400, "invalid_json", "POST", "/v1/responses", `{`},
		{413, "request_too_large", "POST", "/v1/responses", `{"input":"` + strings.Repeat("x", 200) + `"}`},
		{400, "context_length_exceeded", "POST", "/v1/responses", `{"previous_response_id":"` + one + `"}`},
		{400, "previous_response_not_found", "POST", "/v1/responses", `{"previous_response_id":"resp_0"}`},
		{404, "", "POST", "/v1/responses", `{"conversation":"conv_0"}`},
		{400, "invalid_value", "POST", "/v1/responses", `{"input":[{"type":"item_reference","id":"msg_0"}]}`},
		{404, "", "GET", "/v1/responses/resp_0", ""},
		{404, "", "DELETE", "/v1/responses/resp_0", ""},
		{404, "", "POST", "/v1/responses/resp_0/cancel", ""},
		{404, "", "GET", "/v1/responses/resp_0/input_items", ""},
		{400, "invalid_type", "GET", "/v1/responses/" + one + "?stream=yes", ""},
		{400, "invalid_value", "GET", "/v1/responses/" + one + "?stream=true", ""},
		{400, "invalid_value", "POST", "/v1/responses/" + one + "/cancel", ""},
		{400, "invalid_value", "GET", "/v1/responses/" + one + "/input_items?limit=0", ""},
		{400, "invalid_value", "GET", "/v1/responses/" + one + "/input_items?limit=101", ""},
		{400, "invalid_value", "GET", "/v1/responses/" + one + "/input_items?order=up", ""},
		{400, "invalid_value", "GET", "/v1/responses/" + one + "/input_items?after=msg_0", ""},
		{400, "invalid_json", "POST", "/v1/conversations", `[]`},
		{400, "invalid_type", "POST", "/v1/conversations", `{"items":1}`},
		{400, "invalid_type", "POST", "/v1/conversations", `{"metadata":{"a":1}}`},
		{400, "invalid_type", "POST", "/v1/conversations", `{"items":[1]}`},
		{400, "invalid_value", "POST", "/v1/conversations", `{"items":[` + strings.Repeat("1,", 20) + `1]}`},
		{404, "", "GET", "/v1/conversations/conv_0", ""},
		{404, "", "GET", "/v1/conversations/conv_0/items/msg_0", ""},
		{404, "unknown_url", "GET", "/v1/conversations", ""},
		{404, "unknown_url", "PUT", "/v1/responses/" + one, ""},
		{404, "unknown_url", "GET", "/", ""},
	} {
		f.wants(tt.status, tt.code, tt.method, tt.path, tt.body)
	}
}

// TestMetadata has metadata at and over each limit.
func TestMetadata(t *testing.T) {
	pairs := func(n int) string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprint(i)] = "x"
		}
		return string(items.JSON(m))
	}
	for raw, want := range map[string]string{
		`{}`:      "",
		pairs(16): "",
		pairs(17): "invalid_value",
		`{"` + strings.Repeat("ä", 64) + `":"` + strings.Repeat("ö", 512) + `"}`: "",
		`{"` + strings.Repeat("k", 65) + `":""}`:                                 "invalid_value",
		`{"k":"` + strings.Repeat("v", 513) + `"}`:                               "invalid_value",
		`[]`: "invalid_type",
	} {
		code := ""
		if failure := checkMetadata(json.RawMessage(raw)); failure != nil {
			code = failure.Code
		}
		if code != want {
			t.Errorf("%.40s: %q, want %q", raw, code, want)
		}
	}
}

// TestOverload: a request beyond the limit fails at once, and those before it are answered.
func TestOverload(t *testing.T) {
	f := start(t, Options{Settings: Settings{InFlight: 1}})
	f.hold = make(chan struct{})
	first := make(chan string)
	go func() {
		_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"first"}`)
		first <- body
	}()
	<-f.asked
	f.wants(429, "service_overloaded", "GET", "/v1/responses/resp_0", "")
	close(f.hold)
	if body := <-first; !strings.Contains(body, `"status":"completed"`) {
		t.Errorf("%s", body)
	}
	f.wants(404, "", "GET", "/v1/responses/resp_0", "")
}

// TestSlowBody: a body that comes in pieces is waited for, and has its memory meanwhile.
func TestSlowBody(t *testing.T) {
	f := start(t, Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"model":"m","input":"x"}`
	if _, err := fmt.Fprintf(conn, "POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body),
		body[:5]); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return f.s.memory.InUse() > 0 })
	if _, err := io.WriteString(conn, body[5:]); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
}

// TestReferences: stored items that a request refers to are held to the limits of memory and of a conversation, however
// often it refers to one.
func TestReferences(t *testing.T) {
	f := start(t, Options{Settings: Settings{BodyLimit: 400 << 10, Memory: 8 << 20}})
	_, body := f.do("POST", "/v1/conversations", `{"items":[{"role":"user","content":"`+strings.Repeat("x",
		130<<10)+`"}]}`)
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	_, body = f.do("GET", "/v1/conversations/"+c.ID+"/items", "")
	var items struct {
		First string `json:"first_id"`
	}
	if err := json.Unmarshal([]byte(body), &items); err != nil || items.First == "" {
		t.Fatal(body)
	}
	refer := func(n int) string {
		return `{"model":"m","input":[` +
			strings.TrimSuffix(strings.Repeat(`{"type":"item_reference","id":"`+items.First+`"},`, n), ",") +
			`]}`
	}
	if status, body := f.do("POST", "/v1/responses", refer(2)); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	f.wants(400, "context_length_exceeded", "POST", "/v1/responses", refer(4))
	_, body = f.do("POST", "/v1/conversations", `{"items":[{"role":"user","content":"x"}]}`)
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	_, body = f.do("GET", "/v1/conversations/"+c.ID+"/items", "")
	if err := json.Unmarshal([]byte(body), &items); err != nil {
		t.Fatal(err)
	}
	f.wants(400, "invalid_value", "POST", "/v1/responses", refer(1001))
}

// TestClientLeft: a response whose client takes no more of its stream is cancelled, though nothing else says that it
// has left.
func TestClientLeft(t *testing.T) {
	f := start(t, Options{})
	request, failure := input.Parse([]byte(`{"model":"m","input":"x","stream":true}`))
	if failure != nil {
		t.Fatal(failure)
	}
	status := ""
	made, _ := f.s.env.New(request, f.s.caller(http.Header{}))
	failure = made.Deliver(t.Context(), func(*upstream.Event) error { return io.ErrClosedPipe },
		func(end *turn.Outcome) *openai.Error { status = end.Status; return nil })
	if failure != nil || status != items.Cancelled {
		t.Errorf("%v, status %s", failure, status)
	}
}

// TestTenantsShare: where the gateway tells clients apart, no client has all requests.
func TestTenantsShare(t *testing.T) {
	for want, o := range map[quota.Verdict]Settings{quota.Granted: {InFlight: 4}, quota.TenantExhausted: {InFlight: 4,
		Clients: true}} {
		if got := New(Options{Settings: o}).inFlight.Take(store.TenantOf("one"), 3); got != want {
			t.Errorf("%+v: %v", o, got)
		}
	}
}

// TestMemory: a request for which there is no memory is refused before it is read, and what requests took is given
// back.
func TestMemory(t *testing.T) {
	f := start(t, Options{Settings: Settings{Memory: 100 << 10}})
	small, large := `{"model":"m","input":"x"}`, `{"model":"m","input":"`+strings.Repeat("x", 20<<10)+`"}`
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"`+strings.Repeat("x", 10<<10)+`"}`)
	var first struct{ ID string }
	if err := json.Unmarshal([]byte(body), &first); err != nil || first.ID == "" {
		t.Fatal(body)
	}
	f.wants(429, "service_overloaded", "POST", "/v1/responses", large)
	// A stored conversation counts as well, before it is read.
	f.wants(429, "service_overloaded", "POST", "/v1/responses",
		`{"model":"m","previous_response_id":"`+first.ID+`","input":"`+
			strings.Repeat("x", 8<<10)+`"}`)
	for range 20 {
		if status, body := f.do("POST", "/v1/responses", small); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
	// The memory is given back after the answer.
	for end := time.Now().Add(10 * time.Second); f.s.memory.InUse() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are taken, and no request runs", f.s.memory.InUse())
		}
	}
}

// TestLocked: while a response is made for a conversation, no other is.
func TestLocked(t *testing.T) {
	f := start(t, Options{})
	_, body := f.do("POST", "/v1/conversations", "")
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	request := `{"model":"m","input":"x","conversation":"` + c.ID + `"}`
	f.hold = make(chan struct{})
	first := make(chan int)
	go func() {
		status, _ := f.do("POST", "/v1/responses", request)
		first <- status
	}()
	<-f.asked
	f.wants(400, "conversation_locked", "POST", "/v1/responses", request)
	close(f.hold)
	if status := <-first; status != 200 {
		t.Error(status)
	}
	if status, body := f.do("POST", "/v1/responses", request); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}

// TestNoStore has a service whose database has not answered.
func TestNoStore(t *testing.T) {
	asked := 0
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, answered)
	}))
	defer gateway.Close()
	s := New(Options{Store: store.Options{URL: filepath.Join(t.TempDir(), "responses.db")},
		Settings: Settings{Gateway: gateway.URL}})
	service := httptest.NewServer(s.Handler())
	defer service.Close()
	f := &fixture{t: t, s: s, url: service.URL}
	for _, body := range []string{`{"model":"m","input":"x"}`, `{"model":"m","input":"x","background":true}`,
		`{"model":"m","previous_response_id":"resp_1"}`, `{"model":"m","conversation":"conv_1"}`} {
		f.wants(503, "store_unavailable", "POST", "/v1/responses", body)
	}
	f.wants(503, "store_unavailable", "GET", "/v1/responses/resp_1", "")
	f.wants(503, "store_unavailable", "POST", "/v1/conversations", "{}")
	if asked > 0 {
		t.Errorf("the model was asked %d times for responses that cannot be stored", asked)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("it is ready")
	}
	// A response that is not to be stored needs no store.
	if status, body := f.do("POST", "/v1/responses", `{"model":"m","input":"x","store":false}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}
