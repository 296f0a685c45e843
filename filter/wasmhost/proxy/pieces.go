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
	// http2 reports whether the end comes with the last piece, and whether trailers are possible. Over HTTP/1.1 Envoy
	// sends the end separately and drops trailers.
	http2   bool
	trailer func() http.Header
	// data and trailers receive the message.
	data     func(p []byte, end bool)
	trailers func(*wasmhost.Headers)
	// next waits for room and reports whether the message still has a receiver.
	next func() bool
}

// relay moves the message until its end and returns the error that cut it short, or nil. endWait is [Options.EndWait].
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
		headers := ended && m.http2 && len(trailer) == 0
		if len(p) > 0 || headers {
			m.data(p, headers)
		}
		switch {
		case err == nil:
			return m.next()
		case len(trailer) > 0:
			h := wasmhost.NewHeaders()
			appendHeader(h, trailer)
			m.trailers(h)
		case ended && !headers:
			m.data(nil, true)
		case !ended:
			failure = err
		}
		return false
	})
	return failure
}

// readPieces calls each with every piece of a body until each returns false. The last call has an error, which is
// [io.EOF] for a complete body.
//
// net/http reports the end of an HTTP/2 body after its last piece, while Envoy reports it with that piece. So every
// piece waits for up to wait to see whether the end comes with it.
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
