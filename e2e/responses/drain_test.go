//go:build e2e

package responses

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// drainable is a gateway before a pool of two servers, one of which is drained.
type drainable struct {
	*gateway
	t             *testing.T
	first, second *sim.Server
	url           string // the first one's
	page          string
}

// startDrainable starts it. pool are further settings of the pool.
func startDrainable(t *testing.T, pool string) *drainable {
	t.Helper()
	d := &drainable{t: t}
	options := sim.Options{Models: []string{lab.Model}, Keep: 1000, AnyPrompt: true, TokensPerSecond: 40,
		Script: sim.NewScript(sim.Line{Match: "cut at", Tokens: resumeAnswer(), Continues: true})}
	var other string
	d.first, d.url = lab.RunSim(t, options)
	d.second, other = lab.RunSim(t, options)
	d.gateway = &gateway{service.Start(t, service.Options{Host: "envoy", Environment: []string{service.StoreKeys, resumeKeys},
		Sim: sim.Options{Keep: 100}, ModelSettings: []string{"relay: 'off'"},
		Configuration: "  - name: two\n    server_model: " + lab.Model + "\n    relay: resume\n    pool: gpus\n" +
			"pools:\n  - name: gpus\n    servers: ['" + d.url + "', '" + other + "']\n    drain: []\n" + pool})}
	d.gateway.Gateway = d.Calling("two")
	d.page = d.Program.Announced(t, `(?m)^page.*: http://(\S+)$`)
	return d
}

// status waits until harmony status says something of the first server, and has the exit status 0.
func (d *drainable) status(want string) {
	d.t.Helper()
	said, address := "", strings.TrimPrefix(d.url, "http://")
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(lab.Pause) {
		p := lab.RunHarmony(d.t, nil, "status", "--address", d.page)
		if !p.Ended(lab.ReadyLimit) {
			d.t.Fatal("harmony status does not end")
		}
		said = p.Stdout.String() + p.Stderr.String()
		for line := range strings.Lines(said) {
			if strings.Contains(line, address) && strings.Contains(line, want) && p.ExitCode(d.t) == 0 {
				return
			}
		}
	}
	d.t.Fatalf("harmony status never said %q of %s:\n%s", want, d.url, said)
}

// drain drains the first server, or ends that.
func (d *drainable) drain(begin bool) {
	d.t.Helper()
	if begin {
		d.Change("drain: []", "drain: ['"+d.url+"']")
	} else {
		d.Change("drain: ['"+d.url+"']", "drain: []")
	}
}

// ask asks in a way, and returns the answer without ids and times.
func (d *drainable) ask(t *testing.T, way string) string {
	switch way {
	case "background":
		return inBackground(t, d.gateway, "cut at 999.")
	case "websocket":
		return onConnection(t, d.gateway, "cut at 999.")
	}
	q := resumeAPIs[way]
	if way == "penalty" { // it cannot be moved, and ends where it is
		q = quietly{"chat/completions", `"stream":true,"presence_penalty":0.5,"messages":[{"role":"user","content":"PLACE"}]`}
	}
	a := lab.Do(lab.HTTP1(t), "POST", d.URL+"/v1/"+q.path, nil,
		strings.NewReader(d.Body(strings.ReplaceAll(q.members, "PLACE", "cut at 999."))))
	if a.Err != nil || a.Status != 200 {
		t.Errorf("%s: %d %v %s", way, a.Status, a.Err, a.Body)
	}
	return unsteady.ReplaceAllString(a.Body, "$1$3$4")
}

// TestDrain drains a server under streams of all kinds. They go on at the other server, and each is what one server
// would have written. The drained server gets nothing new, is no failure, and may be stopped at last. Then it serves
// again.
func TestDrain(t *testing.T) {
	ways := []string{"responses", "chat", "messages", "background", "websocket", "penalty"}
	const each = 3
	d := startDrainable(t, "")
	d.status("ready")
	want := map[string]string{}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, way := range ways {
		asking.Go(func() {
			text := d.ask(t, way)
			mu.Lock()
			want[way] = text
			mu.Unlock()
		})
	}
	asking.Wait()
	before, beforeSecond := prompted(d.first.Requests()), prompted(d.second.Requests())
	for _, way := range ways {
		for range each {
			asking.Go(func() {
				if got := d.ask(t, way); got != want[way] {
					t.Errorf("%s:\n%s\nwant\n%s", way, got, want[way])
				}
			})
		}
	}
	total := before + beforeSecond + each*len(ways)
	for end := time.Now().Add(lab.Patience); prompted(d.first.Requests())+prompted(d.second.Requests()) < total; {
		if time.Sleep(lab.Pause); time.Now().After(end) {
			t.Fatal("the servers do not get the requests")
		}
	}
	there := prompted(d.first.Requests())
	d.drain(true)
	d.status("draining")
	asking.Wait()
	if n := prompted(d.first.Requests()); n != there || there == before {
		t.Errorf("the drained server was asked %d times, and had %d requests", n-there, there-before)
	}
	moved := prompted(d.first.Requests()) + prompted(d.second.Requests()) - total
	if t.Logf("%d of %d requests of the drained server were moved", moved, there-before); moved == 0 {
		t.Error("no stream was moved")
	}
	for range 8 {
		d.ask(t, "chat")
	}
	if n := prompted(d.first.Requests()); n != there {
		t.Errorf("the drained server was asked %d times", n-there)
	}
	d.status("no request left: it may be stopped")
	d.drain(false)
	d.status("ready")
	for end := time.Now().Add(lab.Patience); prompted(d.first.Requests()) == there; {
		if d.ask(t, "chat"); time.Now().After(end) {
			t.Fatal("it gets no requests again")
		}
	}
}

// TestDrainEachPolicy: a drained server gets no request, whatever chooses the server.
func TestDrainEachPolicy(t *testing.T) {
	lab.Long(t, "e2e-long")
	for name, pool := range map[string]string{
		"round_robin": "    policy: round_robin\n", "prefix": "    policy: prefix\n",
		"cookie": "    policy: session\n    session: { cookie: c }\n", "header": "    policy: session\n    session: { header: x-s }\n",
		"picker": "    policy: picker\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := startDrainable(t, pool)
			address := strings.TrimPrefix(d.url, "http://")
			cookie := ""
			ask := func(i int) {
				t.Helper()
				a := lab.Do(lab.HTTP1(t), "POST", d.URL+"/v1/chat/completions", map[string][]string{"Cookie": {cookie},
					"X-S": {fmt.Sprint(i)}, "X-Gateway-Destination-Endpoint": {address}},
					strings.NewReader(d.Body(fmt.Sprintf(`"max_tokens":1,"messages":[{"role":"user","content":"cut at %d"}]`, i))))
				if a.Err != nil || a.Status != 200 {
					t.Fatalf("%v: %d %s", a.Err, a.Status, a.Body)
				}
				if got := a.Header.Get("set-cookie"); got != "" && prompted(d.first.Requests()) == 1 && cookie == "" {
					cookie, _, _ = strings.Cut(got, ";")
				}
			}
			d.status("ready")
			for i := range 24 {
				ask(i)
			}
			there := prompted(d.first.Requests())
			if there == 0 {
				t.Fatal("the server got no request before")
			}
			d.drain(true)
			d.status("draining")
			d.status("no request left")
			for i := range 24 {
				ask(i)
			}
			if n := prompted(d.first.Requests()); n != there {
				t.Errorf("the drained server was asked %d times", n-there)
			}
		})
	}
}
