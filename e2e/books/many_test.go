//go:build e2e

package books

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// bookedRequests is how many requests there are: enough for a whole run, or so few that the books' code has been used.
var bookedRequests = map[bool]int64{true: 10_000, false: 2_000}[lab.AtLength()]

const (
	bookedClients = 40
	// mostReserved is how many tokens a request reserves at most, and mostBeyond how many more it may use.
	mostReserved = 500
	mostBeyond   = 20
)

// TestBooks lets 40 clients send 10,000 requests (2,000 without HARMONY_SOAK) to two Envoys, which ask two replicas of the service with one Redis.
// Clients leave at any time, servers die before and while they answer, and a replica is killed in the middle. In the
// end every token is accounted for, and what the ledger calls used is what the access logs say, but for settlements that
// were under way to that replica.
func TestBooks(t *testing.T) {
	redis := lab.StartRedis(t)
	keys := writeKeys(t, "clients: [{name: strict, limits: {tokens_per_minute: 3000, concurrency: 2}}]")
	var replicas []*replica
	var addresses []string
	for range 2 {
		r := startReplica(t, keys, "--redis", redis.URL, "--slot-lifetime", "20s")
		replicas, addresses = append(replicas, r), append(addresses, r.address)
	}
	var servers []string
	for range 4 {
		servers = append(servers, startServer(t))
	}
	gone := startServer(t)
	proxies := []proxy{startProxy(t, append(servers, gone), addresses), startProxy(t, append(servers, gone), addresses)}

	var sent, left atomic.Int64
	var group sync.WaitGroup
	for c := range bookedClients {
		name := fmt.Sprint("client-", c%7)
		if c%8 == 0 {
			name = "strict"
		}
		random := rand.New(rand.NewPCG(uint64(c), 1))
		group.Go(func() {
			for i := range int(bookedRequests) / bookedClients {
				if n := sent.Add(1); n == bookedRequests/2 {
					replicas[0].Kill(t)
				}
				if !once(t, random, proxies[(c+i)%2].address, name, fmt.Sprintf("%d-%d", c, i)) {
					left.Add(1)
				}
			}
		})
	}
	group.Wait()

	w := witness(t, proxies)
	books := replicas[1].awaitBooks(t, w.used, bookedClients*(mostReserved+mostBeyond))
	t.Logf("%d requests, of which %d clients have left and %d were refused", sent.Load(), left.Load(), w.refused)
	t.Logf("reserved %d + beyond it %d + without it %d = used %d + refunded %d + lost %d (of %d requests)", books.Reserved,
		books.Overrun, books.Unreserved, books.Used, books.Refunded, books.Lost, books.LostRequests)
	t.Logf("used, says the ledger: %d; used, say the access logs of two Envoys: %d", books.Used, w.used)
	if w.lines < bookedRequests*9/10 || left.Load() == 0 || w.refused == 0 || w.failed == 0 {
		t.Errorf("the run has not what it is for: %+v, %d left", w, left.Load())
	}
	// Envoy takes back a question that is under way when its client leaves, and sends no settlement for it.
	if books.LostRequests > w.unasked {
		t.Errorf("%d reservations are lost, and only %d clients left before the answer", books.LostRequests, w.unasked)
	}
}

// once sends a request, and reports whether its client has stayed until the end.
func once(t *testing.T, random *rand.Rand, address, client, id string) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leaves := random.IntN(6) == 0
	if leaves {
		time.AfterFunc(time.Duration(random.IntN(15000))*time.Microsecond, cancel)
	}
	reserve := random.IntN(mostReserved)
	used := random.IntN(reserve + mostBeyond) // some use more than they have reserved
	resp, err := http.DefaultClient.Do(request(ctx, address, client, id, strconv.Itoa(reserve), strconv.Itoa(used)))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if err != nil && !leaves && resp == nil {
		t.Errorf("%s: %v", id, err)
	}
	return ctx.Err() == nil
}

// startServer runs a server that takes some milliseconds for an answer, and sometimes dies before or in its middle.
func startServer(t *testing.T) (address string) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := n.Add(1)
		if at%40 == 0 {
			panic(http.ErrAbortHandler)
		}
		for i := range 3 {
			io.WriteString(w, "one piece of an answer\n")
			w.(http.Flusher).Flush()
			if at%40 == 20 && i == 1 {
				panic(http.ErrAbortHandler)
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Duration(at%7) * time.Millisecond):
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// said is what the access logs say.
type said struct {
	lines, refused, failed, unasked int64
	used                            int64
}

// witness reads the access logs when all lines are there.
func witness(t *testing.T, proxies []proxy) (w said) {
	t.Helper()
	until(t, "the access logs have all lines", func() bool {
		w = said{}
		var got int64
		for _, p := range proxies {
			got += p.requests(t)
			for _, line := range wholeLines(t, p.log) {
				w.add(t, strings.Fields(string(line)))
			}
		}
		return w.lines == got
	})
	return w
}

// add adds a line: client, id, reserved, used, status, server, flags.
func (w *said) add(t *testing.T, line []string) {
	t.Helper()
	if len(line) != 7 {
		t.Fatalf("%q", line)
	}
	used, err := strconv.ParseInt(line[3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	w.lines++
	switch status, server := line[4], line[5]; {
	case status == "429":
		w.refused++
	case server == "-" && strings.Contains(line[6], "DC"):
		w.unasked++
		return
	case status == "503":
		w.failed++
	}
	w.used += used
}
