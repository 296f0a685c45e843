//go:build e2e

package lab

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Recording is a server that keeps every byte that it receives. It answers only what has [AnswerMe] in it.
type Recording struct {
	Address string
	mu      sync.Mutex
	got     bytes.Buffer
	open    sync.WaitGroup
}

// AnswerMe in the bytes of a connection makes a [Recording] answer.
const AnswerMe = "ANSWER-ME"

// RunRecording runs a [Recording].
func RunRecording(t *testing.T) *Recording {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &Recording{Address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.open.Add(1)
			go r.read(conn)
		}
	}()
	return r
}

func (r *Recording) read(conn net.Conn) {
	defer r.open.Done()
	defer conn.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buffer)
		r.mu.Lock()
		r.got.Write(buffer[:n])
		r.mu.Unlock()
		if bytes.Contains(buffer[:n], []byte(AnswerMe)) {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: " +
				"close\r\n\r\n{}"))
			return
		}
		if err != nil {
			return
		}
	}
}

// All waits until the connections that were opened so far are closed, and returns every byte of them.
func (r *Recording) All(t *testing.T) string {
	t.Helper()
	last, err := net.Dial("tcp", r.Address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = last.Write([]byte(AnswerMe))
	_, _ = last.Read(make([]byte, 1)) // connections are accepted in their order: all earlier ones have been
	_ = last.Close()
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}
