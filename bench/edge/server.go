package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// word is every token of every answer's text.
const word = " word"

// streamHeader names the stream that a request belongs to, by its number. The server looks there for what it is to do.
const streamHeader = "x-bench-stream"

// servers are the inference servers, one of each kind. They play back what package sim has answered, so that an answer
// costs this machine as little as possible beside the gateway's work.
type servers struct {
	passthrough string            // the URL of a server that is every kind's
	urls        map[string]string // of one kind's servers
	sims        map[string]*sim.Server
	listeners   []*http.Server

	mu      sync.Mutex
	answers map[answerKey]*answer
	streams map[int]*stream
	number  int
	// sent counts the events that all servers have sent.
	sent atomic.Int64
}

// answerKey identifies an answer: by the kind of the server, how long it is, and whether it is streamed.
type answerKey struct {
	kind  string
	words int
	whole bool
}

// answer is what a server sends, in pieces that are flushed each by itself.
type answer struct {
	header http.Header
	status int
	pieces [][]byte
	// first is the piece with the first word. The others follow one by one, if the answer is streamed.
	first int
}

// stream is one request and its answer, as the client and the server know it.
type stream struct {
	key answerKey
	// interval is the time from one piece to the next. 0 sends all at once.
	interval time.Duration
	// hold, if there is one, keeps what comes after the first word back until it is closed.
	hold chan struct{}
	// times are when each piece was sent, after the bench's start.
	times []time.Duration
	// path and body are from the request as it came to the server.
	path string
	body []byte
}

func startServers(lengths []int) (*servers, error) {
	s := &servers{urls: map[string]string{}, sims: map[string]*sim.Server{}, answers: map[answerKey]*answer{},
		streams: map[int]*stream{}}
	var lines []sim.Line
	for _, n := range lengths {
		text := "<|channel|>final<|message|>" + strings.Repeat(word, n) + "<|return|>"
		lines = append(lines, sim.Line{Match: question(n), Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, text)})
	}
	for _, kind := range contract.ServerKinds() {
		s.sims[kind] = sim.New(sim.Options{Kind: kind, Models: []string{modelOf(kind)}, AnyPrompt: true, TextSpecials: true,
			Script: sim.NewScript(lines...)})
		var err error
		if s.urls[kind], err = s.listen(s.sims[kind].Handler()); err != nil {
			s.close()
			return nil, err
		}
	}
	var err error
	if s.passthrough, err = s.listen(http.NotFoundHandler()); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// question is a text in a prompt that asks for an answer of n words.
func question(n int) string { return "exactly " + strconv.Itoa(n) + " words, please" }

// listen serves requests of streams from the record, and all others by another handler.
func (s *servers) listen(others http.Handler) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			number, err := strconv.Atoi(r.Header.Get(streamHeader))
			if err != nil {
				others.ServeHTTP(w, r)
				return
			}
			s.mu.Lock()
			current := s.streams[number]
			s.mu.Unlock()
			s.serve(w, r, current)
		})}
	s.listeners = append(s.listeners, server)
	go func() { _ = server.Serve(l) }() // ends with close
	return "http://" + l.Addr().String(), nil
}

func (s *servers) close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// begin registers a stream, and returns its number.
func (s *servers) begin(current *stream) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.streams[s.number] = current
	return s.number
}

func (s *servers) end(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, number)
}

// recorded returns a kind's answer, which must have been recorded.
func (s *servers) recorded(key answerKey) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[key]
}

// serve plays an answer. The first request for it is recorded: package sim answers it.
func (s *servers) serve(w http.ResponseWriter, r *http.Request, current *stream) {
	body, err := io.ReadAll(r.Body)
	if err != nil || current == nil {
		http.Error(w, "no such stream", http.StatusBadRequest)
		return
	}
	current.path, current.body = r.URL.Path, body
	a := s.recorded(current.key)
	if a == nil {
		recorder := &answer{header: http.Header{}, status: http.StatusOK}
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		s.sims[current.key.kind].Handler().ServeHTTP(recorder, again)
		recorder.finish()
		s.mu.Lock()
		s.answers[current.key] = recorder
		s.mu.Unlock()
		a = recorder
	}
	s.play(w, r, current, a)
}

func (s *servers) play(w http.ResponseWriter, r *http.Request, current *stream, a *answer) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	out := http.NewResponseController(w)
	if current.interval == 0 && current.hold == nil {
		// Pieces come joined: how many at once must not depend on who is faster, this server or the gateway.
		for _, piece := range a.pieces {
			if _, err := w.Write(piece); err != nil {
				return
			}
			s.sent.Add(1)
		}
		return
	}
	if current.times == nil {
		current.times = make([]time.Duration, len(a.pieces))
	}
	next := time.NewTimer(0)
	defer next.Stop()
	start := time.Now()
	for i, piece := range a.pieces {
		if current.interval > 0 {
			next.Reset(time.Until(start.Add(time.Duration(i) * current.interval)))
			select {
			case <-next.C:
			case <-r.Context().Done():
				return
			}
		} else if i == a.first+1 {
			select {
			case <-current.hold:
			case <-r.Context().Done():
				return
			}
		}
		current.times[i] = sinceStart()
		_, _ = w.Write(piece)
		if out.Flush() != nil {
			return
		}
		s.sent.Add(1)
	}
}

var processStart = time.Now()

func sinceStart() time.Duration { return time.Since(processStart) }

// Header implements [http.ResponseWriter], for a server whose answer is recorded.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements [http.ResponseWriter]. The data up to a flush is one piece.
func (a *answer) Write(data []byte) (int, error) {
	if len(a.pieces) == 0 {
		a.pieces = append(a.pieces, nil)
	}
	last := len(a.pieces) - 1
	a.pieces[last] = append(a.pieces[last], data...)
	return len(data), nil
}

// Flush implements [http.Flusher].
func (a *answer) Flush() {
	if n := len(a.pieces); n == 0 || len(a.pieces[n-1]) > 0 {
		a.pieces = append(a.pieces, nil)
	}
}

// finish ends the record.
func (a *answer) finish() {
	if n := len(a.pieces); n > 0 && len(a.pieces[n-1]) == 0 {
		a.pieces = a.pieces[:n-1]
	}
	a.first = a.firstWord()
}

// firstWord returns the first piece that has the word, as an id or as text, or -1.
func (a *answer) firstWord() int {
	ids := o200k.Tokenizer().AppendEncode(nil, word)
	id := strconv.Itoa(int(ids[0]))
	for i, piece := range a.pieces {
		for _, form := range []string{"[" + id, "," + id, ":" + id, strings.TrimSpace(word)} {
			if bytes.Contains(piece, []byte(form)) {
				return i
			}
		}
	}
	return -1
}

// check returns an error unless the answer has words, and a piece for each of those that its request asked for.
func (a *answer) check(key answerKey) error {
	switch {
	case a.status != http.StatusOK:
		return fmt.Errorf("%s: the server's status is %d: %.300q", key.kind, a.status, bytes.Join(a.pieces, nil))
	case a.first < 0:
		return fmt.Errorf("%s: no word in the server's answer: %.300q", key.kind, bytes.Join(a.pieces, nil))
	case !key.whole && len(a.pieces) < key.words:
		return fmt.Errorf("%s: %d pieces for %d words", key.kind, len(a.pieces), key.words)
	}
	return nil
}
