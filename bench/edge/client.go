package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// client sends requests through gateways and reads the answers.
type client struct {
	http    *http.Client
	servers *servers
	// http2 sends many requests over one connection: a process may have too few files for a connection each.
	http2 *http.Client
	// requests has what our filter sends to servers of a kind, for variants without it.
	requests map[requestKey]request
	// received counts the events with words that all clients have received.
	received atomic.Int64
}

type requestKey struct {
	kind string
	ask  ask
}

func newClient(s *servers) *client {
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	return &client{servers: s, requests: map[requestKey]request{}, http: &http.Client{
		Timeout:   requestLimit,
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 10_000},
	}, http2: &http.Client{
		Timeout:   requestLimit,
		Transport: &http.Transport{DisableCompression: true, Protocols: &http2},
	}}
}

// requestLimit is how long a request may take on a busy machine.
const requestLimit = 5 * time.Minute

// reading is what a client saw of an answer.
type reading struct {
	// firstByte is the time from the request to the first byte of the answer's body.
	firstByte time.Duration
	// delays are the times from the server's sending of a word to the client's reading of it, and arrivals when it was
	// read. They are missing where the gateway joined pieces.
	delays, arrivals []time.Duration
}

// order is a request to send.
type order struct {
	v        *variant
	to       *gateway
	ask      ask
	interval time.Duration
	hold     chan struct{}
	// multiplexed sends the request over HTTP/2.
	multiplexed bool
	// begun, if there is one, is called after the first word.
	begun func()
}

// send sends a request and reads the answer to its end.
func (c *client) send(ctx context.Context, o order) (reading, error) {
	current := &stream{key: answerKey{o.v.kind, o.ask.words, o.v.whole}, interval: o.interval, hold: o.hold}
	number := c.servers.begin(current)
	defer c.servers.end(number)
	asked, err := c.requestOf(o.v, o.ask)
	if err != nil {
		return reading{}, err
	}
	start := time.Now()
	by := c.http
	if o.multiplexed {
		by = c.http2
	}
	response, err := post(ctx, by, o.to, asked, number)
	if err != nil {
		return reading{}, err
	}
	defer response.Body.Close()
	in := &reader{key: o.v.api.textKey(), begun: o.begun, received: &c.received, separator: []byte("\n\n")}
	if response.Header.Get("content-type") == "application/x-ndjson" {
		in.separator = []byte("\n")
	}
	if err := in.read(response.Body); err != nil {
		return reading{}, err
	}
	if response.StatusCode != http.StatusOK || !o.v.whole && len(in.arrivals) == 0 {
		return reading{}, fmt.Errorf("status %d, ends with %.300q", response.StatusCode, in.tail())
	}
	out := reading{firstByte: in.first.Sub(start)}
	if o.v.through == rustFrontEnd || o.v.whole {
		return out, in.checkWords(o)
	}
	a := c.servers.recorded(current.key)
	if err := a.check(current.key); err != nil {
		return out, err
	}
	if isOurs(o.v.through) {
		if err := in.checkWords(o); err != nil {
			return out, err
		}
	}
	if o.interval > 0 {
		out.delays, out.arrivals = in.match(o, a, current.times)
	}
	return out, nil
}

// post sends the request of the stream with a number.
func post(ctx context.Context, by *http.Client, to *gateway, asked request, number int) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url+asked.path, bytes.NewReader(asked.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("content-type", "application/json")
	r.Header.Set(streamHeader, strconv.Itoa(number))
	for name, value := range asked.header {
		r.Header.Set(name, value)
	}
	return by.Do(r)
}

// requestOf returns a variant's request. The request that our filter sends to a server is recorded before: see record.
func (c *client) requestOf(v *variant, a ask) (request, error) {
	if v.api != raw {
		return v.request(a), nil
	}
	r, ok := c.requests[requestKey{v.kind, a}]
	if !ok {
		return r, errors.New("nothing was recorded for " + v.name)
	}
	return r, nil
}

// record sends a request through our filter, and keeps what comes to a server of the kind. The server's answer is
// recorded too.
func (c *client) record(ctx context.Context, to *gateway, kind string, a ask) error {
	v := &variant{name: "record", kind: kind, api: chat, through: ours}
	current := &stream{key: answerKey{kind, a.words, false}}
	number := c.servers.begin(current)
	defer c.servers.end(number)
	response, err := post(ctx, c.http, to, v.request(a), number)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d: %.300q", kind, response.StatusCode, body)
	}
	c.requests[requestKey{kind, a}] = request{path: current.path, body: current.body}
	return c.servers.recorded(current.key).check(current.key)
}

// reader reads an answer, and notes when its events come.
type reader struct {
	separator []byte
	// key is what is before the text in an event that has some. If it is empty, all events count.
	key      []byte
	begun    func()
	received *atomic.Int64

	first    time.Time
	arrivals []time.Duration
	data     []byte // from the last event's end on
	text     int    // bytes of text so far
}

// textKey returns what is before the text in the events of a stream. [word] has no character that JSON escapes.
func (a api) textKey() []byte {
	switch a {
	case chat:
		return []byte(`"content":"`)
	case responses:
		return []byte(`"delta":"`)
	case events:
		return []byte(`"text":"`)
	}
	return nil
}

// read reads to the end.
func (r *reader) read(body io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if r.first.IsZero() {
				r.first = time.Now()
			}
			r.take(buffer[:n], sinceStart())
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take takes a part of the answer, which came at a time.
func (r *reader) take(part []byte, at time.Duration) {
	r.data = append(r.data, part...)
	done := 0
	for {
		n := bytes.Index(r.data[done:], r.separator)
		if n < 0 {
			break
		}
		event := r.data[done : done+n]
		done += n + len(r.separator)
		if len(r.key) > 0 {
			_, text, _ := bytes.Cut(event, r.key)
			n := bytes.IndexByte(text, '"')
			if n <= 0 {
				continue
			}
			r.text += n
		}
		r.arrivals = append(r.arrivals, at)
		r.received.Add(1)
		if r.begun != nil {
			r.begun()
			r.begun = nil
		}
	}
	r.data = slices.Delete(r.data, 0, done)
}

// tail returns the end of an answer, for an error.
func (r *reader) tail() []byte { return r.data[max(0, len(r.data)-300):] }

// checkWords returns an error unless the answer has the words that were asked for.
func (r *reader) checkWords(o order) error {
	got := r.text / len(word)
	if o.v.whole {
		got = bytes.Count(r.data, []byte(word))
	}
	if got != o.ask.words {
		return fmt.Errorf("%d words in the answer, want %d: %.300q", got, o.ask.words, r.tail())
	}
	return nil
}

// match returns the delays of the words, and when each was read. It returns none where the events are not the server's
// pieces: where the gateway joined pieces, or a server holds text back.
func (r *reader) match(o order, a *answer, sent []time.Duration) (delays, arrivals []time.Duration) {
	read, last := r.arrivals, a.first+o.ask.words
	switch {
	case last > len(sent):
		return nil, nil
	case len(r.key) == 0 && len(read) == len(a.pieces):
		read = read[a.first:last]
	case len(r.key) == 0 || len(read) != o.ask.words:
		return nil, nil
	}
	for i, at := range read {
		if at < sent[a.first+i] {
			return nil, nil
		}
		delays = append(delays, at-sent[a.first+i])
	}
	return delays, read
}
