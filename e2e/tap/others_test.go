//go:build e2e

package tap

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestErrors: an answer that the gateway or the proxy makes itself is shown as such, and as the client got it.
func TestErrors(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, url := runServer(t)
		r := runRecorder(t)
		c := tappedModel(url, r.URL, "")
		lab.AddModel(c, "gone", deadURL(t))
		h := run(t, c)
		client := lab.HTTP1(t)
		chat := streamed(lab.ChatBody(lab.Model, "Hi"))
		for _, tt := range []struct {
			name, path, body, fault string
			status                  int
			local                   bool
			order                   string
		}{
			{"not JSON", lab.ChatPath, `{`, "", 400, true, "RBAaE"},
			{"no such model", lab.ChatPath, lab.ChatBody("x", "Hi"), "", 404, true, "RBAaE"},
			{"no body", lab.ResponsesPath, ``, "", 400, true, "RAaE"},
			{"too large", lab.ChatPath, strings.Repeat(" ", 1<<20) + chat, "", 413, true, "RBAaE"},
			{"no server", lab.ChatPath, lab.ChatBody("gone", "Hi"), "", 503, true, "RBSbHcpE"},
			{"the server refuses", lab.ChatPath, chat, "status:500", 500, false, "RBSbHcAaE"},
			{"the server ends", lab.ChatPath, chat, "drop", 503, true, "RBSbHcpE"},
			{"an error in the place of an answer", lab.ChatPath, chat, "error-200-json", 500, false, "RBSbHcAaE"},
			{"an error event", lab.ChatPath, chat, "error-event:0", 500, true, "RBSbHcAaE"},
		} {
			a := ask(client, h, tt.path, tt.body, key, "X-Sim-Fault", tt.fault)
			x := r.next()
			heads := append(x.head, x.answerHead...)
			if a.Status != tt.status || a.Err != nil || x.answer != a.Body || len(heads) == 0 {
				t.Errorf("%s: the client got %+v, the recorder %q after %+v", tt.name, a, x.answer, heads)
				continue
			}
			if head := heads[len(heads)-1]; head.Status != tt.status || head.Local != tt.local ||
				head.ContentType != "application/json" || x.end.Status != tt.status {
				t.Errorf("%s: the answer begins with %+v, the end is %+v", tt.name, head, x.end)
			}
			if got := x.order(); got != tt.order {
				t.Errorf("%s: the frames are %s, want %s", tt.name, got, tt.order)
			}
			if x.body != tt.body || x.end.LostFrames > 0 {
				t.Errorf("%s: %d bytes of %d of the body, %d frames lost", tt.name, len(x.body), len(tt.body), x.end.LostFrames)
			}
		}
	})
}

// TestCuts: streams that end in the middle have an end, which says what ended them, and the recorder has all that the
// client got.
func TestCuts(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, url := runServer(t)
		r := runRecorder(t)
		c := tappedModel(url, r.URL, contract.TapEverything)
		c.StallTimeout = config.Duration(lab.StallTimeout)
		h := run(t, c)
		client := lab.HTTP1(t)
		body := streamed(lab.ChatBody(lab.Model, "Hi"))
		for fault, cause := range map[string]string{"close:5": "server", "reset:5": "server", "stall:5": "stall"} {
			a := ask(client, h, lab.ChatPath, body, "", "X-Sim-Fault", fault)
			x := r.next()
			if a.Err == nil || x.end.Cut != cause || !strings.HasPrefix(x.answer, a.Body) || x.answer == "" {
				t.Errorf("%s: the end is %+v; the client got %q (%v), the recorder %q", fault, x.end, a.Body, a.Err, x.answer)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+lab.ChatPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Sim-Fault", "stall:5")
		response, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := response.Body.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		leave()
		if x := r.next(); x.end.Cut != "client" || x.answer == "" {
			t.Errorf("the client has left, and the end is %+v", x.end)
		}
	})
}

// TestPassed: what passes is shown too: a conversation for servers that take such, and what is for another server.
func TestPassed(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		chat, url := lab.RunSim(t, sim.Options{Kind: "chat", Models: []string{"qwen"},
			Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(answer)})})
		var got []string
		long := strings.Repeat("long text ", 50_000)
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			got = append(got, string(body), q.Header.Get(tap.KeyHeader))
			_, _ = io.WriteString(w, long)
		}))
		t.Cleanup(other.Close)
		r := runRecorder(t)
		c := lab.OneModel(deadURL(t))
		c.Tap.URL, c.Passthrough = r.URL, other.URL
		c.Models = append(c.Models, config.DefaultModel("qwen", "chat="+url))
		h := run(t, c)
		client := lab.HTTP1(t)

		for _, body := range []string{lab.ChatBody("qwen", "Hi"), streamed(lab.ChatBody("qwen", "Hi"))} {
			a := ask(client, h, lab.ChatPath, body, key)
			x := r.next()
			requests := chat.Requests()
			if a.Status != 200 || x.answer != a.Body || x.answer != x.chunks || x.passed != 0 || x.body != body ||
				x.sentBody != string(requests[len(requests)-1].Body) || len(x.sent) != 1 || x.sent[0].Server != "chat" ||
				!x.sent[0].Translated || x.end.Finish != "stop" {
				t.Errorf("%s: %+v: %+v", body, a, x)
			}
		}
		for _, body := range []string{lab.ChatBody("other", "Hi"), lab.ChatBody("other", long[:100_000])} {
			a := ask(client, h, lab.ChatPath, body, key)
			x := r.next()
			if a.Body != long || x.answer != long || x.passed == 0 || x.body != body || len(x.sent) != 1 ||
				x.sent[0] != (tap.SentHead{API: "chat"}) || x.sentBody != "" || x.end.LostFrames != 0 || x.end.FirstTokenMS != -1 {
				t.Errorf("%d bytes: %d bytes, %d chunks, %+v, %+v", len(body), len(a.Body), x.passed, x.sent, x.end)
			}
			if got[len(got)-2] != body || got[len(got)-1] != "" {
				t.Errorf("the server got %.100q and the header %q", got[len(got)-2], got[len(got)-1])
			}
		}
		// A request that the gateway does not handle is not tapped, and its server does not get the key either.
		if a := ask(client, h, "/v1/embeddings", `{"input":"Hi"}`, key); a.Body != long || got[len(got)-1] != "" {
			t.Errorf("%.100s; the server got %q", a.Body, got[len(got)-1])
		}
		a := ask(client, h, lab.ChatPath, lab.ChatBody("other", "last"), key)
		if x := r.next(); a.Status != 200 || x.body != lab.ChatBody("other", "last") {
			t.Errorf("%.200s: %+v", a.Body, x.request)
		}
	})
}

// TestUpgrade: of a connection that changes its protocol only the beginning and the end are shown.
func TestUpgrade(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		var shown string
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			shown = q.Header.Get(tap.KeyHeader)
			ws, err := websocket.Accept(w, q, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.CloseNow()
			kind, text, err := ws.Read(q.Context())
			if err == nil {
				err = ws.Write(q.Context(), kind, text)
			}
			if err != nil {
				t.Error(err)
			}
			_, _, _ = ws.Read(q.Context()) // until the client closes
		}))
		t.Cleanup(service.Close)
		_, url := runServer(t)
		r := runRecorder(t)
		c := tappedModel(url, r.URL, "")
		yes := true
		c.ResponsesService.URL, c.ResponsesService.WebSocket = service.URL, &yes
		h := run(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
		defer cancel()
		ws, _, err := websocket.Dial(ctx, h.URL+lab.ResponsesPath, &websocket.DialOptions{
			HTTPHeader: http.Header{tap.KeyHeader: {key}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(ctx, websocket.MessageText, []byte("kanarienvogel")); err != nil {
			t.Fatal(err)
		}
		if _, text, err := ws.Read(ctx); err != nil || string(text) != "kanarienvogel" {
			t.Fatalf("%q, %v", text, err)
		}
		// The recorder knows of the connection while it is open.
		r.wait("the beginning", func() bool {
			for _, x := range r.open {
				return x.order() == "RSH"
			}
			return false
		})
		_ = ws.Close(websocket.StatusNormalClosure, "")
		x := r.next()
		if o := x.order(); o != "RSHE" || shown != "" || len(x.head) != 1 || x.head[0].Status != 101 ||
			strings.Contains(string(r.bodies), "kanarienvogel") {
			t.Errorf("the frames are %s, %+v; the service got %q", o, x.head, shown)
		}
	})
}

// TestLive: frames come while the request runs, within a moment.
func TestLive(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, url := runServer(t)
		r := runRecorder(t)
		h := run(t, tappedModel(url, r.URL, ""))
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+lab.ChatPath,
			strings.NewReader(streamed(lab.ChatBody(lab.Model, "Hi"))))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Sim-Fault", "stall:5")
		q.Header.Set(tap.KeyHeader, key)
		response, err := lab.HTTP1(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		began := time.Now()
		r.wait("the first tokens", func() bool {
			for _, x := range r.open {
				return x.answer != ""
			}
			return false
		})
		t.Logf("the first tokens were with the recorder %s after the client had the headers", time.Since(began))
		leave()
		r.next()
	})
}
