package server

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var (
	errClientGone = errors.New("the client went away")
	errClosed     = errors.New("the server was closed")
)

// output writes a body and flushes it in pieces: whole events, or by [Options.CutBytes] and [Options.CutAt].
type output struct {
	s       *Server
	ctx     context.Context
	w       http.ResponseWriter
	held    []byte
	flushed int
	cuts    []int
	pieces  int
}

func (s *Server) output(ctx context.Context, w http.ResponseWriter) *output {
	return &output{s: s, ctx: ctx, w: w, cuts: s.Options.CutAt}
}

// write sends an event. It holds back bytes after the last cut.
func (o *output) write(p []byte) error {
	o.held = append(o.held, p...)
	if len(o.s.Options.CutAt) == 0 && o.s.Options.CutBytes <= 0 {
		return o.end()
	}
	for {
		n := o.s.Options.CutBytes
		if len(o.s.Options.CutAt) > 0 {
			for len(o.cuts) > 0 && o.cuts[0] <= o.flushed {
				o.cuts = o.cuts[1:]
			}
			if len(o.cuts) == 0 {
				return nil
			}
			n = o.cuts[0] - o.flushed
		}
		if n > len(o.held) {
			return nil
		}
		if err := o.flush(n); err != nil {
			return err
		}
	}
}

// end sends all bytes that are held.
func (o *output) end() error { return o.flush(len(o.held)) }

func (o *output) flush(n int) error {
	if n == 0 {
		return nil
	}
	if o.pieces > 0 && o.s.Options.CutPause > 0 {
		if err := o.s.Wait(o.ctx, o.s.Options.CutPause); err != nil {
			return err
		}
	}
	o.pieces++
	if o.ctx.Err() != nil {
		return errClientGone
	}
	if _, err := o.w.Write(o.held[:n]); err != nil {
		return errClientGone
	}
	if err := http.NewResponseController(o.w).Flush(); err != nil {
		return errClientGone
	}
	o.flushed += n
	o.held = o.held[n:]
	return nil
}

// hold waits for [Server.Release], or for c.
func (s *Server) hold(ctx context.Context, c <-chan time.Time) error {
	select {
	case <-s.released:
		return nil
	case <-c:
		return nil
	case <-ctx.Done():
		return errClientGone
	case <-s.closed:
		return errClosed
	}
}

// Wait waits for d. It returns early if the client disconnects or the server is closed.
func (s *Server) Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return s.waitFor(ctx, timer.C)
}

func (s *Server) waitFor(ctx context.Context, c <-chan time.Time) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return errClientGone
	case <-s.closed:
		return errClosed
	}
}

// cut ends the connection without the end of the body: without the last chunk, or over HTTP/2 by RST_STREAM. With reset
// it resets a TCP connection of HTTP/1.1.
func cut(w http.ResponseWriter, reset bool) {
	if reset {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}
