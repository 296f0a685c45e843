//go:build e2e

package responses

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// onHosts runs a test on each host.
func onHosts(t *testing.T, test func(t *testing.T, host string)) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) { test(t, host) })
	}
}

// TestWebSocket has several turns on one connection: prewarmed, continued in memory and from the store, refused, and
// after a reconnect.
func TestWebSocket(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, Script: answers()})
		c := g.Dial()
		// Prewarmed: the model is not asked.
		c.Ask(`"generate":false,"store":false,"instructions":"Be brief.","input":[]`)
		warm := c.Answer("")
		if warm.Status != "completed" || len(warm.Output) != 0 || warm.Usage == nil || len(g.Prompts()) != 0 {
			t.Errorf("%+v, %d prompts", warm, len(g.Prompts()))
		}
		c.Ask(`"store":false,"background":true,"input":"first question","previous_response_id":"` + warm.ID + `"`)
		one := c.Answer("")
		if one.Text() != "answer one" || one.Store || one.Background || *one.PreviousResponseID != warm.ID {
			t.Errorf("%+v", one)
		}
		c.Write(`{"type":"response.processed","response_id":"` + one.ID + `"}`)
		c.Ask(`"store":false,"input":[{"role":"user","content":"second question"}],"previous_response_id":"` + one.ID + `"`)
		two := c.Answer("")
		if two.Text() != "answer two" || *two.PreviousResponseID != one.ID {
			t.Errorf("%+v", two)
		}
		g.InOrder("first question", "answer one", "second question")
		// Only the newest response of a lane is remembered.
		c.Ask(`"store":false,"input":"x","previous_response_id":"` + one.ID + `"`)
		if f := c.Refused(400, "previous_response_not_found", ""); f.Error.Param != "previous_response_id" ||
			f.Error.Type != "invalid_request_error" {
			t.Errorf("got %s", f.Text)
		}
		// A response that only the connection has is stored with the one that continues it.
		c.Ask(`"input":"third question","previous_response_id":"` + two.ID + `"`)
		three := c.Answer("")
		if !three.Store || three.Text() != "answer three" {
			t.Errorf("%+v", three)
		}
		g.InOrder("first question", "answer one", "second question", "answer two", "third question")
		l := &list{}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+three.ID+"/input_items?order=asc", "", 200), l)
		if l.Texts() != "first question|thought one|answer one|second question|thought two|answer two|third question" {
			t.Errorf("%s", l.Texts())
		}
		g.Refused("GET", "responses/"+two.ID, "", 404, "")
		// After a reconnect what is stored is there, and the rest is not.
		_ = c.WS.Close(websocket.StatusNormalClosure, "")
		c = g.Dial()
		c.Ask(`"input":"x","previous_response_id":"` + two.ID + `"`)
		c.Refused(400, "previous_response_not_found", "")
		c.Ask(`"store":false,"input":"first question","previous_response_id":"` + three.ID + `"`)
		four := c.Answer("")
		g.InOrder("third question", "answer three", "first question")
		c.Ask(`"store":false,"input":"second question","previous_response_id":"` + four.ID + `"`)
		five := c.Answer("")
		g.InOrder("answer three", "first question", "answer three", "second question")
		// A continuation that is refused forgets what it continues.
		c.Ask(`"store":false,"input":"x","temperature":9,"previous_response_id":"` + five.ID + `"`)
		c.Refused(400, "invalid_value", "")
		c.Ask(`"store":false,"input":"x","previous_response_id":"` + five.ID + `"`)
		c.Refused(400, "previous_response_not_found", "")
		// Errors of the gateway's and of the service's own, and a client that goes on.
		c.Write(`{"type":"response.create","model":"none","input":"x"}`)
		c.Refused(404, "model_not_found", "")
		c.Write(`{"type":"response.create","generate":false,"model":"none","input":"x"}`)
		c.Refused(404, "model_not_found", "")
		c.Ask(`"input":"x","conversation":"conv_1"`)
		c.Refused(404, "", "")
		c.Ask(`"input":"first question","stream_id":"a b"`)
		c.Refused(400, "invalid_stream_id", "")
		c.Ask(`"input":"first question"`)
		if r := c.Answer(""); r.Text() != "answer one" {
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
	g := service.Start(t, service.Options{Host: "wazero", Environment: []string{"HARMONY_SEAL_KEYS=" + lab.SealKey},
		ModelSettings: []string{"answers: {hide_reasoning: true}"}, Sim: sim.Options{Keep: 100, Script: script}})
	c := g.Dial()
	const tools = `"store":false,"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],`
	c.Ask(tools + `"input":"first question"`)
	one := c.Answer("")
	var call string
	for _, i := range one.Output {
		if i.EncryptedContent != "" || i.Type == "reasoning" && len(i.Content) > 0 {
			t.Errorf("the client gets the reasoning: %+v", i)
		}
		if i.Type == "function_call" {
			call = i.CallID
		}
	}
	c.Ask(tools + `"previous_response_id":"` + one.ID + `","input":[{"type":"function_call_output","call_id":"` + call +
		`","output":"the output"}]`)
	if two := c.Answer(""); two.Text() != "the answer" {
		t.Errorf("%+v", two)
	}
	g.InOrder("first question", "a secret thought", "the output")
}

// TestWebSocketCompaction compacts a conversation that only the connection has, and goes on from what is left of it.
func TestWebSocketCompaction(t *testing.T) {
	g := start(t, "wazero", "", "", sim.Options{Keep: 100, Script: answers()})
	c := g.Dial()
	c.Ask(`"store":false,"input":"first question, ` + strings.Repeat("long ", 2000) + `"`)
	one := c.Answer("")
	c.Ask(`"store":false,"input":"second question","previous_response_id":"` + one.ID + `",` +
		`"context_management":[{"type":"compaction","compact_threshold":1000}]`)
	two := c.Answer("")
	if len(two.Output) == 0 || two.Output[0].Type != "compaction" {
		t.Fatalf("%+v", two)
	}
	c.Ask(`"store":false,"input":"third question","previous_response_id":"` + two.ID + `"`)
	c.Answer("")
	g.InOrder("Summary of the conversation so far", "second question", "third question")
	if strings.Contains(g.LastPrompt(), "long long") {
		t.Error("the prompt has what was compacted")
	}
}

// TestWebSocketLanes makes two responses at once on one connection, and one after the other on a lane of it.
func TestWebSocketLanes(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
		c := g.Dial()
		c.Ask(`"store":false,"stream_id":"a","input":"first question"`)
		c.Ask(`"store":false,"input":"second question"`)
		c.Ask(`"store":false,"stream_id":"b","input":"third question"`)
		g.Asked(3) // none of them has ended
		g.Sim.Release()
		got := c.Answers("a", "", "b")
		if got["a"].Text() != "answer one" || got[""].Text() != "answer two" || got["b"].Text() != "answer three" {
			t.Errorf("got %+v", got)
		}
		// A lane continues another one's response, and that one goes on too.
		c.Ask(`"store":false,"stream_id":"c","input":"second question","previous_response_id":"` + got["a"].ID + `"`)
		c.Answer("c")
		g.InOrder("first question", "answer one", "second question")
		c.Ask(`"store":false,"stream_id":"a","input":"third question","previous_response_id":"` + got["a"].ID + `"`)
		c.Answer("a")
		g.InOrder("first question", "answer one", "third question")
	})
}

// TestWebSocketLeft: a response is cancelled when its client leaves, however it does.
func TestWebSocketLeft(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		for name, leave := range map[string]func(*service.Connection){
			"closed":      func(c *service.Connection) { _ = c.WS.Close(websocket.StatusNormalClosure, "") },
			"lost":        func(c *service.Connection) { _ = c.WS.CloseNow() },
			"half-closed": func(c *service.Connection) { _ = c.Wire.CloseWrite() },
		} {
			t.Run(name, func(t *testing.T) {
				g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
				c := g.Dial()
				c.Ask(`"input":"first question"`)
				id := c.Read().Response.ID
				leave(c)
				for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
					if a := lab.Do(g.Client, "GET", g.URL+"/v1/responses/"+id, nil, nil); a.Status == 200 {
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
		ws, _, err := websocket.Dial(t.Context(), g.URL+lab.ResponsesPath, &websocket.DialOptions{
			OnPingReceived: func(context.Context, []byte) bool {
				pings <- struct{}{}
				return true
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ws.CloseNow() })
		c, done := g.Over(ws), make(chan *response)
		go func() { done <- c.Answer("") }()
		for range awaited { // one comes every 20 s
			select {
			case <-pings:
			case <-time.After(lab.Patience):
				t.Fatal("no ping comes")
			}
		}
		c.Ask(`"input":"first question"`)
		if r := <-done; r.Text() != "answer one" {
			t.Errorf("%+v", r)
		}
	})
}

// TestWebSocketFlood: what a client must not send ends its connection only.
func TestWebSocketFlood(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := start(t, host, "", "", sim.Options{Keep: 100, HoldAfter: 3, Script: answers()})
		large, binary, flood, other := g.Dial(), g.Dial(), g.Dial(), g.Dial()
		large.Write(`{"type":"response.create","input":"` + strings.Repeat("x", contract.DefaultBodyLimit) + `"}`)
		large.Closed(websocket.StatusMessageTooBig)
		if err := binary.WS.Write(t.Context(), websocket.MessageBinary, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		binary.Closed(websocket.StatusUnsupportedData)
		// 16 are made at once, 64 wait, and 256 others in a row are refused.
		for i := range 16 {
			flood.Ask(`"store":false,"stream_id":"lane` + string(rune('a'+i)) + `","input":"first question"`)
		}
		g.Asked(16)
		for range 64 + 257 {
			flood.Ask(`"store":false,"stream_id":"laneq","input":"first question"`)
		}
		refused := 0
		for {
			_, data, err := flood.WS.Read(t.Context())
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
		if refused != 257 || len(g.Prompts()) != 16 {
			t.Errorf("%d were refused, %d have reached the model", refused, len(g.Prompts()))
		}
		g.Sim.Release()
		other.Ask(`"input":"second question"`)
		if r := other.Answer(""); r.Text() != "answer two" {
			t.Errorf("%+v", r)
		}
	})
}

// TestWebSocketStop: a program that is stopped makes what was asked for, and then closes the connections.
func TestWebSocketStop(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		g := service.Start(t, service.Options{Host: host, Arguments: []string{"--drain-time", "1m"},
			Sim: sim.Options{Keep: 100, HoldAfter: 3, Script: answers()}})
		quiet, c := g.Dial(), g.Dial()
		c.Ask(`"input":"first question"`)
		g.Asked(1)
		if err := g.Program.Cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		quiet.Closed(websocket.StatusServiceRestart)
		g.Sim.Release()
		if r := c.Answer(""); r.Text() != "answer one" || r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		c.Closed(websocket.StatusServiceRestart)
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
			_, response, err := websocket.Dial(t.Context(), tt.g.URL+"/v1/"+tt.path, &websocket.DialOptions{HTTPHeader: tt.header})
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
		ws, _, err := websocket.Dial(t.Context(), g.URL+"/v1/responses", &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {g.URL}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = ws.CloseNow()
	})
}
