package pools

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// watchEngine returns a Watcher with one server, which must serve m and does not answer yet, that server, and the log.
func watchEngine(t *testing.T) (*Watcher, *fakeEngine, *logLines) {
	t.Helper()
	engine := newEngine(t)
	engine.set(replies(500, ""))
	w, log := watcher(t, nil)
	must(
		t, w.Set([]Pool{{Name: "p", Servers: []config.Endpoint{engine.endpoint(t)}, Models: []string{"m"},
			Authorization: "Bearer secret"}}))
	return w, engine, log
}

// await waits until the pool's only server has this state and this reason.
func await(t *testing.T, w *Watcher, state State, reason string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s %q", state, reason), func() bool {
		s := server(t, w)
		return s.State == state && s.Reason == reason
	})
}

// TestAPIPath checks that a server whose API has another path is asked there.
func TestAPIPath(t *testing.T) {
	hosted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openai/v1/models" {
			http.NotFound(w, r)
			return
		}
		listsModels("m")(w, r)
	}))
	t.Cleanup(hosted.Close)
	w, _ := watcher(t, nil)
	pool := Pool{Name: "p", Servers: []config.Endpoint{endpoint(t, hosted.URL)}, Models: []string{"m"}, APIPath: "/openai"}
	must(t, w.Set([]Pool{pool}))
	await(t, w, Unknown, "answers 404 to GET /openai/models")
	pool.APIPath = "/openai/v1"
	must(t, w.Set([]Pool{pool}))
	await(t, w, Ready, "")
}

// TestProbeAnswers checks that only a list of models makes an unknown server ready or not ready.
func TestProbeAnswers(t *testing.T) {
	const notAList = "does not answer GET /v1/models with a list of models"
	for _, c := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		state  State
		reason string
	}{
		{listsModels("m"), Ready, ""},
		{listsModels("a", "m"), Ready, ""},
		{replies(200, `{"data":[{"id":"m","max_model_len":1}],"object":"list"}`), Ready, ""},
		{listsModels(), NotReady, `does not serve "m"; it serves nothing`},
		{listsModels("M", "m ", "org/m"), NotReady, `does not serve "m"; it serves "M", "m ", "org/m"`},
		{listsModels("a\n", "b", "c", "d", "e", "f"), NotReady,
			`does not serve "m"; it serves "a\n", "b", "c", "d" and 2 more`},
		{listsModels(strings.Repeat("x", 200)), NotReady,
			`does not serve "m"; it serves "` + strings.Repeat("x", 96) + `…"`},
		{replies(200, `{}`), Unknown, notAList},
		{replies(200, `{"data":null}`), Unknown, notAList},
		{replies(200, `{"data":[{"id":5}]}`), Unknown, notAList},
		{replies(200, `[]`), Unknown, notAList},
		{replies(200, `{"data":[]} and more`), Unknown, notAList},
		{replies(200, ""), Unknown, notAList},
		{replies(200, `{"data":[]}`+strings.Repeat(" ", maxAnswer)), Unknown, "answers more than 1 MiB to GET /v1/models"},
		{replies(401, `{"data":[]}`), Unknown, "answers 401 to GET /v1/models"},
		{replies(404, `{"data":[]}`), Unknown, "answers 404 to GET /v1/models"},
		{replies(503, `{"data":[]}`), Unknown, "answers 503 to GET /v1/models"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, Unknown,
			"answers 302 to GET /v1/models"},
		{repliesRaw(""), Unknown, "it closes the connection without an answer"},
		{repliesRaw("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"data\":[]"), Unknown,
			"it closes the connection without an answer"},
		{repliesRaw("SSH-2.0-secret\r\n"), Unknown, "it answers, but not in HTTP"},
		{repliesRaw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), Unknown, "it answers, but not in HTTP"},
	} {
		engine := newEngine(t)
		engine.set(c.answer)
		w, log := watcher(t, nil)
		must(t, w.Set([]Pool{{Name: "p", Servers: []config.Endpoint{engine.endpoint(t)}, Models: []string{"m"}}}))
		eventually(t, "an answer", func() bool { return server(t, w).Reason != "not asked yet" })
		if s := server(t, w); s.State != c.state || s.Reason != c.reason {
			t.Errorf("got %s %q, want %s %q", s.State, s.Reason, c.state, c.reason)
		}
		w.Close()
		if strings.Contains(log.String(), "secret") {
			t.Errorf("the log has what a server sent:\n%s", log)
		}
	}
}

// TestTransitions checks that one answer makes a server not ready and one makes it ready again. Without an answer a
// ready server stays ready, and one that was not ready becomes unknown.
func TestTransitions(t *testing.T) {
	w, engine, log := watchEngine(t)
	const missing, broken = `does not serve "m"; it serves nothing`, "answers 500 to GET /v1/models"
	for _, c := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		state  State
		reason string
	}{
		{replies(500, ""), Unknown, broken},
		{listsModels("m"), Ready, ""},
		{replies(500, ""), Ready, broken},
		{listsModels("m"), Ready, ""},
		{listsModels(), NotReady, missing},
		{listsModels("m"), Ready, ""},
		{replies(500, ""), Ready, broken},
		{listsModels(), NotReady, missing},
		{replies(500, ""), Unknown, broken},
		{listsModels(), NotReady, missing},
	} {
		before := server(t, w)
		engine.set(c.answer)
		await(t, w, c.state, c.reason)
		if since := server(t, w).Since; c.state == before.State != since.Equal(before.Since) {
			t.Errorf("from %s to %s, and since %v and %v", before.State, c.state, before.Since, since)
		}
	}
	engine.CloseClientConnections()
	engine.Server.Close()
	await(t, w, Unknown, "connection refused")
	if warnings := log.count("level=WARN"); warnings != 3 || strings.Contains(log.String(), "secret") {
		t.Errorf("%d warnings, want one each time that the server is not ready:\n%s", warnings, log)
	}
}

// TestChangedReportsStates checks that Changed has a value after every change of a state, and none without a change.
func TestChangedReportsStates(t *testing.T) {
	w, engine, _ := watchEngine(t)
	for _, c := range []struct {
		answer func(http.ResponseWriter, *http.Request)
		state  State
	}{{listsModels("m"), Ready}, {listsModels(), NotReady}, {replies(500, ""), Unknown}, {listsModels("m"), Ready}} {
		engine.set(c.answer)
		deadline := time.After(testTimeout)
		for server(t, w).State != c.state {
			select {
			case <-w.Changed():
			case <-deadline:
				t.Fatalf("%s is not told", c.state)
			}
		}
	}
	engine.mu.Lock()
	engine.requests = 0
	engine.mu.Unlock()
	eventually(t, "three more probes", func() bool {
		engine.mu.Lock()
		defer engine.mu.Unlock()
		return engine.requests > 3
	})
	select {
	case <-w.Changed():
		t.Error("a change is told and there is none")
	default:
	}
}

// TestProbeRequest checks that a request goes to the endpoint's host and carries the pool's credentials.
func TestProbeRequest(t *testing.T) {
	engine := newEngine(t)
	_, port, _ := strings.Cut(engine.Listener.Addr().String(), ":")
	z := &zone{names: map[string][]string{"gpu.example": {"127.0.0.1"}}}
	w, _ := watcher(t, z)
	must(
		t, w.Set([]Pool{{Name: "p", Servers: endpoints(t, "http://gpu.example:"+port), Models: []string{"m"},
			Authorization: "Bearer secret"}}))
	eventually(t, "ready", func() bool { s := w.Servers()["p"].Servers; return len(s) == 1 && s[0].State == Ready })
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if engine.lastHost != "gpu.example:"+port || engine.lastAuth != "Bearer secret" {
		t.Errorf("asked as %q with %q", engine.lastHost, engine.lastAuth)
	}
}

// TestTLS checks that the certificate is verified for the endpoint's name with the pool's authorities, and that changes
// of their file take effect.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "example.com" { // as Envoy sends it: without a port
			http.NotFound(w, r)
			return
		}
		listsModels("m")(w, r)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	replace(t, ca, own)
	plain := newEngine(t)
	_, plainPort, _ := strings.Cut(plain.Listener.Addr().String(), ":")
	w, _ := watcher(t, &zone{names: map[string][]string{"example.com": {"127.0.0.1"}, "gpu.other": {"127.0.0.1"}}})
	pool := func(name, url, ca string) Pool {
		return Pool{Name: name, Servers: endpoints(t, url), Models: []string{"m"}, CAFile: ca}
	}
	must(t, w.Set([]Pool{
		pool("good", "https://example.com:"+port, ca),
		pool("name", "https://gpu.other:"+port, ca),
		pool("authority", "https://example.com:"+port, ""),
		pool("plain", "https://example.com:"+plainPort, ca),
		pool("secure", "http://example.com:"+port, ca),
	}))
	for name, want := range map[string]string{
		"good":      "ready ",
		"name":      "unknown its certificate is for another name",
		"authority": "unknown its certificate is signed by an unknown authority",
		"plain":     "unknown it does not speak TLS",
		"secure":    "unknown answers 400 to GET /v1/models",
	} {
		eventually(t, name+": "+want, func() bool {
			s := w.Servers()[name].Servers
			return len(s) == 1 && string(s[0].State)+" "+s[0].Reason == want
		})
	}
	replace(t, ca, "nothing")
	problem := ca + ": has no PEM certificate"
	eventually(t, problem, func() bool { return w.Servers()["good"].Problem == problem })
	replace(t, ca, own+own)
	eventually(t, "no problem", func() bool { return w.Servers()["good"].Problem == "" })
	if s := w.Servers()["good"].Servers[0]; s.State != Ready {
		t.Errorf("got %+v", s)
	}
}

// find returns the server of the pool p at an address.
func find(w *Watcher, address netip.AddrPort) Server {
	for _, s := range w.Servers()["p"].Servers {
		if s.Address == address {
			return s
		}
	}
	return Server{}
}

// TestSetKeepsState checks that a server that stays in its pool keeps its state, whatever else changes, and also until
// a changed probe is answered.
func TestSetKeepsState(t *testing.T) {
	engine := newEngine(t)
	w, _ := watcher(t, &zone{names: map[string][]string{"localhost": {"127.0.0.1"}}})
	p := Pool{Name: "p", Servers: []config.Endpoint{engine.endpoint(t)}, Models: []string{"other"}}
	must(t, w.Set([]Pool{p}))
	await(t, w, NotReady, `does not serve "other"; it serves "m"`)
	before := server(t, w)
	release := make(chan struct{})
	engine.set(func(rw http.ResponseWriter, r *http.Request) { <-release; listsModels("m")(rw, r) })
	for _, alter := range []func(){
		func() { p.Authorization = "Bearer b" },
		func() { p.Models = []string{"m"} },
		func() { p.Servers = append(p.Servers[:1:1], endpoint(t, "http://127.0.0.1:1")) },
	} {
		alter()
		must(t, w.Set([]Pool{p, {Name: "new"}}))
		if s := find(w, before.Address); s != before {
			t.Errorf("got %+v, want %+v", s, before)
		}
	}
	close(release)
	eventually(t, "an answer to the new probe", func() bool { return find(w, before.Address).State == Ready })
	p.Models = nil
	must(t, w.Set([]Pool{p}))
	if s := find(w, before.Address); s.State != Unknown || s.Reason != "" {
		t.Errorf("a server that is not probed is %s: %s", s.State, s.Reason)
	}
	// Another endpoint at the same address is another server.
	p.Servers[0].Host, p.Models = "localhost", []string{"m"}
	must(t, w.Set([]Pool{p}))
	eventually(t, "the other server", func() bool { s := find(w, before.Address); return s.Endpoint.Host == "localhost" && s.State == Ready })
}

func TestClose(t *testing.T) {
	engine := newEngine(t)
	entered := make(chan struct{}, 1)
	engine.set(func(_ http.ResponseWriter, r *http.Request) { entered <- struct{}{}; <-r.Context().Done() })
	w := New(Options{})
	must(t, w.Set([]Pool{{Name: "p", Servers: []config.Endpoint{engine.endpoint(t)}, Models: []string{"m"}}}))
	<-entered
	start := time.Now()
	w.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("Close waits %v for an answer", took)
	}
	if s := server(t, w); s.Reason != "not asked yet" {
		t.Errorf("a probe that Close ends has become %+v", s)
	}
}
