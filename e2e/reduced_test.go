//go:build e2e

package e2e

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/sim"
)

// recording is a server that keeps every byte it gets and answers only a body that says so.
type recording struct {
	address string
	mu      sync.Mutex
	got     bytes.Buffer
	open    sync.WaitGroup
}

const answerMe = "ANSWER-ME"

func newRecording(t *testing.T) *recording {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &recording{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.open.Add(1)
			go r.read(conn)
		}
	}()
	return r
}

func (r *recording) read(conn net.Conn) {
	defer r.open.Done()
	defer conn.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buffer)
		r.mu.Lock()
		r.got.Write(buffer[:n])
		r.mu.Unlock()
		if bytes.Contains(buffer[:n], []byte(answerMe)) {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: " +
				"close\r\n\r\n{}"))
			return
		}
		if err != nil {
			return
		}
	}
}

// all is every byte that came on connections that were opened until now, once they are closed.
func (r *recording) all(t *testing.T) string {
	t.Helper()
	last, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = last.Write([]byte(answerMe))
	_, _ = last.Read(make([]byte, 1)) // connections are accepted in their order: all earlier ones have been
	_ = last.Close()
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// TestReducedBodies: the way is chosen before the body is read, and still no body goes where it must not.
func TestReducedBodies(t *testing.T) { onProxies(t, reducedBodies) }

func reducedBodies(t *testing.T, run runProxy) {
	const secret = "NOT-FOR-THE-SERVER"
	long := strings.Repeat(secret+" ", 10_000)
	for name, allow := range map[string]string{"raw prompts denied": "deny", "raw prompts allowed": "allow"} {
		t.Run(name, func(t *testing.T) {
			gpu, through := newRecording(t), newRecording(t)
			alone := reducedModel("http://" + gpu.address)
			alone.Models[0].RawPrompts = allow
			passing := reducedModel("http://" + gpu.address)
			passing.Models[0].RawPrompts, passing.Passthrough = allow, "http://"+through.address
			without, with := run(t, alone), run(t, passing)
			for _, client := range []*http.Client{http1(t), http2Client(t)} {
				for _, h := range []*hosts.Host{without, with} {
					for _, text := range []string{secret, long} {
						refused(t, ask(client, h.URL+chatPath, chatBody("other", text)), 404, "model_not_found")
						refused(t, ask(client, h.URL+responsesPath, responsesBody("other", text)), 404, "model_not_found")
						refused(t, ask(client, h.URL+rawPath, `{"model":"other","prompt":"`+text+`"}`), 404, "model_not_found")
						refused(t, ask(client, h.URL+chatPath, `{"messages":[],"user":"`+text+`"}`), 400, "missing_required_parameter")
						refused(t, ask(client, h.URL+chatPath, `{"model":"other","model":"`+caseModel+`","user":"`+text+`"}`), 400,
							"duplicate_key")
						if allow == "deny" {
							refused(t, ask(client, h.URL+rawPath, `{"model":"`+caseModel+`","prompt":"`+text+`"}`), 403,
								"raw_prompt_not_allowed")
						}
					}
					refused(t, ask(client, h.URL+"/generate", `{"model":"`+caseModel+`","text":"`+secret+`"}`), 404, "unknown_url")
				}
				if allow == "allow" {
					a := ask(client, with.URL+rawPath, `{"model":"`+caseModel+`","prompt":"`+answerMe+`"}`)
					if a.status != 200 || a.body != "{}" {
						t.Errorf("an allowed prompt: %+v", a)
					}
				}
				if a := ask(client, with.URL+"/v1/embeddings", `{"model":"other","input":"`+answerMe+`"}`); a.status != 200 ||
					a.body != "{}" {
					t.Errorf("another path: %+v", a)
				}
			}
			for server, got := range map[string]string{
				"the model's server": gpu.all(t), "the passthrough server": through.all(t)} {
				if strings.Contains(got, secret) {
					t.Errorf("%s got a body that was refused", server)
				}
				if !strings.Contains(got, "POST /v1/") {
					t.Errorf("%s got nothing at all, so this shows nothing", server)
				}
			}
		})
	}
}

// TestReducedRename: an allowed raw prompt's body changes its length when the server knows the model by another name.
func TestReducedRename(t *testing.T) { onProxies(t, reducedRename) }

func reducedRename(t *testing.T, run runProxy) {
	gpu, url := runSim(t, sim.Options{AnyPrompt: true, Models: []string{"openai/gpt-oss-120b"}})
	c := reducedModel(url)
	c.Models[0].RawPrompts, c.Models[0].ServerModel = "allow", "openai/gpt-oss-120b"
	h := run(t, c)
	for _, client := range []*http.Client{http1(t), http2Client(t)} {
		a := ask(client, h.URL+rawPath, `{"model":"gpt-oss-120b","prompt":"Once","max_tokens":4}`)
		if a.status != 200 || !strings.Contains(a.body, `"object":"text_completion"`) {
			t.Errorf("got %+v", a)
		}
	}
	for _, r := range gpu.Requests() {
		if r.Model != "openai/gpt-oss-120b" {
			t.Errorf("the server got %s", r.Body)
		}
	}
}
