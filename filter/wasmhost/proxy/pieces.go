package proxy

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// message is one body on its way into a stream.
type message struct {
	body io.Reader
	// http2: the end comes with the last piece, and there may be trailers. Over HTTP/1.1 Envoy tells the end by itself,
	// and drops trailers.
	http2   bool
	trailer func() http.Header
	// data and trailers are where it goes.
	data     func(p []byte, end bool)
	trailers func(*wasmhost.Headers)
	// next waits for room, and reports whether there is anybody left who wants more.
	next func() bool
}

// relay moves the message until its end, and returns what cut it short, if anything did. endWait is [Options.EndWait].
func (m *message) relay(endWait time.Duration) error {
	if !m.http2 {
		endWait = 0
	}
	var failure error
	readPieces(m.body, endWait, func(p []byte, err error) bool {
		ended := errors.Is(err, io.EOF)
		trailer := http.Header(nil)
		if ended && m.http2 {
			trailer = m.trailer()
		}
		with := ended && m.http2 && len(trailer) == 0
		if len(p) > 0 || with {
			m.data(p, with)
		}
		switch {
		case err == nil:
			return m.next()
		case len(trailer) > 0:
			h := wasmhost.NewHeaders()
			appendHeader(h, trailer)
			m.trailers(h)
		case ended && !with:
			m.data(nil, true)
		case !ended:
			failure = err
		}
		return false
	})
	return failure
}

// readPieces calls each with what a body yields, until it returns false. The last call has an error: io.EOF for a
// complete body.
//
// net/http tells that an HTTP/2 body has ended after its last piece; Envoy tells it with the piece. So a piece waits
// for so long whether the end comes with it.
func readPieces(body io.Reader, wait time.Duration, each func(p []byte, err error) bool) {
	if wait == 0 {
		readAtOnce(body, each)
		return
	}
	type piece struct {
		data []byte
		err  error
	}
	pieces, enough := make(chan piece), make(chan struct{})
	defer close(enough)
	go readAtOnce(body, func(p []byte, err error) bool {
		select {
		case pieces <- piece{append([]byte(nil), p...), err}:
			return true
		case <-enough:
			return false
		}
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	now := <-pieces
	for now.err == nil {
		var next *piece
		timer.Reset(wait)
		select {
		case p := <-pieces:
			next = &p
		case <-timer.C:
		}
		if next != nil && len(next.data) == 0 && errors.Is(next.err, io.EOF) {
			now.err = next.err
			break
		}
		if !each(now.data, nil) {
			return
		}
		if next == nil {
			p := <-pieces
			next = &p
		}
		now = *next
	}
	each(now.data, now.err)
}

func readAtOnce(body io.Reader, each func([]byte, error) bool) {
	buffer := make([]byte, readSize)
	for {
		n, err := body.Read(buffer)
		if n == 0 && err == nil {
			continue
		}
		if !each(buffer[:n], err) || err != nil {
			return
		}
	}
}
