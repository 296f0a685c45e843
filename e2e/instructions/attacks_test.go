//go:build e2e

package instructions

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/hostile"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// These tests attack the memory of prefixes. What they compare is counted, so it is the same on every machine.

// sendAs sends a request of a client, and what no client needs of its answer.
func (g *gateway) sendAs(key, path, body string) *filtertest.Exchange {
	x := g.host.Request(http.MethodPost, path, body, "content-type", "application/json", "authorization", "Bearer "+key)
	if !x.Done() {
		x.ClientLeaves()
	}
	return x
}

// remembering starts a VM, with a memory of prefixes or without.
func remembering(t *testing.T, wasm string, remembers bool) *gateway {
	t.Helper()
	return newGateway(t, wasm, &load{kind: contract.VLLM, session: true, remembers: remembers}, false)
}

// TestStrangersTurn: what a client sends takes as many instructions if another client has sent the same as if nobody
// has, and no fewer than without a memory. So its time tells nothing of what others send.
func TestStrangersTurn(t *testing.T) {
	wasm := instrumented(t)
	body := agents.New(agents.Tuning, 1).Bodies(agents.Responses, lab.Model).Turn(shortSession)
	// Another conversation with the same words: the tokenizer remembers words, whoever has sent them.
	other := strings.Replace(body, `"instructions":"`, `"instructions":"X`, 1)
	took := func(remembers bool, key, first string) (instructions uint64, wall time.Duration) {
		g := remembering(t, wasm, remembers)
		g.sendAs("first", contract.ResponsesPath, first)
		began := time.Now()
		g.countIf(true, func() { g.sendAs(key, contract.ResponsesPath, body) })
		return g.sum.Instructions, time.Since(began)
	}
	same, sameTime := took(true, "second", body)
	fresh, freshTime := took(true, "second", other)
	without, _ := took(false, "second", body)
	again, againTime := took(true, "first", body)
	t.Logf("instructions: %s after another client's same request, %s after another one, %s without a memory; its own "+
		"again %s. In this run: %s, %s, –, %s", grouped(same), grouped(fresh), grouped(without), grouped(again), sameTime,
		freshTime, againTime)
	if !near(same, fresh, 0) || same < without {
		t.Errorf("%d instructions after another client's same request, %d after another one, %d without a memory", same, fresh,
			without)
	}
	if again > same/4 {
		t.Errorf("the client's own request again takes %d instructions of %d", again, same)
	}
}

// TestSessionFlood: however many sessions come, of however many clients, a VM stays as large as it was, and a client
// that goes on finds its own. `make soak` sends 100,000.
func TestSessionFlood(t *testing.T) {
	sessions := 3000
	if lab.AtLength() {
		sessions = 100_000
	}
	g := remembering(t, lab.Tool(t, "HARMONY_WASM"), true)
	mine := agents.New(agents.Tuning, 1).Bodies(agents.Chat, lab.Model).Turn(1)
	begun := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q},{"role":"user","content":"`, lab.Model,
		strings.Repeat("The flood comes. ", 250))
	at, after := uint32(0), 2000 // the memory is full then
	for i := range sessions {
		g.sendAs(fmt.Sprint("client ", i), contract.ChatPath, fmt.Sprintf(`%s%d"},{"role":"user","content":"%[2]d"}]}`,
			begun, i))
		if i%100 == 0 {
			g.sendAs("mine", contract.ChatPath, mine)
			g.host.Advance(250 * time.Millisecond)
		}
		if i == after {
			at = g.counter.Memory()
		}
		if used := g.host.Metrics()["harmony_prefix_memory_bytes"]; used > 8<<20 {
			t.Fatalf("%d bytes are remembered after %d sessions", used, i)
		}
	}
	hits, want := g.host.Metrics()["harmony_prefix_requests_total.kind.hit"], uint64((sessions-1)/100)
	t.Logf("%d sessions: the VM has %d KiB after %d, %d in the end; %d bytes are remembered; the client that goes on was "+
		"known %d times", sessions, at>>10, after, g.counter.Memory()>>10, g.host.Metrics()["harmony_prefix_memory_bytes"],
		hits)
	if grown := g.counter.Memory(); grown > at {
		t.Errorf("the VM has grown from %d to %d bytes", at, grown)
	}
	if hits < want {
		t.Errorf("a client that goes on was known %d times of %d", hits, want)
	}
}

// TestHoldsWithMemory: what holds a worker longest holds it as long with a memory of prefixes as without, whether it is
// new, comes again, begins as another one, or nearly agrees with many. `make recall` sends larger requests, and
// HARMONY_FAMILY are those of one family.
func TestHoldsWithMemory(t *testing.T) {
	sizes := []int{48 << 10}
	if lab.AtLength() {
		sizes = []int{190 << 10, 1000 << 10}
	}
	for _, size := range sizes {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) { compareHolds(t, size) })
	}
}

func compareHolds(t *testing.T, size int) {
	wasm := instrumented(t)
	with, without := remembering(t, wasm, true), remembering(t, wasm, false)
	longest := func(g *gateway, path, body string) (most uint64) {
		for range 2 {
			g.sum.Instructions = 0
			g.countIf(true, func() { g.sendAs("", path, body) })
			most = max(most, g.sum.Instructions)
		}
		g.host.Advance(250 * time.Millisecond)
		return most
	}
	type hold struct {
		name          string
		with, without uint64
	}
	var all []hold
	families, only := hostile.All(), os.Getenv("HARMONY_FAMILY")
	for i := range families { // what is sent later begins as these
		with.sendAs("", families[i].Path, string(families[i].Body(6<<10, 2)))
	}
	for i := range families {
		f := &families[i]
		if !strings.Contains(f.Name, only) {
			continue
		}
		body := string(f.Body(size, 1))
		all = append(all, hold{f.Name, longest(with, f.Path, body), longest(without, f.Path, body)})
	}
	for i := range 8 {
		body := nearly(size, i)
		all = append(all, hold{fmt.Sprint("nearly the same, ", i), longest(with, contract.ChatPath, body),
			longest(without, contract.ChatPath, body)})
	}
	slices.SortFunc(all, func(a, b hold) int { return int(b.with) - int(a.with) })
	for i, h := range all {
		if i < 5 || h.with > 2*h.without {
			t.Logf("%14s instructions, %14s without a memory: %s", grouped(h.with), grouped(h.without), h.name)
		}
	}
	slowest := slices.MaxFunc(all, func(a, b hold) int { return int(a.without) - int(b.without) })
	if float64(all[0].with) > 1.1*float64(slowest.without) {
		t.Errorf("the longest hold is %d instructions (%s), and %d without a memory (%s)", all[0].with, all[0].name,
			slowest.without, slowest.name)
	}
}

// nearly returns a conversation of about so many bytes. All of them begin alike, and differ in their lengths and in one
// byte, which is not one of those that are compared first.
func nearly(size, i int) string {
	text := []byte(strings.Repeat("x ", size/2-100+i))
	text[len(text)/2-len(text)/50] = byte('a' + i%20)
	return `{"model":"` + lab.Model + `","messages":[{"role":"system","content":"S"},{"role":"user","content":"` +
		string(text) + `"},{"role":"user","content":"?"}]}`
}

// TestManyWorkers counts a session whose turns come to any of several workers, as over new connections. A worker that
// has had an earlier turn reads only what has come since. With HARMONY_SOAK it is the whole session, and the figures are
// those of docs/agent-turns.md.
func TestManyWorkers(t *testing.T) {
	turns, workers := shortSession, []int{1, 2}
	if lab.AtLength() {
		turns, workers = agents.Turns, []int{1, 2, 4, 8, 16, 64}
	}
	wasm := instrumented(t)
	bodies := agents.New(agents.HoldOut, 1).Bodies(agents.Responses, lab.Model)
	play := func(n int, remembers bool) (instructions uint64) {
		all := make([]*gateway, n)
		chosen := rand.New(rand.NewPCG(1, uint64(n)))
		for turn := 1; turn <= turns; turn++ {
			i := chosen.IntN(n)
			if all[i] == nil {
				all[i] = remembering(t, wasm, remembers)
			}
			all[i].countIf(true, func() { all[i].sendAs("key", contract.ResponsesPath, bodies.Turn(turn)) })
		}
		for _, g := range all {
			if g != nil {
				instructions += g.sum.Instructions
			}
		}
		return instructions
	}
	for _, n := range workers {
		without := play(n, false)
		part := float64(play(n, true)) / float64(without)
		t.Logf("%d workers: %.2f of %s instructions", n, part, grouped(without))
		if n == 1 && part > 0.3 || part > 1 {
			t.Errorf("%d workers: %.2f of the instructions that it takes without a memory", n, part)
		}
	}
}
