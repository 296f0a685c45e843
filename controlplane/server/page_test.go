package server

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// TestPage: the page has the pools, the Envoys, what they refuse, and a playground if there is a gateway.
func TestPage(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get(tap.KeyHeader))
	}))
	defer gateway.Close()
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)), func(o *testOptions) {
		o.Gateway, o.TapKey = gateway.URL, "0123456789abcdef"
		o.History = history.New(history.Options{Interval: 50 * time.Millisecond, Length: time.Minute, Delay: time.Millisecond})
	})
	p.ready()
	eventually(t, "what the page is about", func() bool {
		_, about := p.get("/api/about")
		return about == `{"host":"controlplane","version":"1.2.3","gateway":"`+gateway.URL+
			`","models":["m"],"records":false,"admin":false}`
	})
	response, err := http.Post(p.url+"/api/gateway/v1/responses", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "/v1/responses 0123456789abcdef" {
		t.Errorf("the playground gets %s, %v", body, err)
	}
	e := startEnvoy(t, p.ads, "edge")
	eventually(t, "current", p.current)
	e.refuses(resource.RouteType)
	p.write("config.yaml", strings.Replace(oneModel(engine.URL), "models:", "cors_origins: [\"https://a.example\"]\nmodels:", 1))
	want := []string{"envoys=1", "envoys_current=0", "nacks_per_minute>0", "servers p ready=1"}
	for _, one := range want {
		eventually(t, one+" in the history", func() bool { return slices.Contains(shownBy(t, p), one) })
	}
}

// TestFirstRefusals: what Envoys refuse before the history is first written to is in it.
func TestFirstRefusals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := history.New(history.Options{Now: func() time.Time { return time.Now().Add(time.Minute) }})
	s, err := New(Options{ADS: l, History: h, ModulePath: "/filter.wasm", ConfigFile: "config.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	addRefused(h, s.started.Add(time.Second), 3)
	sum := 0.0
	for _, series := range h.Page().Series {
		for _, v := range series.Values {
			if series.Name == history.NACKsPerMinute && v > 0 {
				sum += float64(v)
			}
		}
	}
	if sum == 0 {
		t.Errorf("no refusals in %+v", h.Page().Series)
	}
}

// shownBy returns what the history has shown at any time.
func shownBy(t *testing.T, p *testServer) (all []string) {
	t.Helper()
	var past struct {
		Series []struct {
			Name   string
			Labels map[string]string
			Values []*float64
		}
	}
	_, text := p.get("/api/history")
	if err := json.Unmarshal([]byte(text), &past); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, s := range past.Series {
		name := s.Name
		if s.Labels["pool"] != "" {
			name += " " + s.Labels["pool"] + " " + s.Labels["state"]
		}
		for _, v := range s.Values {
			switch {
			case v == nil:
			case *v == 0:
				all = append(all, name+"=0")
			case *v == 1:
				all = append(all, name+"=1", name+">0")
			case *v > 0:
				all = append(all, name+">0")
			}
		}
	}
	return all
}

// TestHistoryKept: a control plane that is started again has the hour of its earlier run. One whose file is damaged
// begins anew, and says so.
func TestHistoryKept(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	folder := folderWith(t, oneModel(engine.URL))
	again := func() *testServer {
		p := start(t, folder, func(o *testOptions) {
			o.History = history.New(history.Options{Interval: 50 * time.Millisecond, Delay: time.Millisecond})
		})
		p.ready()
		return p
	}
	first := again()
	eventually(t, "a ready server in the history", func() bool {
		return slices.Contains(shownBy(t, first), "servers p ready=1")
	})
	first.options.History.SetServer(time.Now(), "p", "10.9.9.9:8000", history.ServerReading{Running: 7})
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(first.file("state/" + historyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kept history: %+v, %v", info, err)
	}
	second := again()
	if _, text := second.get("/api/numbers?minutes=60"); !strings.Contains(text, `"name":"10.9.9.9:8000"`) {
		t.Errorf("the numbers are %s", text)
	}
	if err := second.stop(); err != nil {
		t.Fatal(err)
	}
	first.write("state/"+historyFile, "damaged")
	third := again()
	if _, text := third.get("/api/numbers?minutes=60"); strings.Contains(text, "10.9.9.9") {
		t.Errorf("the numbers are %s", text)
	}
	if !strings.Contains(third.log.String(), "the page begins without the hour of the earlier run") {
		t.Errorf("the log has\n%s", third.log)
	}
}

// TestHistoryNotKept: a state folder that cannot be written is logged once.
func TestHistoryNotKept(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)))
	p.ready()
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.options.StateDir = p.file("config.yaml") // no folder
	p.keepHistory()
	p.keepHistory()
	if n := strings.Count(p.log.String(), "the page's last hour is not kept"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, p.log)
	}
}
