//go:build e2e

package limits

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestHeldBodies: what a worker holds of requests that are still being received is bounded, and the largest of them
// make room for the rest.
func TestHeldBodies(t *testing.T) { lab.OnProxies(t, heldBodies) }

func heldBodies(t *testing.T, run lab.RunProxy) {
	_, url := lab.RunSim(t, sim.Options{})
	c := lab.OneModel(url)
	c.BodyLimit, c.MemoryLimit = 4<<20, spokenLimit
	h := run(t, c, memoryOf(strconv.Itoa(62<<20)))
	client := lab.HTTP1(t)
	ask := func() {
		t.Helper()
		a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
		if a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("a small request: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	before := residentMiB(t, h)
	const many, size, room = 40, 3 << 20, 20 // 120 MiB, of which 62 MiB may be held
	var unfinished sync.WaitGroup
	answers := make(chan lab.Answer, many)
	held := make([]*halfRequest, many)
	for i := range held {
		held[i] = beginRequest(t, h, 4<<20)
		unfinished.Go(func() {
			held[i].send(size)
			answers <- held[i].answer()
		})
	}
	bystanders := startBystanders(h.URL)
	told := 0
	for range many - room {
		select {
		case a := <-answers:
			if a.Err != nil {
				continue // the connection was closed while the client was still sending, so the answer was lost
			}
			told++
			lab.WantRefused(t, a, http.StatusTooManyRequests, "gateway_overloaded")
			if a.Header.Get("retry-after") != "1" {
				t.Errorf("retry-after %q", a.Header.Get("retry-after"))
			}
		case <-time.After(lab.Patience):
			t.Fatal("fewer requests are refused than cannot be held")
		}
	}
	for _, a := range bystanders() {
		// To be refused for a moment is right, and to lose a piece of the body is not.
		if a.Err != nil || a.Status != http.StatusOK && a.ErrorCode() != "gateway_overloaded" {
			t.Errorf("a request beside them: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if told == 0 {
		t.Error("no client was told why")
	}
	ask()
	if n := len(answers); n > 0 {
		t.Errorf("%d more requests are refused than cannot be held", n)
	}
	// The room that this one needs is made by others, and its body is whole.
	padded := strings.Repeat(" ", size-64<<10) + lab.ChatBody(lab.Model, "Hi")
	if a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(padded)); a.Err != nil ||
		a.Status != http.StatusOK {
		t.Errorf("a request for which others make room: %d %s %v", a.Status, a.Body, a.Err)
	}
	if after := residentMiB(t, h); after > before+100 {
		t.Errorf("it has grown from %d to %d MiB", before, after)
	}
	for _, r := range held {
		r.leave()
	}
	unfinished.Wait()
	// Released memory can be held again: nearly all of it at a time, and often.
	padding := strings.Repeat(" ", size)
	large := func() lab.Answer {
		return lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil,
			strings.NewReader(padding+lab.ChatBody(lab.Model, "Hi")))
	}
	// Until the gateway has read that those clients have left, it refuses this body, which is larger than theirs.
	for end := time.Now().Add(lab.Patience); ; {
		a := large()
		if a.Err == nil && a.Status == http.StatusOK {
			break
		}
		if a.Err == nil && a.ErrorCode() != "gateway_overloaded" || time.Now().After(end) {
			t.Fatalf("the first large request: %d %s %v", a.Status, a.Body, a.Err)
		}
		time.Sleep(lab.Pause)
	}
	for range 20 {
		if a := large(); a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("a large request: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	ask()
}

// startBystanders sends requests in pieces until the function that it returns is called, which waits for the last ones
// and returns all answers.
func startBystanders(base string) (end func() []lab.Answer) {
	const clients = 4
	body := strings.Repeat(" ", 256<<10) + lab.ChatBody(lab.Model, "Hi")
	stop := make(chan struct{})
	all := make(chan []lab.Answer, clients)
	for range clients {
		go func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			var got []lab.Answer
			for {
				got = append(got, lab.Do(client, http.MethodPost, base+lab.ChatPath, nil, strings.NewReader(body)))
				select {
				case <-stop:
					all <- got
					return
				default:
				}
			}
		}()
	}
	return func() (got []lab.Answer) {
		close(stop)
		for range clients {
			got = append(got, <-all...)
		}
		return got
	}
}

// residentMiB is the memory of Envoy's process; of the other host, which is this one, it is 0.
func residentMiB(t *testing.T, h *hosts.Host) int {
	t.Helper()
	if h.Process == nil {
		return 0
	}
	kib, err := hosts.ResidentKiB(h.Process.PID())
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// halfRequest is a request over HTTP/1.1 whose body comes as the test says.
type halfRequest struct {
	conn net.Conn
	left sync.Once
}

// beginRequest sends the headers of a chat request with a body of length bytes.
func beginRequest(t *testing.T, h *hosts.Host, length int) *halfRequest {
	t.Helper()
	return beginRequestTo(t, h, lab.ChatPath, length)
}

// send sends so many bytes of the body; a gateway that has answered takes no more of them.
func (r *halfRequest) send(bytesOfIt int) { _, _ = r.conn.Write(bytes.Repeat([]byte(" "), bytesOfIt)) }

// Answer waits for the answer, or for the end of the connection.
func (r *halfRequest) answer() lab.Answer {
	response, err := http.ReadResponse(bufio.NewReader(r.conn), nil)
	if err != nil {
		return lab.Answer{Err: err}
	}
	return lab.ReadAnswer(response)
}

func (r *halfRequest) leave() { r.left.Do(func() { _ = r.conn.Close() }) }
