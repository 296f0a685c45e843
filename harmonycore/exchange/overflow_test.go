package exchange

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// overflowing returns options with a model of 80 tokens, whose overflow has servers of a kind.
func overflowing(kind string) Options {
	small, large := contract.DefaultModel("m"), contract.DefaultModel("large")
	small.ContextLength, small.System.Date, small.OverflowModel = 80, "2026-01-02", "large"
	large.Server, large.PoolName, large.ServerModel = kind, "there", "l"
	return Options{Config: contract.Config{BodyLimit: 1 << 20, Models: []contract.Model{small, large}},
		Tokenizer: o200k.Tokenizer()}
}

// TestOverflow: what does not fit a model goes to another one, as the client has sent it, whatever kind that has.
func TestOverflow(t *testing.T) {
	long := "\\u0048i \\ud83d\\udc69" + strings.Repeat(" one", 40)
	bodies := map[string]string{
		contract.ChatPath:      `{"model":"m","messages":[{"role":"user","content":"%s"}]}`,
		contract.ResponsesPath: `{"model":"m","input":"%s"}`,
		contract.MessagesPath:  `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`,
	}
	for path, form := range bodies {
		for _, kind := range []string{contract.VLLM, contract.Chat} {
			direct := overflowing(kind)
			run := func(body string, scratch *Scratch) (RequestAction, *Exchange) {
				x := New(direct).Begin("POST", path)
				x.RequestHeaders()
				a := x.Request([]byte(body), Host{ID: "0123456789abcdef01234567", Now: 1_767_312_000_000, Scratch: scratch})
				return a, x
			}
			body := fmt.Sprintf(form, long)
			moved, x := run(body, &Scratch{})
			asked, _ := run(strings.Replace(body, `"m"`, `"large"`, 1), nil)
			if moved.Forward == nil || asked.Forward == nil {
				t.Fatalf("%s, %s: %+v, %+v", path, kind, moved.Reply, asked.Reply)
			}
			if !bytes.Equal(moved.Forward.Body, asked.Forward.Body) || moved.Forward.Pool != "large" {
				t.Errorf("%s, %s: to %s\n%s\nwant\n%s", path, kind, moved.Forward.Pool, moved.Forward.Body, asked.Forward.Body)
			}
			r := x.Report()
			if r.Model != "large" || r.Server != kind || r.Pool != "there" || r.Route != "there;why=context;model=large" {
				t.Errorf("%s, %s: %+v", path, kind, r)
			}
			if short, x := run(fmt.Sprintf(form, "Hi"), nil); short.Forward.Pool != "m" || x.Report().Route != "" {
				t.Errorf("%s, %s: a short request goes to %s", path, kind, short.Forward.Pool)
			}
		}
	}
}

// TestOverflowTooLong: what does not fit the other model either gets the error of that model.
func TestOverflowTooLong(t *testing.T) {
	o := overflowing(contract.VLLM)
	o.Models[1].ContextLength = 90
	for path, body := range map[string]string{
		contract.ChatPath:     `{"model":"m","messages":[{"role":"user","content":"Hi%s"}]}`,
		contract.MessagesPath: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi%s"}]}`,
	} {
		x := New(o).Begin("POST", path)
		a := x.Request(fmt.Appendf(nil, body, strings.Repeat(" one", 40)), Host{ID: "0123456789abcdef01234567"})
		if a.Reply == nil || a.Reply.Status != 400 || !bytes.Contains(a.Reply.Body, []byte("90 ")) || x.RouteTaken() != "" {
			t.Errorf("%s: %+v, %q", path, a.Reply, x.RouteTaken())
		}
	}
}

// TestOverflowMemory: a request that may be read twice needs memory for both, and for its copy.
func TestOverflowMemory(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`
	need := func(o Options) (bytes int) {
		New(o).Begin("POST", contract.ChatPath).Request([]byte(body), Host{ID: "0123456789abcdef01234567",
			Admit: func(n int) bool { bytes = n; return true }})
		return bytes
	}
	twice, once := overflowing(contract.VLLM), overflowing(contract.VLLM)
	once.Models[0].OverflowModel = ""
	if got, want := need(twice), 2*need(once)+len(body); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
