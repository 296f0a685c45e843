//go:build e2e

package up

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The words that stand in every prompt and in every answer of these tests, and nowhere else.
const (
	askedWord    = "kanarienvogel"
	answeredWord = "zaunkoenig"
)

// sightedPool is the pool of the servers in these tests. Its name is not the model's.
const sightedPool = "gpus"

// sighted is a run of harmony up with its page.
type sighted struct {
	*lab.Program
	host, url, page string
	server          *sim.Server
}

// onHosts runs a test with both hosts of the filter.
func onHosts(t *testing.T, test func(t *testing.T, host string)) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) { test(t, host) })
	}
}

// startSighted runs harmony up with a model whose answers have answeredWord. The server holds an answer after so many
// tokens, if there are any.
func startSighted(t *testing.T, host string, holdAfter int, args ...string) *sighted {
	t.Helper()
	server, url := lab.RunSim(t, sim.Options{HoldAfter: holdAfter, Script: sim.NewScript(sim.Line{Match: askedWord,
		Tokens: lab.Tokens("<|channel|>analysis<|message|>They ask of a " + answeredWord + ".<|end|><|start|>assistant" +
			"<|channel|>final<|message|>It is a " + answeredWord + " that sings in the garden.<|return|>")})})
	s := &sighted{host: host, server: server}
	file := lab.WriteConfig(t, fmt.Sprintf("models: [{name: %s, pool: %s}]\npools: [{name: %s, servers: [%s]}]\n",
		lab.Model, sightedPool, sightedPool, url))
	s.Program, s.url = lab.StartUp(t, append([]string{"--host", host, "--config", file}, args...)...)
	s.page = s.Announced(t, `(?m)^page.*: (http://\S+)$`)
	return s
}

func (s *sighted) stop(t *testing.T) {
	t.Helper()
	if s.host == "envoy" {
		s.Stop(t, syscall.SIGTERM)
		return
	}
	lab.StopWazero(t, s.Program)
}

// ask asks for a streamed answer, and wants a good one.
func (s *sighted) ask(t *testing.T, id string) {
	t.Helper()
	a := lab.Do(lab.HTTP1(t), http.MethodPost, s.url+lab.ChatPath, http.Header{"X-Request-Id": {id}},
		strings.NewReader(`{"stream":true,`+lab.ChatBody(lab.Model, "What is a "+askedWord+"?")[1:]))
	if a.Status != http.StatusOK || !strings.Contains(a.Body, "[DONE]") {
		t.Fatalf("got %+v", a)
	}
}

// says waits until the program has printed a text.
func (s *sighted) says(t *testing.T, pattern string) string {
	t.Helper()
	return s.Announced(t, "("+pattern+")")
}

// TestRecord keeps each request in a file that harmony inspect explain reads, and prints what the model writes.
func TestRecord(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		folder := filepath.Join(t.TempDir(), "records")
		s := startSighted(t, host, 0, "--record", folder, "--watch", "-v")
		s.ask(t, "first-request")
		a := lab.Do(lab.HTTP1(t), http.MethodPost, s.url+lab.ChatPath, http.Header{"X-Request-Id": {"refused-request"}},
			strings.NewReader(lab.ChatBody("gpt-4o", askedWord)))
		lab.WantRefused(t, a, http.StatusNotFound, "model_not_found")
		s.says(t, `\[2\] \d\d:\d\d:\d\d  404  chat`)
		s.stop(t)
		for _, want := range []string{
			`\[1\] chat ` + lab.Model + ` to vllm in pool ` + sightedPool + ` with [0-9]+ tokens\n`,
			`\[1\] analysis\n\[1\]   \| They ask of a ` + answeredWord + `\.\n`,
			`\[1\] final\n\[1\]   \| It is a ` + answeredWord + ` that sings in the garden\.\n`,
			`\[1\] \d\d:\d\d:\d\d  200  chat +` + lab.Model + ` +[0-9]+ in +[0-9]+ out  first .*  stop\n`,
			`\[2\]   \| \{"error":`,
		} {
			if !regexp.MustCompile(want).MatchString(s.Stdout.String()) {
				t.Errorf("it does not print %s:\n%s", want, &s.Stdout)
			}
		}
		if strings.Contains(s.Stdout.String(), "\x1b") {
			t.Error("it prints colours, but not on a terminal")
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(files) != 2 {
			t.Fatalf("files: %v, %v", files, err)
		}
		for path, want := range map[string]os.FileMode{folder: os.ModeDir | 0o700, files[0]: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
			}
		}
		if !strings.HasSuffix(files[0], "-first-request.jsonl") {
			t.Errorf("the first file is %s", files[0])
		}
		explain := lab.RunHarmony(t, nil, "inspect", "explain", "--width", "200", files[0])
		if !explain.Ended(lab.StopLimit) || explain.ExitCode(t) != 0 {
			t.Fatalf("%s", &explain.Stderr)
		}
		for _, want := range []string{"What is a " + askedWord + "?", "first-request", "200008 <|message|>",
			"| It is a " + answeredWord + " that sings in the garden.", "no recoveries", "finish stop"} {
			if !strings.Contains(explain.Stdout.String(), want) {
				t.Errorf("the explanation does not say %q:\n%s", want, &explain.Stdout)
			}
		}
	})
}

// TestWatchAsItHappens holds an answer in its middle: its beginning must have been printed.
func TestWatchAsItHappens(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		s := startSighted(t, host, 12, "--watch", "-v")
		answered := make(chan lab.Answer)
		go func() {
			answered <- lab.Ask(lab.HTTP1(t), s.url+lab.ChatPath, lab.ChatBody(lab.Model, askedWord))
		}()
		s.says(t, `\[1\]   \| They ask of a `+answeredWord)
		if strings.Contains(s.Stdout.String(), "  200  ") {
			t.Error("the request has ended")
		}
		s.server.Release()
		if a := <-answered; a.Status != http.StatusOK {
			t.Errorf("got %+v", a)
		}
		s.says(t, `\[1\] \d\d:\d\d:\d\d  200  chat .*  stop\n`)
		s.stop(t)
	})
}

// TestNothingUnlessAsked: without the flags, and with --watch alone, no text of a request is printed, written or shown.
// The requests of the page's playground are kept in memory only.
func TestNothingUnlessAsked(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		for _, flags := range [][]string{nil, {"--watch"}} {
			s := startSighted(t, host, 0, append(flags, "--log-level", "info")...)
			s.ask(t, "not-recorded")
			if flags != nil {
				s.says(t, `\d\d:\d\d:\d\d  200  chat .*  stop\n`)
			}
			var shown strings.Builder
			for _, path := range []string{"/api/records", "/api/records/not-recorded", "/api/status", "/api/history",
				"/stats/prometheus", "/config_dump"} {
				shown.WriteString(lab.Do(lab.HTTP1(t), http.MethodGet, s.page+path, nil, nil).Body)
			}
			if records := s.records(t); len(records) != len(flags) {
				t.Errorf("with %v there are %d records", flags, len(records))
			}
			a := lab.Ask(lab.HTTP1(t), s.page+"/api/gateway"+lab.ChatPath, lab.ChatBody(lab.Model, "playground "+askedWord))
			if a.Status != http.StatusOK || !strings.Contains(a.Body, answeredWord) {
				t.Fatalf("the playground: %+v", a)
			}
			id := a.Header.Get("x-request-id")
			s.awaitEnd(t, id)
			record := lab.Do(lab.HTTP1(t), http.MethodGet, s.page+"/api/records/"+id, nil, nil).Body
			if !strings.Contains(record, "playground "+askedWord) || !strings.Contains(record, answeredWord) {
				t.Errorf("the playground's record: %s", record)
			}
			key := s.tapKey(t)
			s.stop(t)
			for where, text := range map[string]string{"the page": shown.String(), "standard output": s.Stdout.String(),
				"standard error": s.Stderr.String(), "its folder": contents(t, s.Cmd.Dir)} {
				for _, word := range []string{askedWord, answeredWord, key} {
					if word != "" && strings.Contains(text, word) {
						t.Errorf("with %v %q is in %s", flags, word, where)
					}
				}
			}
		}
	})
}

// record is what these tests read of the page's list of records.
type record struct {
	ID      string `json:"id"`
	Running bool   `json:"running"`
	Whole   bool   `json:"whole"`
}

func (s *sighted) records(t *testing.T) (all []record) {
	t.Helper()
	a := lab.Do(lab.HTTP1(t), http.MethodGet, s.page+"/api/records", nil, nil)
	if err := json.Unmarshal([]byte(a.Body), &all); err != nil {
		t.Fatalf("%v in %+v", err, a)
	}
	return all
}

// awaitEnd waits until a request's record is whole.
func (s *sighted) awaitEnd(t *testing.T, id string) {
	t.Helper()
	for end := time.Now().Add(lab.StopLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, r := range s.records(t) {
			if r.ID == id && !r.Running && r.Whole {
				return
			}
		}
	}
	t.Fatalf("%s has no whole record: %+v", id, s.records(t))
}

// tapKey returns the recorder's key from the environment of the Envoy that harmony up has started, or "" where there is
// none to be read.
func (s *sighted) tapKey(t *testing.T) string {
	t.Helper()
	pid, err := os.ReadFile(s.PIDs)
	if err != nil {
		return ""
	}
	environment, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "environ"))
	if err != nil {
		return ""
	}
	for text := range bytes.SplitSeq(environment, []byte{0}) {
		if key, ok := bytes.CutPrefix(text, []byte(contract.TapKeyVariable+"=")); ok {
			if len(key) < contract.MinTapKey {
				t.Errorf("the key has %d characters", len(key))
			}
			return string(key)
		}
	}
	t.Error("Envoy has no key")
	return ""
}

// contents returns the contents of all files below a folder.
func contents(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s\n%s\n", path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestPage asks the address of --admin of both hosts for the page, and for what was there before the page. Pages of
// other origins, and names that someone else can point here, are refused.
func TestPage(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		s := startSighted(t, host, 0, "--admin", "127.0.0.1:0")
		s.ask(t, "counted")
		foreign, own := map[string]string{"Origin": "http://evil.example"}, map[string]string{"Origin": s.page}
		rebound := map[string]string{"Host": "evil.example"}
		admin := func(status int) int { // what only an Envoy has
			if host == "wazero" {
				return http.StatusNotFound
			}
			return status
		}
		for _, tt := range []struct {
			method, path string
			header       map[string]string
			status       int
			want         string
		}{
			{"GET", "/", nil, 200, "<html"},
			{"GET", "/", rebound, 403, "unknown_host"},
			{"GET", "/api/about", nil, 200, `"host":"` + host + `"`},
			{"GET", "/api/about", nil, 200, `"gateway":"` + s.url + `"`},
			{"GET", "/api/about", nil, 200, `"models":["` + lab.Model + `"]`},
			{"GET", "/api/about", rebound, 403, "unknown_host"},
			{"GET", "/api/status", nil, 200, `"name":"` + sightedPool + `"`},
			{"GET", "/api/records", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "cross_origin"},
			{"POST", "/api/gateway" + lab.ChatPath, foreign, 403, "cross_origin"},
			{"POST", "/api/gateway" + lab.ChatPath, rebound, 403, "unknown_host"},
			{"POST", "/api/gateway" + lab.ChatPath, own, 400, "invalid_request_error"},
			{"GET", "/stats/prometheus?filter=harmony_requests", nil, 200, `harmony_requests_total{`},
			{"GET", "/ready", nil, admin(200), ""},
			{"GET", "/config_dump?resource=dynamic_listeners", nil, admin(200), ""},
			{"GET", "/stats?format=json", nil, admin(200), ""},
			{"GET", "/config_dump", rebound, 403, "unknown_host"},
			{"GET", "/stats/prometheus", rebound, 403, "unknown_host"},
			{"POST", "/logging?level=warning", rebound, 403, "unknown_host"},
			{"POST", "/logging?level=warning", nil, admin(200), ""},
			{"POST", "/logging?level=warning", own, admin(200), ""},
			{"GET", "/quitquitquit", nil, admin(405), ""},
			{"POST", "/quitquitquit", foreign, 403, "cross_origin"},
			{"POST", "/healthcheck/fail", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "cross_origin"},
			{"GET", "/none", nil, 404, ""},
		} {
			request, err := http.NewRequest(tt.method, s.page+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range tt.header {
				request.Header.Set(name, value)
				if name == "Host" {
					request.Host = value
				}
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			a := lab.ReadAnswer(response)
			if a.Status != tt.status || !strings.Contains(a.Body, tt.want) {
				t.Errorf("%s %s %v: status %d, want %d with %q: %.300s", tt.method, tt.path, tt.header, a.Status, tt.status,
					tt.want, a.Body)
			}
		}
		var state server.Status
		if status := lab.Do(lab.HTTP1(t), http.MethodGet, s.page+"/api/status", nil, nil); json.Unmarshal([]byte(status.Body),
			&state) != nil || len(state.Pools) != 1 || state.Pools[0].Servers[0].Since.Before(state.Started) {
			t.Errorf("a server is ready before the program has started: %s", status.Body)
		}
		if !strings.HasPrefix(s.page, "http://127.0.0.1:") {
			t.Errorf("the page is at %s", s.page)
		}
		series := []string{"tokens_per_second", "first_token_ms", "servers", "streams"}
		if host == "envoy" {
			series = append(series, "envoys_current")
		}
		s.awaitPlots(t, series)
		s.stop(t)
	})
}

// awaitPlots waits until the page has series for its plots.
func (s *sighted) awaitPlots(t *testing.T, names []string) {
	t.Helper()
	var body string
	for end := time.Now().Add(lab.ReadyLimit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		body = lab.Do(lab.HTTP1(t), http.MethodGet, s.page+"/api/history", nil, nil).Body
		if !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(body, `"name":"`+name+`"`) }) {
			return
		}
	}
	t.Errorf("the page has no series for some of %v: %.2000s", names, body)
}

// TestPageEndsWithStreams: the browsers that look at the page do not keep harmony up from ending.
func TestPageEndsWithStreams(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		s := startSighted(t, host, 0)
		response, err := http.Get(s.page + "/api/live")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.ReadFull(response.Body, make([]byte, len("event: "))); err != nil {
			t.Fatalf("the events do not begin: %v", err)
		}
		began := time.Now()
		s.stop(t)
		if took := time.Since(began); took > lab.StopLimit/2 {
			t.Errorf("it took %s to end", took)
		}
		if _, err := net.DialTimeout("tcp", strings.TrimPrefix(s.page, "http://"), time.Second); err == nil {
			t.Error("somebody still listens")
		}
	})
}

// TestDrainByPage: harmony drain finds Envoy's admin interface behind the page.
func TestDrainByPage(t *testing.T) {
	s := startSighted(t, "envoy", 0)
	drain := lab.RunHarmony(t, nil, "drain", "--stay", "1ms", "--drain-time", "10s", "--admin",
		strings.TrimPrefix(s.page, "http://"))
	if !drain.Ended(lab.StopLimit) || drain.ExitCode(t) != 0 {
		t.Fatalf("%s", &drain.Stderr)
	}
	if a := lab.Do(lab.HTTP1(t), http.MethodGet, s.page+"/ready", nil, nil); a.Status != http.StatusServiceUnavailable {
		t.Errorf("/ready: %+v", a)
	}
	s.stop(t)
}
