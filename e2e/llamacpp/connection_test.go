//go:build llamacpp

package llamacpp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

// TestConnectionOfStream sends two requests on one connection. Behind a stream the server closes the connection, although
// it has said that it keeps it: the second request gets no byte of an answer.
func TestConnectionOfStream(t *testing.T) {
	s := start(t, 1, 4096)
	prompt, err := engines.Prompt(engines.Scripts[0].IDs, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprintf("stream %v", streams), func(t *testing.T) {
			body, err := json.Marshal(ask(prompt, map[string]any{"stream": streams}))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
				t.Fatal(err)
			}
			from := bufio.NewReader(conn)
			first, err := roundTrip(conn, from, s.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := first.Get("keep-alive"), "timeout=5, max=100"; got != want {
				t.Errorf("keep-alive is %q, want %q", got, want)
			}
			_, err = roundTrip(conn, from, s.URL, body)
			closed := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
				errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
			if closed != streams || err != nil && !closed {
				t.Errorf("the second request: %v", err)
			}
		})
	}
}

// roundTrip sends a request on conn, reads the whole answer and returns its headers.
func roundTrip(conn net.Conn, from *bufio.Reader, url string, body []byte) (http.Header, error) {
	request, err := http.NewRequest(http.MethodPost, url+"/completion", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(from, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.Header, err
}
