//go:build e2e

package rules

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn2 is one HTTP/2 connection with one stream.
type conn2 struct {
	net.Conn
	framer *http2.Framer
	mu     sync.Mutex // of the framer's writing side
	room   [2]int64   // what may be sent on the connection and on the stream
	wide   *sync.Cond
}

const (
	clientStream = 1
	wideWindow   = 1 << 30
)

func (c *clientSide) http2(address string) error {
	raw, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(2 * ruleWait))
	conn := &conn2{Conn: raw, framer: http2.NewFramer(raw, raw), room: [2]int64{65535, 65535}}
	conn.wide = sync.NewCond(&conn.mu)
	conn.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(raw, http2.ClientPreface); err != nil {
		return err
	}
	_ = conn.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: wideWindow})
	_ = conn.framer.WriteWindowUpdate(0, wideWindow)
	ready := make(chan struct{})
	go c.write2(conn, ready)
	c.read2(conn, ready)
	c.settle()
	return nil
}

func (c *clientSide) write2(conn *conn2, ready chan struct{}) {
	<-ready // the other side's settings: how much it takes
	method, path, host := c.pseudo()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	header := [][2]string{
		{":method", method}, {":path", path}, {":scheme", "http"}, {":authority", host},
		{"x-probe-id", c.run.rule.name + "/" + c.m.id},
	}
	for _, h := range append(header, c.m.header...) {
		if h[0] != "host" {
			_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
	}
	conn.headers(block.Bytes(), len(c.m.parts) == 0)
	c.send(func(p part, last bool) bool {
		switch p.kind {
		case "reset":
			_ = conn.framer.WriteRSTStream(clientStream, http2.ErrCodeCancel)
			c.left.Store(true)
			_ = conn.SetReadDeadline(time.Now())
			return false
		case "close":
			_ = conn.Close()
			return false
		case "trailers":
			block.Reset()
			for _, h := range p.trailers {
				_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
			}
			conn.headers(block.Bytes(), true)
			return false
		}
		return conn.data([]byte(p.text), last)
	})
}

func (c *conn2) headers(block []byte, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 16 << 10
	first := block[:min(len(block), most)]
	rest := block[len(first):]
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: clientStream, BlockFragment: first, EndStream: end, EndHeaders: len(rest) == 0,
	})
	for len(rest) > 0 {
		next := rest[:min(len(rest), most)]
		rest = rest[len(next):]
		_ = c.framer.WriteContinuation(clientStream, len(rest) == 0, next)
	}
}

// data sends frames of at most 16 KiB as the windows allow.
func (c *conn2) data(body []byte, end bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(body) > 0 && min(c.room[0], c.room[1]) <= 0 {
			c.wide.Wait()
		}
		frame := body[:min(int64(len(body)), 16<<10, max(0, c.room[0]), max(0, c.room[1]))]
		body = body[len(frame):]
		c.room[0] -= int64(len(frame))
		c.room[1] -= int64(len(frame))
		if err := c.framer.WriteData(clientStream, end && len(body) == 0, frame); err != nil {
			return false
		}
		if len(body) == 0 {
			return true
		}
	}
}

// read2 reads frames until the stream has ended.
func (c *clientSide) read2(conn *conn2, ready chan struct{}) {
	var once sync.Once
	defer once.Do(func() { close(ready) })
	// Writers that wait for room need not wait any more.
	defer conn.grow(wideWindow, wideWindow)
	answered := false
	for {
		frame, err := conn.framer.ReadFrame()
		if err != nil {
			end := "no answer"
			if answered {
				end = "cut"
			}
			c.fail(end, err)
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if f.IsAck() {
				continue
			}
			if value, ok := f.Value(http2.SettingInitialWindowSize); ok {
				conn.grow(0, int64(value)-65535)
			}
			conn.mu.Lock()
			_ = conn.framer.WriteSettingsAck()
			conn.mu.Unlock()
			once.Do(func() { close(ready) })
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				conn.grow(int64(f.Increment), 0)
			} else {
				conn.grow(0, int64(f.Increment))
			}
		case *http2.MetaHeadersFrame:
			c.headers2(f)
			if answered = answered || c.view.header != nil; answered {
				c.post("client-headers")
			}
		case *http2.DataFrame:
			c.view.body = append(c.view.body, string(f.Data()))
			c.post("client-body")
		case *http2.RSTStreamFrame:
			c.view.end = "reset " + f.ErrCode.String()
			return
		case *http2.GoAwayFrame:
			c.view.end = "goaway " + f.ErrCode.String()
			if f.ErrCode != http2.ErrCodeNo {
				return
			}
		}
		if h := frame.Header(); h.StreamID == clientStream && (h.Type == http2.FrameHeaders || h.Type == http2.FrameData) &&
			h.Flags.Has(http2.FlagDataEndStream) {
			c.view.end = "whole"
			return
		}
	}
}

func (c *conn2) grow(connection, stream int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room[0] += connection
	c.room[1] += stream
	c.wide.Broadcast()
}

func (c *clientSide) headers2(f *http2.MetaHeadersFrame) {
	status := f.PseudoValue("status")
	if len(status) == 3 && status[0] == '1' {
		c.view.first += status + " "
		return
	}
	list := [][2]string{}
	for _, h := range f.RegularFields() {
		list = append(list, [2]string{h.Name, h.Value})
	}
	if status == "" {
		c.view.trailers = list
		return
	}
	c.view.first, c.view.header = c.view.first+status, list
}
