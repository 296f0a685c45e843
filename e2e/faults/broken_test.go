//go:build e2e

package faults

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// brokenRequest is one request of a client to a broken server.
type brokenRequest struct{ name, path, body string }

var brokenRequests = []brokenRequest{
	{"chat, stream", lab.ChatPath, `{"stream":true,` + lab.ChatBody(lab.Model, "Hi")[1:]},
	{"chat", lab.ChatPath, lab.ChatBody(lab.Model, "Hi")},
	{"responses, stream", lab.ResponsesPath, `{"stream":true,` + lab.ResponsesBody(lab.Model, "Hi")[1:]},
}

// ofTwo returns the request for two choices.
func (r *brokenRequest) ofTwo() string { return `{"n":2,` + r.body[1:] }

func (r *brokenRequest) streams() bool { return strings.HasSuffix(r.name, "stream") }

// forwardedTo returns an exchange whose request has gone to a server of a kind, and the body that the server gets.
func forwardedTo(t *testing.T, kind, path, body string) (*exchange.Exchange, string) {
	t.Helper()
	m := contract.DefaultModel(lab.Model)
	m.Server = kind
	m.System.Date = lab.Date
	x := exchange.New(exchange.Options{Tokenizer: o200k.Tokenizer(),
		Config: contract.Config{BodyLimit: 1 << 20, Models: []contract.Model{m}}}).Begin(http.MethodPost, path)
	host := exchange.Host{ID: "abcdefghijklmnopqrstuvwx"}
	action := x.Request([]byte(body), host)
	if call := action.Render; call != nil {
		action = x.Rendered(exchange.RenderAnswer{Status: http.StatusOK, Body: lab.Render(t, string(call.Body))}, host)
	}
	if action.Forward == nil {
		t.Fatalf("not forwarded: %s", action.Reply.Body)
	}
	return x, string(action.Forward.Body)
}

// brokenOf returns all broken responses of a kind of server.
func brokenOf(t *testing.T, kind *contract.Kind) map[string]broken {
	t.Helper()
	r := &brokenRequests[0]
	_, request := forwardedTo(t, kind.Name, r.path, r.body)
	two := ""
	if kind.Choices && !kind.Conversations { // Responses has one choice
		_, two = forwardedTo(t, kind.Name, r.path, r.ofTwo())
	}
	return brokenAnswers(kind, request, two)
}

// passes reports whether the answer to the request passes unchanged.
func (r *brokenRequest) passes(kind string) bool {
	k := contract.KindNamed(kind)
	return k.Conversations && !k.Renders && r.path == lab.ChatPath
}

// asks returns the client's request for a broken response.
func (r *brokenRequest) asks(name string) string {
	if strings.HasPrefix(name, "index ") && r.path == lab.ChatPath {
		return r.ofTwo()
	}
	return r.body
}

// check fails the test unless the client got a typed error in its API's form.
func (b *broken) check(t *testing.T, a lab.Answer, r *brokenRequest) {
	t.Helper()
	got := lab.Read(a.Body)
	switch {
	case b.wantStatus == http.StatusOK:
		if (a.Err != nil) != b.cut || a.Status != http.StatusOK || !got.Finished() ||
			!b.repaired && got.Text != "one two 😀 four five six" {
			t.Errorf("got %+v", a)
		}
	case b.late && r.streams() && a.Status == http.StatusOK:
		// A Chat stream is reset, behind the error if the server has not ended. Others are if the server goes on.
		told := got.Failure != ""
		if r.path == lab.ChatPath {
			told = a.Err != nil
		}
		if !told || got.Finished() {
			t.Errorf("got %+v", a)
		}
	default:
		lab.WantRefused(t, a, b.wantStatus, b.wantCode)
	}
}

// maxTaken is how much of an endless response the gateway may take, in bytes. The largest event that it takes has 4
// MiB.
const maxTaken = 6 << 20

// TestBrokenAnswers: what no healthy server of a kind sends is a typed error in the client's API, however the network
// cuts it. It is reported, and of a response without an end the gateway takes a few MB at most.
func TestBrokenAnswers(t *testing.T) {
	for _, kind := range contract.ServerKinds() {
		all := brokenOf(t, contract.KindNamed(kind))
		for _, name := range namesOf(all) {
			for i := range brokenRequests {
				r, b := &brokenRequests[i], all[name]
				if r.passes(kind) {
					continue // the client gets what the server sends, broken or not
				}
				t.Run(kind+"/"+name+"/"+r.name, func(t *testing.T) {
					want := b.outcome(t, kind, name, r, 16<<10)
					b.check(t, want, r)
					if len(b.body) > 1<<14 || b.again != "" {
						return
					}
					for size := 1; size < 12; size++ {
						if got := b.outcome(t, kind, name, r, size); got.Status != want.Status || got.Body != want.Body {
							t.Fatalf("in pieces of %d bytes: got %+v, want %+v", size, got, want)
						}
					}
				})
			}
		}
	}
}

// errCut stands for what a client's transport reports of a stream that is reset.
var errCut = errors.New("cut off")

// outcome returns what the client gets where the server's response comes in pieces of this size.
func (b *broken) outcome(t *testing.T, kind, name string, r *brokenRequest, size int) lab.Answer {
	t.Helper()
	x, _ := forwardedTo(t, kind, r.path, r.asks(name))
	a := lab.Answer{Header: http.Header{}}
	defer func() {
		report := x.Report()
		if failed := report.Finish == exchange.FinishError; failed != (b.wantStatus != http.StatusOK) ||
			b.repaired != (report.Recoveries != harmony.Recoveries{}) {
			t.Errorf("reported as %+v", report)
		}
	}()
	// ended reports whether the gateway wants no more of the response.
	ended := func(action exchange.ResponseAction) bool {
		if action.Reply != nil {
			a.Status, a.Body = action.Reply.Status, string(action.Reply.Body)
			a.Header.Set("Content-Type", "application/json")
			return true
		}
		if action.Head != nil {
			a.Status = action.Head.Status
			a.Header.Set("Content-Type", action.Head.ContentType)
		}
		a.Body += string(action.Body)
		if action.Reset {
			a.Err = errCut
		}
		return action.Reset
	}
	if ended(x.ResponseHeaders(exchange.ResponseHead{Status: b.status, ContentType: b.contentType})) {
		return a
	}
	for part, taken := b.body, 0; ; part = b.again {
		for part != "" {
			n := min(size, len(part))
			if taken += n; taken > len(b.body)+maxTaken {
				t.Fatalf("%d bytes are taken", taken)
			}
			if ended(x.ResponseBody([]byte(part[:n]), false)) {
				return a
			}
			part = part[n:]
		}
		if b.again == "" {
			ended(x.ResponseBody(nil, true))
			return a
		}
	}
}

// TestBrokenServers: the same on all hosts.
func TestBrokenServers(t *testing.T) {
	var responses []map[string]broken
	var configs []*config.Config
	for _, name := range contract.ServerKinds() {
		all := brokenOf(t, contract.KindNamed(name))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == contract.RenderPath {
				conversation, _ := io.ReadAll(r.Body)
				_, _ = w.Write(lab.Render(t, string(conversation)))
				return
			}
			b := all[r.Header.Get("X-Broken")]
			b.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		c := lab.OneModel(server.URL)
		c.Models[0] = config.DefaultModel(lab.Model, name+"="+server.URL)
		c.Models[0].AcceptTextPrompts = true
		responses, configs = append(responses, all), append(configs, c)
	}
	for i, envoy := range lab.RunEnvoyOfAll(t, configs) {
		c, kind := configs[i], contract.KindNamed(contract.ServerKinds()[i])
		for _, host := range []struct {
			name string
			*hosts.Host
		}{{"native", lab.RunNative(t, c)}, {"wazero", lab.RunWazero(t, c)}, {"envoy", envoy}} {
			t.Run(kind.Name+"/"+host.name, func(t *testing.T) {
				askBroken(t, host.Host, kind, responses[i], host.name != "native")
			})
		}
	}
}

// askBroken sends every request for every response of servers of a kind, a few at a time. counts reports whether the
// host counts requests.
func askBroken(t *testing.T, host *hosts.Host, kind *contract.Kind, all map[string]broken, counts bool) {
	client := lab.HTTP1(t)
	slots := make(chan struct{}, 8)
	var mu sync.Mutex
	var running sync.WaitGroup
	byStatus, before := map[string]int{}, map[string]int{}
	if counts {
		before = requestsByStatus(t, host)
	}
	for _, name := range namesOf(all) {
		for i := range brokenRequests {
			b, r := all[name], &brokenRequests[i]
			if r.passes(kind.Name) {
				continue
			}
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				header := http.Header{"X-Broken": {name}, "Content-Type": {"application/json"}}
				a := lab.Do(client, http.MethodPost, host.URL+r.path, header, strings.NewReader(r.asks(name)))
				mu.Lock()
				defer mu.Unlock()
				byStatus[strconv.Itoa(a.Status)]++
				t.Run(name+"/"+r.name, func(t *testing.T) { b.check(t, a, r) })
			})
		}
	}
	running.Wait()
	if !counts {
		return
	}
	counted := requestsByStatus(t, host)
	for status, n := range before { // one Envoy has all kinds
		if counted[status] -= n; counted[status] == 0 {
			delete(counted, status)
		}
	}
	if !maps.Equal(counted, byStatus) {
		t.Errorf("the answers have the statuses %v, counted are %v", byStatus, counted)
	}
}

// requestsByStatus returns how many answers of each status a host has counted.
func requestsByStatus(t *testing.T, host *hosts.Host) map[string]int {
	t.Helper()
	counted := map[string]int{}
	for name, n := range lab.Counters(t, host) {
		if _, status, ok := strings.Cut(name, ".status."); ok && strings.HasPrefix(name, "harmony_requests_total.") {
			counted[status] += n
		}
	}
	return counted
}
