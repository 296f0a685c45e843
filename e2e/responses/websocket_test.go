//go:build e2e

package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// onHosts runs a test on each host.
func onHosts(t *testing.T, test func(t *testing.T, host string)) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) { test(t, host) })
	}
}

// connection is a client's end of a connection.
type connection struct {
	g    *gateway
	ws   *websocket.Conn
	wire *net.TCPConn
}

// dial opens a connection as agents do.
func (g *gateway) dial() *connection {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), lab.Patience)
	defer cancel()
	c := &connection{g: g}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			c.wire = conn.(*net.TCPConn)
		}
		return conn, err
	}}
	ws, response, err := websocket.Dial(ctx, g.url+lab.ResponsesPath, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
		HTTPHeader: http.Header{"Authorization": {"Bearer key"}, "Openai-Beta": {"responses_websockets=2026-02-06"}},
		// Clients offer it. What the service makes of that is its own.
		CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		g.t.Fatalf("%v: %+v", err, response)
	}
	g.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(-1)
	c.ws = ws
	return c
}

// ask sends a request. members are of the request, beside its type and the model.
func (c *connection) ask(members string) {
	c.g.t.Helper()
	c.write(`{"type":"response.create","stream":true,"model":"` + lab.Model + `",` + members + `}`)
}

func (c *connection) write(frame string) {
	c.g.t.Helper()
	if err := c.ws.Write(c.g.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.g.t.Fatal(err)
	}
}

// wsFrame is what the tests read of a server's frame.
type wsFrame struct {
	Type, text string
	StreamID   string `json:"stream_id"`
	Status     int
	Response   *response
	Error      struct{ Type, Code, Message, Param string }
}

func (c *connection) read() wsFrame {
	c.g.t.Helper()
	ctx, cancel := context.WithTimeout(c.g.t.Context(), lab.Patience)
	defer cancel()
	kind, data, err := c.ws.Read(ctx)
	var f wsFrame
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil || kind != websocket.MessageText {
		c.g.t.Fatalf("%v: %v %s", err, kind, data)
	}
	f.text = string(data)
	return f
}

// answer reads the frames of one response, whose lane has this name, and checks their order.
func (c *connection) answer(lane string) *response {
	c.g.t.Helper()
	return c.answers(lane)[lane]
}

// answers reads the frames of responses on several lanes, one on each, in whichever order they come.
func (c *connection) answers(lanes ...string) map[string]*response {
	c.g.t.Helper()
	streams, ended := map[string]*bytes.Buffer{}, map[string]*response{}
	for _, lane := range lanes {
		streams[lane] = &bytes.Buffer{}
	}
	for len(ended) < len(lanes) {
		f := c.read()
		stream := streams[f.StreamID]
		if f.Type == "error" || stream == nil || ended[f.StreamID] != nil {
			c.g.t.Fatalf("got %s", f.text)
		}
		// As an event of a stream, without what only a connection's has.
		data := strings.Replace(f.text, `"stream_id":"`+f.StreamID+`",`, "", 1)
		stream.WriteString("event: " + f.Type + "\ndata: " + data + "\n\n")
		switch f.Type {
		case "response.completed", "response.incomplete", "response.failed":
			ended[f.StreamID] = f.Response
			if _, err := grammar.ReadResponses(stream.String(), false); err != nil {
				c.g.t.Errorf("%v", err)
			}
		}
	}
	return ended
}

// refused wants an error frame.
func (c *connection) refused(status int, code, lane string) wsFrame {
	c.g.t.Helper()
	f := c.read()
	if f.Type != "error" || f.Status != status || f.Error.Code != code || f.StreamID != lane || f.Error.Message == "" {
		c.g.t.Errorf("got %s, want %d %s", f.text, status, code)
	}
	return f
}

// closed wants the end of the connection.
func (c *connection) closed(code websocket.StatusCode) {
	c.g.t.Helper()
	ctx, cancel := context.WithTimeout(c.g.t.Context(), lab.Patience)
	defer cancel()
	if _, data, err := c.ws.Read(ctx); err == nil || websocket.CloseStatus(err) != code {
		c.g.t.Errorf("got %v %s, want %v", err, data, code)
	}
}

// prompt wants the newest prompt to have these parts in this order.
func (g *gateway) prompt(parts ...string) {
	g.t.Helper()
	prompt, at := g.lastPrompt(), 0
	for _, part := range parts {
		next := strings.Index(prompt[at:], part)
		if next < 0 {
			g.t.Errorf("the prompt has no %q behind the other parts: %s", part, prompt)
			return
		}
		at += next + len(part)
	}
}

// TestWebSocket has several turns on one connection: prewarmed, continued in memory and from the store, refused, and
// after a reconnect.
func TestWebSocket(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, Script: answers()})
		c := g.dial()
		// Prewarmed: the model is not asked.
		c.ask(`"generate":false,"store":false,"instructions":"Be brief.","input":[]`)
		warm := c.answer("")
		if warm.Status != "completed" || len(warm.Output) != 0 || warm.Usage == nil || len(g.prompts()) != 0 {
			t.Errorf("%+v, %d prompts", warm, len(g.prompts()))
		}
		c.ask(`"store":false,"background":true,"input":"first question","previous_response_id":"` + warm.ID + `"`)
		one := c.answer("")
		if one.text() != "answer one" || one.Store || one.Background || *one.PreviousResponseID != warm.ID {
			t.Errorf("%+v", one)
		}
		c.write(`{"type":"response.processed","response_id":"` + one.ID + `"}`)
		c.ask(`"store":false,"input":[{"role":"user","content":"second question"}],"previous_response_id":"` + one.ID + `"`)
		two := c.answer("")
		if two.text() != "answer two" || *two.PreviousResponseID != one.ID {
			t.Errorf("%+v", two)
		}
		g.prompt("first question", "answer one", "second question")
		// Only the newest response of a lane is remembered.
		c.ask(`"store":false,"input":"x","previous_response_id":"` + one.ID + `"`)
		if f := c.refused(400, "previous_response_not_found", ""); f.Error.Param != "previous_response_id" ||
			f.Error.Type != "invalid_request_error" {
			t.Errorf("got %s", f.text)
		}
		// What only the connection has is stored with what continues it.
		c.ask(`"input":"third question","previous_response_id":"` + two.ID + `"`)
		three := c.answer("")
		if !three.Store || three.text() != "answer three" {
			t.Errorf("%+v", three)
		}
		g.prompt("first question", "answer one", "second question", "answer two", "third question")
		l := &list{}
		g.object("ResponseItemList", g.do("GET", "responses/"+three.ID+"/input_items?order=asc", "", 200), l)
		if l.texts() != "first question|thought one|answer one|second question|thought two|answer two|third question" {
			t.Errorf("%s", l.texts())
		}
		g.refused("GET", "responses/"+two.ID, "", 404, "")
		// After a reconnect what is stored is there, and the rest is not.
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
		c = g.dial()
		c.ask(`"input":"x","previous_response_id":"` + two.ID + `"`)
		c.refused(400, "previous_response_not_found", "")
		c.ask(`"store":false,"input":"first question","previous_response_id":"` + three.ID + `"`)
		four := c.answer("")
		g.prompt("third question", "answer three", "first question")
		c.ask(`"store":false,"input":"second question","previous_response_id":"` + four.ID + `"`)
		five := c.answer("")
		g.prompt("answer three", "first question", "answer three", "second question")
		// A continuation that is refused forgets what it continues.
		c.ask(`"store":false,"input":"x","temperature":9,"previous_response_id":"` + five.ID + `"`)
		c.refused(400, "invalid_value", "")
		c.ask(`"store":false,"input":"x","previous_response_id":"` + five.ID + `"`)
		c.refused(400, "previous_response_not_found", "")
		// Errors of the gateway's and of the service's own, and a client that goes on.
		c.write(`{"type":"response.create","model":"none","input":"x"}`)
		c.refused(404, "model_not_found", "")
		c.write(`{"type":"response.create","generate":false,"model":"none","input":"x"}`)
		c.refused(404, "model_not_found", "")
		c.ask(`"input":"x","conversation":"conv_1"`)
		c.refused(404, "", "")
		c.ask(`"input":"first question","stream_id":"a b"`)
		c.refused(400, "invalid_stream_id", "")
		c.ask(`"input":"first question"`)
		if r := c.answer(""); r.text() != "answer one" {
			t.Errorf("%+v", r)
		}
	})
}

// TestWebSocketHidden continues calls whose reasoning the client does not see. Without a store, the connection has it.
func TestWebSocketHidden(t *testing.T) {
	script := sim.NewScript(
		sim.Line{Match: "the output", Tokens: lab.Tokens("<|channel|>final<|message|>the answer<|return|>")},
		sim.Line{Match: "first question", Tokens: lab.Tokens("<|channel|>analysis<|message|>a secret thought<|end|>" +
			"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>")})
	g := startWith(t, []string{"HARMONY_SEAL_KEYS=" + lab.SealKey}, "wazero", "", "",
		sim.Options{Keep: 100, Script: script}, "answers: {hide_reasoning: true}")
	c := g.dial()
	const tools = `"store":false,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],`
	c.ask(tools + `"input":"first question"`)
	one := c.answer("")
	var call string
	for _, i := range one.Output {
		if i.EncryptedContent != "" || i.Type == "reasoning" && len(i.Content) > 0 {
			t.Errorf("the client gets the reasoning: %+v", i)
		}
		if i.Type == "function_call" {
			call = i.CallID
		}
	}
	c.ask(tools + `"previous_response_id":"` + one.ID + `","input":[{"type":"function_call_output","call_id":"` + call +
		`","output":"the output"}]`)
	if two := c.answer(""); two.text() != "the answer" {
		t.Errorf("%+v", two)
	}
	g.prompt("first question", "a secret thought", "the output")
}

// TestWebSocketCompaction compacts a conversation that only the connection has, and goes on from what is left of it.
func TestWebSocketCompaction(t *testing.T) {
	g := start(t, "wazero", "", "", sim.Options{Keep: 100, Script: answers()})
	c := g.dial()
	c.ask(`"store":false,"input":"first question, ` + strings.Repeat("long ", 2000) + `"`)
	one := c.answer("")
	c.ask(`"store":false,"input":"second question","previous_response_id":"` + one.ID + `",` +
		`"context_management":[{"type":"compaction","compact_threshold":1000}]`)
	two := c.answer("")
	if len(two.Output) == 0 || two.Output[0].Type != "compaction" {
		t.Fatalf("%+v", two)
	}
	c.ask(`"store":false,"input":"third question","previous_response_id":"` + two.ID + `"`)
	c.answer("")
	g.prompt("Summary of the conversation so far", "second question", "third question")
	if strings.Contains(g.lastPrompt(), "long long") {
		t.Error("the prompt has what was compacted")
	}
}

// TestWebSocketLanes makes two responses at once on one connection, and one after the other on a lane of it.
func TestWebSocketLanes(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
		c := g.dial()
		c.ask(`"store":false,"stream_id":"a","input":"first question"`)
		c.ask(`"store":false,"input":"second question"`)
		c.ask(`"store":false,"stream_id":"b","input":"third question"`)
		g.asked(3) // none of them has ended
		g.sim.Release()
		got := c.answers("a", "", "b")
		if got["a"].text() != "answer one" || got[""].text() != "answer two" || got["b"].text() != "answer three" {
			t.Errorf("got %+v", got)
		}
		// A lane continues another one's response, and that one goes on too.
		c.ask(`"store":false,"stream_id":"c","input":"second question","previous_response_id":"` + got["a"].ID + `"`)
		c.answer("c")
		g.prompt("first question", "answer one", "second question")
		c.ask(`"store":false,"stream_id":"a","input":"third question","previous_response_id":"` + got["a"].ID + `"`)
		c.answer("a")
		g.prompt("first question", "answer one", "third question")
	})
}

// TestWebSocketLeft: a response is cancelled when its client leaves, however it does.
func TestWebSocketLeft(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		for name, leave := range map[string]func(*connection){
			"closed":      func(c *connection) { _ = c.ws.Close(websocket.StatusNormalClosure, "") },
			"lost":        func(c *connection) { _ = c.ws.CloseNow() },
			"half-closed": func(c *connection) { _ = c.wire.CloseWrite() },
		} {
			t.Run(name, func(t *testing.T) {
				g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
				c := g.dial()
				c.ask(`"input":"first question"`)
				id := c.read().Response.ID
				leave(c)
				for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
					if a := lab.Do(g.client, "GET", g.url+"/v1/responses/"+id, nil, nil); a.Status == 200 {
						if !strings.Contains(a.Body, `"status":"cancelled"`) {
							t.Errorf("got %s", a.Body)
						}
						return
					} else if time.Now().After(end) {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
				}
			})
		}
	})
}

// TestWebSocketIdle: the service asks a client that says nothing whether it is there. With HARMONY_RESPONSES_ALL
// nothing happens for longer than a stream without an upgrade may last, 31 s where servers may be silent for one.
func TestWebSocketIdle(t *testing.T) {
	awaited := 1
	if os.Getenv("HARMONY_RESPONSES_ALL") != "" {
		awaited = 2
	}
	onHosts(t, func(t *testing.T, host string) {
		t.Parallel()
		g := start(t, host, "", "stall_timeout: 1s", sim.Options{Keep: 100, Script: answers()})
		pings := make(chan struct{}, 10)
		ws, _, err := websocket.Dial(t.Context(), g.url+lab.ResponsesPath, &websocket.DialOptions{
			OnPingReceived: func(context.Context, []byte) bool {
				pings <- struct{}{}
				return true
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ws.CloseNow() })
		c, done := &connection{g: g, ws: ws}, make(chan *response)
		go func() { done <- c.answer("") }()
		for range awaited { // one comes every 20 s
			select {
			case <-pings:
			case <-time.After(lab.Patience):
				t.Fatal("no ping comes")
			}
		}
		c.ask(`"input":"first question"`)
		if r := <-done; r.text() != "answer one" {
			t.Errorf("%+v", r)
		}
	})
}

// TestWebSocketFlood: what a client must not send ends its connection only.
func TestWebSocketFlood(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
		large, binary, flood, other := g.dial(), g.dial(), g.dial(), g.dial()
		large.write(`{"type":"response.create","input":"` + strings.Repeat("x", contract.DefaultBodyLimit) + `"}`)
		large.closed(websocket.StatusMessageTooBig)
		if err := binary.ws.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		binary.closed(websocket.StatusUnsupportedData)
		// 16 are made at once, 64 wait, and 256 others in a row are refused.
		for i := range 16 {
			flood.ask(`"store":false,"stream_id":"lane` + string(rune('a'+i)) + `","input":"first question"`)
		}
		g.asked(16)
		for range 64 + 257 {
			flood.ask(`"store":false,"stream_id":"laneq","input":"first question"`)
		}
		refused := 0
		for {
			_, data, err := flood.ws.Read(t.Context())
			if err != nil {
				if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
					t.Errorf("got %v", err)
				}
				break
			}
			if strings.Contains(string(data), "websocket_queue_limit_reached") {
				refused++
			}
		}
		if refused != 257 || len(g.prompts()) != 16 {
			t.Errorf("%d were refused, %d have reached the model", refused, len(g.prompts()))
		}
		g.sim.Release()
		other.ask(`"input":"second question"`)
		if r := other.answer(""); r.text() != "answer two" {
			t.Errorf("%+v", r)
		}
	})
}

// TestWebSocketStop: a program that is stopped makes what was asked for, and then closes the connections.
func TestWebSocketStop(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := startArgs(t, []string{storeKeys}, []string{"--drain-time", "1m"}, host, "", "",
			sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
		quiet, c := g.dial(), g.dial()
		c.ask(`"input":"first question"`)
		g.asked(1)
		if err := g.program.Cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		quiet.closed(websocket.StatusServiceRestart)
		g.sim.Release()
		if r := c.answer(""); r.text() != "answer one" || r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		c.closed(websocket.StatusServiceRestart)
	})
}

// TestWebSocketRefused: what may not connect is told so before the upgrade.
func TestWebSocketRefused(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g, off := start(t, host, "", "", sim.Options{}), start(t, host, "", "  websocket: false", sim.Options{})
		for _, tt := range []struct {
			g      *gateway
			path   string
			header http.Header
			status int
			code   string
		}{
			{g, "responses", http.Header{contract.ServiceHeader: {contract.ServiceDeclined}}, 426, "websocket_not_supported"},
			{g, "responses/resp_1", nil, 426, "websocket_not_supported"},
			{g, "chat/completions", nil, 426, "websocket_not_supported"},
			{g, "realtime", nil, 426, "websocket_not_supported"},
			{g, "responses", http.Header{"Origin": {"http://evil.example"}}, 403, "invalid_request"},
			{off, "responses", nil, 426, "websocket_not_supported"},
		} {
			_, response, err := websocket.Dial(t.Context(), tt.g.url+"/v1/"+tt.path, &websocket.DialOptions{HTTPHeader: tt.header})
			if err == nil || response == nil || response.StatusCode != tt.status {
				t.Errorf("%+v: %v, %+v", tt, err, response)
				continue
			}
			var body bytes.Buffer
			_, _ = body.ReadFrom(response.Body) // the client has read only its beginning
			if !strings.Contains(body.String(), `"code":"`+tt.code+`"`) {
				t.Errorf("%+v: %s", tt, &body)
			}
		}
		// A page of the gateway's own host may.
		ws, _, err := websocket.Dial(t.Context(), g.url+"/v1/responses", &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {g.url}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = ws.CloseNow()
	})
}
