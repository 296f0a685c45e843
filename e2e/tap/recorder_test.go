//go:build e2e

package tap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// key is the tap's key in these tests.
const key = "0123456789abcdef0123456789abcdef"

// recorder is an HTTP server that keeps the frames that it gets.
type recorder struct {
	t   *testing.T
	URL string
	// answer is what happens to a call before its frames are kept, if it is set. It reports whether to keep them.
	answer func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	more  sync.Cond
	calls int
	// bytes is the size of all calls, and largest the size of the largest one. bodies are the calls.
	bytes, largest int
	bodies         []byte
	open           map[string]*tapped
	// ended are the requests whose end has come, in the order of their ends.
	ended []*tapped
	// atOnce are the calls under way of each VM. most is the greatest number there was.
	atOnce map[string]int
	most   int
}

// tapped is what a recorder has got of a request.
type tapped struct {
	request    tap.RequestHead
	kinds      []tap.Kind
	times      []int64
	body       string
	sent       []tap.SentHead
	sentBody   string
	head       []tap.ResponseHead
	chunks     string
	answerHead []tap.ResponseHead
	answer     string
	passed     int
	end        tap.EndReport
	// lastChunk is the last piece of the server's body.
	lastChunk string
}

func runRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{t: t, open: map[string]*tapped{}, atOnce: map[string]int{}}
	r.more.L = &r.mu
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

// ServeHTTP implements [http.Handler].
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	vm := q.Header.Get(tap.VMHeader)
	r.mu.Lock()
	r.calls++
	r.atOnce[vm]++
	r.most = max(r.most, r.atOnce[vm])
	r.more.Broadcast()
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.atOnce[vm]--
		r.mu.Unlock()
	}()
	if q.Method != http.MethodPost || q.URL.Path != tap.Path || q.Header.Get(tap.KeyHeader) != key || vm == "" ||
		q.Header.Get("Content-Type") != tap.MediaType {
		r.t.Errorf("a call is %s %s %v", q.Method, q.URL, q.Header)
	}
	body, err := io.ReadAll(q.Body)
	if errors.Is(err, net.ErrClosed) {
		return // the test has stopped this recorder
	}
	if err != nil {
		r.t.Errorf("a call's body: %v", err)
		return
	}
	if r.answer != nil && !r.answer(w, q) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += len(body)
	r.largest = max(r.largest, len(body))
	r.bodies = append(r.bodies, body...)
	for len(body) > 0 {
		f, rest, err := tap.Read(body)
		if err != nil {
			r.t.Errorf("%d bytes: %v", len(body), err)
			return
		}
		if err := r.take(vm, f); err != nil {
			r.t.Error(err)
		}
		body = rest
	}
	r.more.Broadcast()
}

func (r *recorder) take(vm string, f tap.Frame) error {
	id := fmt.Sprint(vm, " ", f.Stream)
	x := r.open[id]
	if f.Kind == tap.Request {
		if x != nil {
			return fmt.Errorf("stream %s begins twice", id)
		}
		x = &tapped{}
		r.open[id] = x
	}
	if x == nil {
		x = &tapped{} // its beginning was lost
		r.open[id] = x
	}
	x.kinds, x.times = append(x.kinds, f.Kind), append(x.times, f.At)
	if n := len(x.times); n > 1 && x.times[n-2] > f.At {
		return fmt.Errorf("stream %s: time goes back", id)
	}
	text := string(f.Payload)
	var err error
	switch f.Kind {
	case tap.Request:
		err = json.Unmarshal(f.Payload, &x.request)
	case tap.Body:
		x.body += text
	case tap.Sent:
		var h tap.SentHead
		err = json.Unmarshal(f.Payload, &h)
		x.sent = append(x.sent, h)
	case tap.SentBody:
		x.sentBody += text
	case tap.Head, tap.AnswerHead:
		var h tap.ResponseHead
		err = json.Unmarshal(f.Payload, &h)
		if f.Kind == tap.Head {
			x.head = append(x.head, h)
		} else {
			x.answerHead = append(x.answerHead, h)
		}
	case tap.Chunk:
		x.chunks, x.lastChunk = x.chunks+text, text
	case tap.Answer:
		x.answer += text
	case tap.Passed:
		x.passed++
		x.answer += x.lastChunk
	case tap.End:
		err = json.Unmarshal(f.Payload, &x.end)
		delete(r.open, id)
		r.ended = append(r.ended, x)
	}
	return err
}

// wait waits until a condition holds. It is asked under the lock, whenever a call has come.
func (r *recorder) wait(what string, holds func() bool) {
	r.t.Helper()
	tooLate := time.AfterFunc(lab.Patience, r.more.Broadcast)
	defer tooLate.Stop()
	limit := time.Now().Add(lab.Patience)
	r.mu.Lock()
	defer r.mu.Unlock()
	for !holds() {
		if time.Now().After(limit) {
			r.t.Fatalf("the recorder waits for %s: %d calls, %d requests have ended, %d are open", what, r.calls, len(r.ended),
				len(r.open))
		}
		r.more.Wait()
	}
}

// next takes the oldest request that has ended.
func (r *recorder) next() *tapped {
	r.t.Helper()
	r.wait("the end of a request", func() bool { return len(r.ended) > 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.ended[0]
	r.ended = r.ended[1:]
	return x
}

// order returns the kinds of a request's frames, each once where several follow each other, as letters.
func (x *tapped) order() string {
	var b strings.Builder
	last := tap.Kind(0)
	for _, k := range x.kinds {
		if k != last {
			b.WriteString(letters[k])
		}
		last = k
	}
	return b.String()
}

var letters = map[tap.Kind]string{tap.Request: "R", tap.Body: "B", tap.Sent: "S", tap.SentBody: "b", tap.Head: "H",
	tap.Chunk: "c", tap.AnswerHead: "A", tap.Answer: "a", tap.Passed: "p", tap.End: "E"}

// deadURL returns the URL of a recorder that does not listen.
func deadURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}
