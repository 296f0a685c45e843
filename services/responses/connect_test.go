package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/socket"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// wire is a client's end of a connection.
type wire struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, url string, header http.Header) (*wire, int) {
	t.Helper()
	ws, response, err := websocket.Dial(t.Context(), url+"/v1/responses", &websocket.DialOptions{HTTPHeader: header})
	if response == nil || (err == nil) != (response.StatusCode == http.StatusSwitchingProtocols) {
		t.Fatalf("%v: %+v", err, response)
	}
	if err != nil {
		return nil, response.StatusCode
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &wire{t, ws}, response.StatusCode
}

func (w *wire) ask(members string) {
	w.t.Helper()
	frame := `{"type":"response.create","model":"m",` + members + `}`
	if err := w.ws.Write(w.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the type of the next frame, and the id of its response or the code of its error.
func (w *wire) next() (kind, id string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	_, data, err := w.ws.Read(ctx)
	var f struct {
		Type     string
		Response struct{ ID string }
		Error    struct{ Code string }
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		w.t.Fatalf("%v: %s", err, data)
	}
	return f.Type, f.Response.ID + f.Error.Code
}

// answer reads the frames of a response and returns its id.
func (w *wire) answer() string {
	w.t.Helper()
	for {
		kind, id := w.next()
		switch kind {
		case "response.completed":
			return id
		case "error", "response.failed":
			w.t.Fatalf("got %s %s", kind, id)
		}
	}
}

func (w *wire) refused(code string) {
	w.t.Helper()
	if kind, got := w.next(); kind != "error" || got != code {
		w.t.Errorf("got %s %s, want %s", kind, got, code)
	}
}

// TestConnection: a connection remembers the newest response of each lane, stored or not, until it ends.
func TestConnection(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true}})
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,"stream":"ignored","background":3,"input":"first"`)
	one := w.answer()
	<-f.asked
	w.ask(`"store":false,"input":"second","previous_response_id":"` + one + `"`)
	two := w.answer()
	if asked := <-f.asked; strings.Contains(asked, "previous_response_id") || strings.Contains(asked, "background") ||
		strings.Contains(asked, `"type":"response.create"`) ||
		!(strings.Index(asked, "first") < strings.Index(asked, "Hello.") &&
			strings.Index(asked, "Hello.") < strings.Index(asked, "second")) {
		t.Errorf("the gateway is asked %s", asked)
	}
	w.ask(`"store":false,"input":"third","previous_response_id":"` + one + `"`)
	w.refused("previous_response_not_found")
	other, _ := dial(t, f.url, nil)
	other.ask(`"store":false,"input":"third","previous_response_id":"` + two + `"`)
	other.refused("previous_response_not_found")
	f.wants(404, "", "GET", "/v1/responses/"+two, "")
	// A stored response has all that it continues.
	w.ask(`"input":"third","previous_response_id":"` + two + `"`)
	three := w.answer()
	<-f.asked
	f.create(`"input":"fourth","previous_response_id":"` + three + `"`)
	if asked := <-f.asked; !strings.Contains(asked, "first") || !strings.Contains(asked, "second") ||
		strings.Count(asked, "Hello.") != 3 {
		t.Errorf("the gateway is asked %s", asked)
	}
	// A lane whose newest response is stored has forgotten the one before.
	w.ask(`"store":false,"input":"x","previous_response_id":"` + two + `"`)
	w.refused("previous_response_not_found")
	w.ask(`"store":false,"input":"x","previous_response_id":"` + three + `"`)
	w.answer()
	if f.s.recent.bytes == 0 {
		t.Error("nothing is remembered")
	}
	_ = w.ws.Close(websocket.StatusNormalClosure, "")
	_ = other.ws.Close(websocket.StatusNormalClosure, "")
	await(t, func() bool { return f.s.sockets.Open() == 0 })
	await(t, func() bool {
		f.s.recent.mu.Lock()
		defer f.s.recent.mu.Unlock()
		return f.s.recent.bytes == 0 && f.s.recent.order.Len() == 0
	})
}

// TestConnectionRefusals: errors of requests on a connection, which goes on.
func TestConnectionRefusals(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true, InFlight: 1}})
	w, _ := dial(t, f.url, nil)
	for members, code := range map[string]string{
		`"input":3`:                                        "invalid_type",
		`"generate":"no","input":"x"`:                      "invalid_type",
		`"previous_response_id":7`:                         "invalid_type",
		`"previous_response_id":"resp_1"`:                  "previous_response_not_found",
		`"store":false,"previous_response_id":"resp_1"`:    "previous_response_not_found",
		`"conversation":"c","previous_response_id":"r"`:    "mutually_exclusive_parameters",
		`"input":[{"type":"item_reference","id":"msg_1"}]`: "invalid_value",
	} {
		w.ask(members)
		w.refused(code)
	}
	f.hold = make(chan struct{})
	w.ask(`"store":false,"stream_id":"a","input":"x"`)
	<-f.asked
	w.ask(`"store":false,"stream_id":"b","input":"x"`)
	w.refused("service_overloaded")
	close(f.hold)
	w.answer()
}

// TestConnectionMemory: a conversation that a connection remembers is held to the limits of one that is stored.
func TestConnectionMemory(t *testing.T) {
	f := start(t, Options{Sockets: socket.Limits{Pending: 1 << 20, AllPending: 1 << 20},
		Settings: Settings{WebSocket: true, BodyLimit: 3000,
			Memory: 2 * quota.Copies * 3000}}) // a frame is given back only after its answer
	w, _ := dial(t, f.url, nil)
	long := strings.Repeat("x", 2000)
	w.ask(`"store":false,"input":"` + long + `"`)
	one := w.answer()
	<-f.asked
	w.ask(`"store":false,"input":"` + long + `","previous_response_id":"` + one + `"`)
	two := w.answer()
	<-f.asked
	w.ask(`"store":false,"input":"x","previous_response_id":"` + two + `"`)
	w.refused("context_length_exceeded")
	f.hold = make(chan struct{})
	w.ask(`"store":false,"stream_id":"a","input":"` + long + `"`)
	<-f.asked
	w.ask(`"store":false,"stream_id":"b","input":"` + long + `"`)
	<-f.asked
	w.ask(`"store":false,"stream_id":"c","input":"` + long + `"`)
	w.refused("service_overloaded")
	close(f.hold)
	w.answer()
	w.answer()
	await(t, func() bool { return f.s.memory.InUse() == 0 && f.s.inFlight.InUse() == 0 })
}

// TestConnectionOfPage: a page may connect to its own host and where the configuration says so.
func TestConnectionOfPage(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true, Origins: []string{"https://page.example"}}})
	for _, tt := range []struct {
		origin, forwarded string
		status            int
	}{
		{"", "", 101}, {f.url, "", 101}, {"https://page.example", "", 101}, {"https://edge.example", "edge.example", 101},
		{"http://edge.example:8080", "evil.example,edge.example:8080", 101},
		{"https://evil.example", "", 403}, {"https://evil.example", "edge.example", 403},
		{"https://evil.example", "evil.example,edge.example", 403}, {f.url, "edge.example", 403},
		{"null", "", 403}, {"%", "", 403},
	} {
		header := http.Header{}
		if tt.origin != "" {
			header.Set("Origin", tt.origin)
		}
		if tt.forwarded != "" {
			header.Set("X-Forwarded-Host", tt.forwarded)
		}
		if _, status := dial(t, f.url, header); status != tt.status {
			t.Errorf("%+v: %d", tt, status)
		}
	}
	off := start(t, Options{})
	if _, status := dial(t, off.url, nil); status != 404 {
		t.Errorf("a service without WebSocket answers %d", status)
	}
}

// TestConnectionWithoutStore: what needs no store works while the store does not answer.
func TestConnectionWithoutStore(t *testing.T) {
	f := start(t, Options{Settings: Settings{WebSocket: true}})
	f.s.database.Store(nil)
	w, _ := dial(t, f.url, nil)
	w.ask(`"store":false,"input":"first"`)
	one := w.answer()
	w.ask(`"store":false,"input":"second","previous_response_id":"` + one + `"`)
	w.answer()
	w.ask(`"store":false,"input":"third","previous_response_id":"resp_1"`)
	w.refused("previous_response_not_found")
	w.ask(`"input":"third"`)
	w.refused("store_unavailable")
}

// TestServeDrains: a service that is stopped ends its responses, stores them, and closes the connections.
func TestServeDrains(t *testing.T) {
	f := start(t, Options{})
	f.hold = make(chan struct{})
	o := Options{Store: store.Options{URL: filepath.Join(t.TempDir(), "r.db")},
		Settings: Settings{WebSocket: true, Gateway: f.s.Settings().Gateway}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, time.Minute) }()
	<-s.Reached()
	w, _ := dial(t, "http://"+l.Addr().String(), nil)
	w.ask(`"input":"first"`)
	<-f.asked
	stop()
	<-s.draining
	close(f.hold)
	id := w.answer()
	if _, _, err := w.ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("got %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	st, err := store.Open(t.Context(), o.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if r, _, err := st.Get(t.Context(), store.TenantOf(""), id, nil); err != nil || r.Status != items.Completed {
		t.Errorf("%+v %v", r, err)
	}
}

// TestRecent: what is remembered is limited for each connection and for all, and what was used last is kept.
func TestRecent(t *testing.T) {
	const largest = 10_000
	const all = 64
	r := &recent{}
	r.set(largest, recentPart*all*largest)
	item := func(n int) []store.Item { return []store.Item{{ID: "i", Body: []byte(strings.Repeat("x", n))}} }
	newSession := func() *session { return &session{lanes: map[string]*remembered{}} }
	found := func(n *session, id string) bool {
		t.Helper()
		items, _, found := r.find(n, id)
		return found && len(items) > 0
	}
	one, two := newSession(), newSession()
	r.put(one, "", "a", item(9000))
	r.put(one, "l", "b", item(9000))
	if !found(one, "a") || !found(one, "b") || found(two, "a") {
		t.Error("a or b is not found, or by another connection")
	}
	r.put(one, "", "c", item(9000))
	if found(one, "a") || !found(one, "c") {
		t.Error("a is found, or c is not")
	}
	for i := range 3 { // b was used before c
		r.put(one, fmt.Sprint(i), fmt.Sprint(i), item(9000))
	}
	if found(one, "b") || !found(one, "c") || !found(one, "2") || one.bytes > recentPerSession*largest {
		t.Errorf("b is found, or c or 2 is not; %d bytes", one.bytes)
	}
	r.forget(one, "2", "another")
	r.forget(one, "another", "2")
	if !found(one, "2") {
		t.Error("2 is not found")
	}
	r.forget(one, "2", "2")
	if found(one, "2") {
		t.Error("2 is found")
	}
	// A conversation that is too large to be continued takes no room, and is no stranger.
	r.put(two, "", "large", item(largest+1))
	if items, size, is := r.find(two, "large"); !is || size <= largest || items != nil {
		t.Errorf("%v, %d bytes", is, size)
	}
	if two.bytes > itemOverhead {
		t.Errorf("it takes %d bytes", two.bytes)
	}
	many := make([]store.Item, recentPerSession*largest/itemOverhead)
	r.put(two, "", "many", many)
	if items, size, is := r.find(two, "many"); !is || size <= largest || items != nil {
		t.Errorf("%v, %d bytes", is, size)
	}
	// The connection that was not used for longest forgets first.
	var others []*session
	for range all {
		n := newSession()
		others = append(others, n)
		r.put(n, "", "x", item(9500))
	}
	if r.bytes > all*largest || found(one, "c") || !found(others[all-1], "x") {
		t.Errorf("%d bytes, or c is found, or the newest is not", r.bytes)
	}
	for _, n := range append(others, one, two) {
		r.drop(n)
		if n.bytes != 0 {
			t.Errorf("a session has %d bytes", n.bytes)
		}
	}
	if r.bytes != 0 || r.order.Len() != 0 {
		t.Errorf("%d bytes of %d responses are left", r.bytes, r.order.Len())
	}
}

var _ socket.Handler = (*session)(nil)
