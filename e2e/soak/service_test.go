//go:build e2e

package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/services/responses/bodytest"
)

// The sizes of the attacks on the responses service.
const (
	// serviceMemory is its memory_limit, and beside what its process may take on top of that, in MiB.
	serviceMemory, serviceBeside = 1024, 256
	// attackBodies are sent at once, each almost as large as a body may be, and attackFrames on each of attackConnections.
	attackBodies, attackConnections, attackFrames = 21, 10, 4
	attackSize                                    = 4_190_000
)

// TestSoakService attacks the responses service with bodies, frames and readers that take much more memory than
// their size tells. Its process may take memory_limit and 256 MiB. `make soak` sends every family, `make test` a few.
func TestSoakService(t *testing.T) {
	few := sized(1, 0) == 1
	each := func(s *serviceUnderAttack, families map[string]string, attack func(body string)) {
		for _, name := range slices.Sorted(maps.Keys(families)) {
			if !few || name == "numbers" || name == "empty objects" {
				s.peakOf(name, func() { attack(families[name]) })
			}
		}
	}
	for name, attack := range map[string]func(*serviceUnderAttack){
		"conversations": func(s *serviceUnderAttack) {
			each(s, bodytest.Bodies("", "items", attackSize), func(b string) { s.bodies("/v1/conversations", b) })
		},
		"responses": func(s *serviceUnderAttack) {
			each(s, bodytest.Bodies(`"model":"m","store":false,`, "input", attackSize),
				func(b string) { s.bodies("/v1/responses", b) })
		},
		"background": func(s *serviceUnderAttack) {
			each(s, bodytest.Bodies(`"model":"m","background":true,`, "input", attackSize),
				func(b string) { s.bodies("/v1/responses", b) })
		},
		"frames": func(s *serviceUnderAttack) {
			each(s, bodytest.Bodies(`"type":"response.create","model":"m","store":false,`, "input", attackSize), s.frames)
		},
		"followers": func(s *serviceUnderAttack) { s.peakOf("200 that do not read a stream", s.followers) },
		"readers":   func(s *serviceUnderAttack) { s.peakOf("100 that do not read 6 MiB", s.readers) },
	} {
		t.Run(name, func(t *testing.T) { attack(startService(t)) })
	}
}

// serviceUnderAttack is a run of harmony responses before a gateway that answers at once.
type serviceUnderAttack struct {
	t    *testing.T
	url  string
	pid  int
	text string // what the gateway's answers say
	// status is where the program says how it is. calls reports whether the gateway's answers call a tool first.
	status string
	calls  bool
}

func startService(t *testing.T) *serviceUnderAttack { return startServiceWith(t, "") }

// startServiceWith starts the service with further lines of settings.
func startServiceWith(t *testing.T, settings string) *serviceUnderAttack {
	t.Helper()
	s := &serviceUnderAttack{t: t, text: "Hello."}
	gateway := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(gateway.Close)
	address := lab.FreeAddress(t)
	file := lab.WriteConfig(t, fmt.Sprintf("responses_service:\n  store: %s\n  url: http://%s\n  listen: %[2]s\n"+
		"  gateway: %s\n%smodels: [{ name: m, servers: [\"vllm=http://127.0.0.1:1\"] }]\n",
		filepath.Join(t.TempDir(), "responses.db"), address, gateway.URL, settings))
	p := lab.RunHarmony(t, nil, "responses", "--config", file, "--status", "127.0.0.1:0", "--drain-time", "100ms")
	p.Announced(t, `(?m)^serving Envoys on (\S+)$`)
	s.url, s.pid = "http://"+address, p.Cmd.Process.Pid
	s.status = p.Announced(t, `(?m)^metrics: (\S+)/metrics$`)
	for end := time.Now().Add(lab.ReadyLimit); s.post("/v1/responses", `{"model":"m","input":"x"}`) != http.StatusOK; {
		if time.Now().After(end) {
			t.Fatal("the service is not ready")
		}
		time.Sleep(20 * time.Millisecond)
	}
	return s
}

// answer is the gateway: it reads a request and says the text.
func (s *serviceUnderAttack) answer(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	w.Header().Set("content-type", "text/event-stream")
	event := func(kind, member string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":0,%s}\n\n", kind, kind, member)
	}
	const object = `"response":{"id":"resp_g","object":"response","status":"%s","model":"m","output":[]}`
	event("response.created", fmt.Sprintf(object, "in_progress"))
	if s.calls && !bytes.Contains(asked, []byte("function_call_output")) {
		for _, kind := range []string{"added", "done"} {
			event("response.output_item."+kind, `"output_index":0,"item":{"id":"fc_g","type":"function_call",`+
				`"call_id":"call_g","status":"completed","namespace":"`+toolLabel+`","name":"echo","arguments":"{}"}`)
		}
		event("response.completed", fmt.Sprintf(object, "completed"))
		return
	}
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_g","type":"message","role":"assistant",`+
		`"status":"in_progress","content":[]}`)
	for rest := s.text; rest != ""; {
		now := rest[:min(len(rest), 64<<10)]
		rest = rest[len(now):]
		event("response.output_text.delta", `"output_index":0,"content_index":0,"delta":"`+now+`"`)
	}
	event("response.output_item.done", `"output_index":0,"item":{"id":"msg_g","type":"message","role":"assistant",`+
		`"status":"completed","content":[{"type":"output_text","text":"`+s.text+`","annotations":[],"logprobs":[]}]}`)
	event("response.completed", fmt.Sprintf(object, "completed"))
}

// peakOf returns when an attack has ended, and checks the most memory that the process has taken meanwhile.
func (s *serviceUnderAttack) peakOf(name string, attack func()) {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.pid), []byte("5"), 0); err != nil {
		s.t.Fatal(err)
	}
	began := time.Now()
	attack()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Logf("%-40s %5d MiB, %v", name, kib>>10, time.Since(began).Round(10*time.Millisecond))
	if kib>>10 > serviceMemory+serviceBeside {
		s.t.Errorf("%s: the service has taken %d MiB, and memory_limit is %d MiB", name, kib>>10, serviceMemory)
	}
	if status := s.post("/v1/responses", `{"model":"m","input":"x","store":false}`); status != http.StatusOK {
		s.t.Errorf("%s: afterwards another client gets %d", name, status)
	}
}

func (s *serviceUnderAttack) post(path, body string) int {
	response, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// bodies sends a body many times at once.
func (s *serviceUnderAttack) bodies(path, body string) {
	var all sync.WaitGroup
	for range attackBodies {
		all.Go(func() { s.post(path, body) })
	}
	all.Wait()
}

// frames sends a frame on many connections, and reads one frame for each.
func (s *serviceUnderAttack) frames(frame string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for range attackConnections {
		all.Go(func() {
			ws, _, err := websocket.Dial(ctx, s.url+"/v1/responses", nil)
			if err != nil {
				s.t.Error(err)
				return
			}
			defer ws.CloseNow()
			ws.SetReadLimit(-1)
			for i := range attackFrames {
				text := strings.Replace(frame, `"store"`, fmt.Sprintf(`"stream_id":"%d","store"`, i), 1)
				if err := ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
					return
				}
			}
			for ended := 0; ended < attackFrames; {
				_, data, err := ws.Read(ctx)
				if err != nil {
					return
				}
				var e struct{ Type string }
				_ = json.Unmarshal(data, &e)
				if e.Type == "error" || e.Type == "response.completed" || e.Type == "response.failed" {
					ended++
				}
			}
		})
	}
	all.Wait()
}

// create makes a response of a size and returns its id when it has ended.
func (s *serviceUnderAttack) create(size int, members string) string {
	s.t.Helper()
	s.text = strings.Repeat("x", size)
	defer func() { s.text = "Hello." }()
	response, err := http.Post(s.url+"/v1/responses", "application/json", strings.NewReader(`{"model":"m","input":"x"`+
		members+`}`))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	head := make([]byte, 400)
	if _, err := io.ReadFull(response.Body, head); err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(head), `"id":"resp_`)
	id, _, found := strings.Cut(rest, `"`)
	if _, err := io.Copy(io.Discard, response.Body); err != nil || !found {
		s.t.Fatalf("%v: %s", err, head)
	}
	return "resp_" + id
}

// stalled asks for a path many times, and reads nothing of the answers but their heads. It returns how many had which
// status.
func (s *serviceUnderAttack) stalled(method, path, body string, many int) map[int]int {
	var mu sync.Mutex
	counts := map[int]int{}
	var all sync.WaitGroup
	for range many {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			s.t.Fatal(err)
		}
		defer conn.Close()
		all.Go(func() {
			_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", method, path, len(body), body)
			var response *http.Response
			if err == nil {
				response, err = http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				counts[0]++
				return
			}
			counts[response.StatusCode]++
			if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("retry-after") == "" {
				s.t.Error("429 without retry-after")
			}
		})
	}
	all.Wait()
	time.Sleep(2 * time.Second) // whatever else the service reads for them
	return counts
}

func (s *serviceUnderAttack) followers() {
	id := s.create(sized(6, 30)<<20, `,"background":true,"stream":true`)
	s.t.Logf("statuses: %v", s.stalled(http.MethodGet, "/v1/responses/"+id+"?stream=true", "", 200))
}

func (s *serviceUnderAttack) readers() {
	id := s.create(6<<20, ``)
	s.t.Logf("statuses: %v", s.stalled(http.MethodGet, "/v1/responses/"+id, "", 100))
}
