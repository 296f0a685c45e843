//go:build e2e && mesh

package mesh

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/istio"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// chat asks the gateway for an answer, and fails the test if it gets none.
func chat(t *testing.T, url string) {
	t.Helper()
	a := lab.Do(lab.HTTP1(t), "POST", url+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	if a.Err != nil || a.Status != http.StatusOK {
		t.Errorf("chat: %d %s (%v)", a.Status, a.Body, a.Err)
	}
}

// program runs harmony and returns what it prints. It fails the test unless it exits with this status.
func program(t *testing.T, status int, args ...string) string {
	t.Helper()
	p := lab.RunHarmony(t, nil, args...)
	if !p.Ended(lab.ProgramLimit) {
		t.Fatalf("harmony %s does not end", strings.Join(args, " "))
	}
	if code := p.ExitCode(t); code != status {
		t.Fatalf("harmony %s exits with %d, want %d: %s", strings.Join(args, " "), code, status, &p.Stderr)
	}
	return p.Stdout.String() + p.Stderr.String()
}

// portMark stands for the gateway's port until it is known, and in a pattern for fmt.
const portMark = "54321"

// printed returns what harmony mesh istio prints for one model at a server, as a pattern with the gateway's port.
func printed(t *testing.T, server string, args ...string) string {
	t.Helper()
	text := "models:\n  - name: " + lab.Model + "\n    servers: [vllm=" + server + "]\n"
	file := lab.WriteConfig(t, text)
	objects := program(t, 0, append([]string{"mesh", "istio", "--config", file, "-n", "default",
		"--module", "file://" + lab.Tool(t, "HARMONY_WASM"), "--selector", "app=harmony-gateway", "--bind", "127.0.0.1",
		"--port", portMark}, args...)...)
	return strings.ReplaceAll(strings.ReplaceAll(objects, "%", "%%"), portMark, "%[1]d")
}

// TestIstioProgram applies what the program prints, in each form, and checks the gateway with the program.
func TestIstioProgram(t *testing.T) {
	for name, args := range map[string][]string{
		"full": nil, "inline": {"--inline"}, "WasmPlugin": {"--mode", "reduced"},
		"TrafficExtension": {"--mode", "reduced", "--api", "TrafficExtension"},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{})
			h := lab.RunIstio(t, lab.OneModel(url), hosts.Istio{
				Objects: printed(t, url, args...), Variables: []string{"ENABLE_100_CONTINUE_HEADERS=false"}})
			chat(t, h.URL)
			table := program(t, 0, "mesh", "check", h.URL, "--admin", "http://"+h.Process.Admin())
			if n := strings.Count(table, "\n"); n < 9 || strings.Count(table, "ok  ") != n {
				t.Errorf("not all is ok:\n%s", table)
			}
			mode := "full"
			if strings.Contains(strings.Join(args, " "), "reduced") {
				mode = "reduced"
			}
			if !regexp.MustCompile(`the mode +` + mode).MatchString(table) {
				t.Errorf("the mode is not %s:\n%s", mode, table)
			}
		})
	}
}

// TestIstioDropsTheSetting: an Istio that does not know the setting that holds headers drops it without a word. Then
// requests get an error within seconds, and the program's check says what is missing.
func TestIstioDropsTheSetting(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	objects := strings.Replace(printed(t, url), "allow_on_headers_stop_iteration: true", "field_of_the_future: true", 1)
	h, err := (&hosts.Istio{Objects: objects}).Run(hosts.Setup{Config: lab.OneModel(url)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	a := lab.Do(lab.HTTP1(t), "POST", h.URL+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	lab.WantRefused(t, a, http.StatusInternalServerError, "gateway_misconfigured")
	table := program(t, 1, "mesh", "check", h.URL, "--admin", "http://"+h.Process.Admin())
	for _, want := range []string{"may have dropped it", "has been dropped on its way"} {
		if !strings.Contains(table, want) {
			t.Errorf("the check does not say %q:\n%s", want, table)
		}
	}
	if n := len(lab.Completions(gpu)); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// TestIstioRefusesMistakes: the objects are read by Istio's own validation.
func TestIstioRefusesMistakes(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	objects := strings.Replace(printed(t, url), "retryOn: connect-failure", "retryOn: no-such-thing", 1)
	_, err := (&hosts.Istio{Objects: objects}).Run(hosts.Setup{Config: lab.OneModel(url)})
	if err == nil || !strings.Contains(err.Error(), "no-such-thing") {
		t.Errorf("Istio says: %v", err)
	}
}

// TestIstioEdges: what a client may try at the edge has the same end as at the control plane's own Envoys.
func TestIstioEdges(t *testing.T) {
	for _, mode := range []string{"full", "reduced"} {
		t.Run(mode, func(t *testing.T) {
			gpu, url := lab.RunSim(t, sim.Options{})
			c := lab.OneModel(url)
			c.Mode = mode
			h := lab.RunIstio(t, c, hosts.Istio{})
			client := lab.HTTP1(t)
			forged := http.Header{"X-Harmony-Internal-Pool": {lab.Model}}
			raw := fmt.Sprintf(`{"model":%q,"prompt":"Hi"}`, lab.Model)
			lab.WantRefused(t, lab.Do(client, "POST", h.URL+lab.RawPath, forged, strings.NewReader(raw)), 403,
				"raw_prompt_not_allowed")
			lab.WantRefused(t, lab.Do(client, "OPTIONS", h.URL+lab.RawPath, forged, nil), 404, "unknown_url")
			lab.WantRefused(t, lab.Do(client, "GET", h.URL+"/v1/..%2fmetrics", forged, nil), 404, "unknown_url")
			if n := len(lab.Completions(gpu)); n != 0 {
				t.Errorf("%d requests reached the server", n)
			}
			for _, client := range []*http.Client{client, lab.HTTP2(t)} {
				// beyond the gateway's limit, and within it, beyond Envoy's own
				lab.WantRefused(t, lab.Do(client, "POST", h.URL+lab.ChatPath, nil,
					strings.NewReader(lab.ChatBody(lab.Model, strings.Repeat("a", int(c.BodyLimit))))), 413, "request_too_large")
				a := lab.Do(client, "POST", h.URL+lab.ChatPath, nil,
					strings.NewReader(lab.ChatBody(lab.Model, strings.Repeat("a ", 100_000))))
				if a.Status != http.StatusOK {
					t.Errorf("a body of 200 kB: %d %.200s (%v)", a.Status, a.Body, a.Err)
				}
			}
		})
	}
}

// TestIstioExpect: a client that sends its body only after a 100 is served where the gateway answers it itself, and in
// reduced mode, where the server does. In full mode with Istio's default nothing would answer it.
func TestIstioExpect(t *testing.T) {
	for name, c := range map[string]struct {
		mode      string
		variables []string
	}{"full": {"full", []string{"ENABLE_100_CONTINUE_HEADERS=false"}}, "reduced": {"reduced", nil}} {
		t.Run(name, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{})
			model := lab.OneModel(url)
			model.Mode = c.mode
			h := lab.RunIstio(t, model, hosts.Istio{Variables: c.variables})
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(lab.Patience)); err != nil {
				t.Fatal(err)
			}
			body := lab.ChatBody(lab.Model, "Hi")
			answers := bufio.NewReader(conn)
			fmt.Fprint(conn, "POST "+lab.ChatPath+" HTTP/1.1\r\nHost: gateway\r\nExpect: 100-continue\r\nContent-Length: "+
				strconv.Itoa(len(body))+"\r\n\r\n")
			if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
				t.Fatalf("before the body the gateway says %q (%v)", line, err)
			}
			for line := ""; line != "\r\n"; { // its headers
				if line, err = answers.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprint(conn, body)
			response, err := http.ReadResponse(answers, nil)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("got %+v (%v)", response, err)
			}
		})
	}
}

// TestIstioPools: sessions by cookie, spares and health checks work through Istio's objects.
func TestIstioPools(t *testing.T) {
	first, firstURL := lab.RunSim(t, sim.Options{})
	second, secondURL := lab.RunSim(t, sim.Options{})
	spare, spareURL := lab.RunSim(t, sim.Options{})
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models[0].Servers, c.Models[0].Pool = nil, "gpus"
	c.Pools = []config.Pool{
		{Name: "gpus", Servers: []string{firstURL, secondURL}, Spares: []string{"away"}, Policy: config.PolicySession,
			Session: config.Session{Cookie: "session"}},
		{Name: "away", Servers: []string{spareURL}},
	}
	h := lab.RunIstio(t, c, hosts.Istio{Edit: func(o *istio.Options) { o.Hosts = []string{"127.0.0.1"} }})
	ask := func(cookie string) string {
		header := http.Header{}
		if cookie != "" {
			header.Set("Cookie", cookie)
		}
		a := lab.Do(lab.HTTP1(t), "POST", h.URL+lab.ChatPath, header, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
		if a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("chat: %d %s (%v)", a.Status, a.Body, a.Err)
		}
		cookie, _, _ = strings.Cut(a.Header.Get("Set-Cookie"), ";")
		return cookie
	}
	cookie := ask("")
	if cookie == "" {
		t.Fatal("the gateway sets no cookie")
	}
	for range 7 {
		ask(cookie)
	}
	one, two := len(lab.Completions(first)), len(lab.Completions(second))
	if one+two != 8 || one != 0 && two != 0 || len(lab.Completions(spare)) != 0 {
		t.Errorf("a session of 8 requests has %d and %d at the pool's servers", one, two)
	}
	first.Close()
	second.Close()
	ask("")
	if len(lab.Completions(spare)) == 0 {
		t.Error("the spare gets nothing when the pool is gone")
	}
}
