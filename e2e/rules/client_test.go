//go:build e2e

package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// clientSide sends one request of a rule and reads the answer.
type clientSide struct {
	run  *ruleRun
	m    *message
	view sideView
	left atomic.Bool // the client has reset its stream
}

func (c *clientSide) post(event string) { c.run.board.post(c.m.id, event) }

// settle posts that the client has its answer, and waits until the host has finished the stream too. Closing the
// connection earlier would be a client that leaves, which a host may notice before the end of the server's answer.
func (c *clientSide) settle() {
	c.post("client-end")
	if slices.Contains(c.run.rule.lost, c.m.id) {
		return
	}
	if err := c.run.board.wait(c.m.id, "deleted"); err != nil {
		c.run.faults.add(err)
	}
}

// send writes the parts of the body as they are due; write returns false when there is no more to send.
func (c *clientSide) send(write func(p part, last bool) bool) {
	for i, p := range c.m.parts {
		if err := c.run.board.wait(c.m.id, p.after); err != nil {
			c.run.faults.add(fmt.Errorf("client: %w", err))
			return
		}
		if p.kind == "hang" || !write(p, i == len(c.m.parts)-1 || p.kind == "end") {
			return
		}
	}
}

// pseudo is what the client's request line and host are in HTTP/2.
func (c *clientSide) pseudo() (method, path, host string) {
	method, path, _ = strings.Cut(c.m.first, " ")
	if host = c.m.get("host"); host == "" {
		host = "rules"
	}
	return method, path, host
}

func (c *clientSide) http1(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * ruleWait))
	method, path, host := c.pseudo()
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nhost: %s\r\nx-probe-id: %s/%s\r\n", method, path, host, c.run.rule.name, c.m.id)
	for _, h := range c.m.header {
		if h[0] != "host" {
			fmt.Fprintf(&head, "%s: %s\r\n", h[0], h[1])
		}
	}
	chunked := len(c.m.parts) > 1 && c.m.get("content-length") == ""
	switch {
	case c.upgrades(): // what follows is no body
		chunked = false
	case c.m.get("transfer-encoding") != "":
		chunked = true
	case chunked:
		fmt.Fprint(&head, "transfer-encoding: chunked\r\n")
	case len(c.m.parts) == 1 && c.m.parts[0].kind == "data" && c.m.get("content-length") == "":
		fmt.Fprintf(&head, "content-length: %d\r\n", len(c.m.parts[0].text))
	}
	fmt.Fprint(&head, "\r\n")
	if len(c.m.parts) == 0 || c.m.parts[0].after != "" || c.m.parts[0].kind != "data" {
		_, _ = conn.Write(head.Bytes())
		head.Reset()
	}
	go c.send(func(p part, last bool) bool {
		switch p.kind {
		case "reset", "close":
			if p.kind == "reset" {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			_ = conn.Close()
			return false
		case "data":
			if chunked && p.text != "" {
				fmt.Fprintf(&head, "%x\r\n%s\r\n", len(p.text), p.text)
			} else {
				head.WriteString(p.text)
			}
		}
		if chunked && last {
			fmt.Fprint(&head, "0\r\n")
			for _, h := range p.trailers {
				fmt.Fprintf(&head, "%s: %s\r\n", h[0], h[1])
			}
			fmt.Fprint(&head, "\r\n")
		}
		_, err := conn.Write(head.Bytes())
		head.Reset()
		return err == nil
	})
	c.read1(bufio.NewReader(conn), method)
	c.settle()
	return nil
}

// upgrades reports whether the client asks for WebSocket, and may have it.
func (c *clientSide) upgrades() bool { return c.run.rule.setup.WebSocket && c.m.get("upgrade") != "" }

func (c *clientSide) read1(r *bufio.Reader, method string) {
	var response *http.Response
	for {
		var err error
		response, err = http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			c.fail("no answer", err)
			return
		}
		if response.StatusCode >= 200 {
			break
		}
		if response.StatusCode == http.StatusSwitchingProtocols && c.upgrades() {
			response.Body = io.NopCloser(r)
			break
		}
		c.view.first += response.Status[:3] + " "
	}
	c.view.first += response.Status[:3]
	c.view.header = sorted(response.Header)
	if len(response.TransferEncoding) > 0 {
		c.view.header = append(c.view.header, [2]string{"transfer-encoding", response.TransferEncoding[0]})
	}
	if response.Close {
		c.view.header = append(c.view.header, [2]string{"connection", "close"})
	}
	c.post("client-headers")
	c.view.end = "whole"
	buffer := make([]byte, 64<<10)
	var body strings.Builder
	for {
		n, err := response.Body.Read(buffer)
		body.Write(buffer[:n])
		if n > 0 {
			c.post("client-body")
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			c.fail("cut", err)
		}
		break
	}
	c.view.body = []string{body.String()}
	c.view.trailers = sorted(response.Trailer)
}

// fail says how the connection ended, from the client's side as "gone".
func (c *clientSide) fail(end string, err error) {
	c.view.end = end
	if errors.Is(err, net.ErrClosed) {
		c.view.end = "gone"
	}
	var network net.Error
	switch {
	case end == "no answer" && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.As(err, &network):
		c.view.end = "an answer that is not HTTP"
	case c.left.Load():
		c.view.end = "gone"
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.run.faults.add(fmt.Errorf("client: %s: no end came", c.m.id))
	}
}
