//go:build e2e

package prefill

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestLargePrompts: prompts of nearly the whole context, several at once. The servers get each of them whole.
func TestLargePrompts(t *testing.T) {
	const words = 100_000
	body := lab.ChatBody(lab.Model, "Hi"+strings.Repeat(" again", words))
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{contract.VLLM, contract.SGLang} {
			p := runPools(t, kind, 2, 1, sim.Options{}, sim.Options{})
			h := run(t, p.config())
			var all sync.WaitGroup
			for range 6 {
				all.Go(func() {
					if a := lab.Ask(lab.HTTP2(t), h.URL+lab.ChatPath, body); a.Status != 200 || !strings.Contains(a.Body, "six") {
						t.Errorf("%s: got %+v", kind, a)
					}
				})
			}
			all.Wait()
			for _, q := range append(completions(p.readers), completions(p.writers)...) {
				if len(q.PromptIDs) < words {
					t.Errorf("%s: a server gets %d ids", kind, len(q.PromptIDs))
				}
			}
			if done, kept := transfers(p.readers); done != 6 || kept != 0 {
				t.Errorf("%s: %d prompts were fetched, %d are left", kind, done, kept)
			}
		}
	})
}

// TestRudeReaders: readers that never answer, that answer without an end, and that answer more than anybody can hold.
// The writer reads the prompt then, in bounded time.
func TestRudeReaders(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"silent": func(c net.Conn) { time.Sleep(time.Minute) },
		"no end": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
			time.Sleep(time.Minute)
		},
		"large": func(c net.Conn) {
			const size = 8 << 20
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", size)
			fmt.Fprint(c, `{"kv_transfer_params":{"remote_host":"x"},"rest":"`+strings.Repeat("a", size))
		},
		"no HTTP": func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-OpenSSH\r\n") },
		"a lie": func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"+
				`{"kv_transfer_params":{"do_remote_prefill":true}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
				p := runPools(t, contract.VLLM, 0, 1, sim.Options{}, sim.Options{})
				p.readerURLs = []string{runRude(t, answer)}
				c := p.config()
				c.StallTimeout = config.Duration(time.Second)
				h := run(t, c)
				began := time.Now()
				a := askChat(t, h, true)
				if want := name != "a lie"; a.Err != nil || (a.Status == 200) != want || want == strings.Contains(a.Body, `"error"`) {
					t.Errorf("got %+v", a)
				}
				if took := time.Since(began); took > lab.Patience/4 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// runRude runs a server that reads a request's head and answers as it likes.
func runRude(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			go func() {
				defer c.Close()
				buffer := make([]byte, 64<<10)
				_, _ = c.Read(buffer)
				answer(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// TestClientsCannotSteer: what a client writes into the body or the headers neither chooses a server nor reaches one.
func TestClientsCannotSteer(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, kind := range []string{contract.VLLM, contract.SGLang} {
			p := runPools(t, kind, 1, 1, sim.Options{}, sim.Options{})
			h := run(t, p.config())
			header := http.Header{"Content-Type": {"application/json"}}
			header.Set(contract.DestinationHeader, strings.TrimPrefix(p.writerURLs[0], "http://"))
			body := `{"bootstrap_host":"evil","bootstrap_port":1,"bootstrap_room":1,"rid":"evil","kv_transfer_params":` +
				`{"do_remote_prefill":true,"remote_host":"evil"},` + lab.ChatBody(lab.Model, "Hi")[1:]
			a := lab.Do(lab.HTTP1(t), http.MethodPost, h.URL+lab.ChatPath, header, strings.NewReader(body))
			if a.Status != 200 && a.Status != 400 {
				t.Errorf("%s: got %+v", kind, a)
			}
			for _, q := range append(completions(p.readers), completions(p.writers)...) {
				if strings.Contains(string(q.Body), "evil") || q.Header.Get(contract.DestinationHeader) != "" {
					t.Errorf("%s: a server gets %v %s", kind, q.Header, q.Body)
				}
			}
			if n := len(completions(p.writers)); a.Status == 200 && n != 1 {
				t.Errorf("%s: the writer gets %d requests", kind, n)
			}
		}
	})
}
