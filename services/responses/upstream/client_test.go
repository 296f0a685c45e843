package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// readEvents reads a stream to its end.
func readEvents(body io.Reader) (all []Event, err error) {
	r := NewReader(body)
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func TestEventReader(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for body, want := range map[string]string{
		"":                             "",
		"event: a\ndata: {}\n\n":       "a={} ",
		"event: a\r\ndata: {}\r\n\r\n": "a={} ",
		": comment\n\nevent: a\ndata: 1\n\nevent: b\ndata: 2\n\n": "a=1 b=2 ",
		"data: 1\n\n":                       "=1 ",
		"event: a\n\ndata: 1\n\n":           "a=1 ",
		"event: a\ndata: " + long + "\n\n":  "a=" + long + " ",
		"event: a\ndata: 1\n":               "", // it has been cut off
		"event: a\ndata: 1\n\nevent: b\nda": "a=1 ",
	} {
		events, err := readEvents(strings.NewReader(body))
		got := ""
		for _, e := range events {
			got += e.Kind + "=" + string(e.Data) + " "
		}
		if got != want || !errors.Is(err, io.EOF) {
			t.Errorf("%.60q: got %.60q, %v", body, got, err)
		}
	}
}

// TestEventTooLarge has a line that does not end.
func TestEventTooLarge(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), repeated{})
	if _, err := readEvents(endless); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

type repeated struct{}

// Read implements [io.Reader].
func (repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// FuzzEventReader checks that the pieces in which a stream arrives do not matter, and that events that were read are
// read again from their frames.
func FuzzEventReader(f *testing.F) {
	f.Add([]byte("event: a\ndata: {}\n\nevent: b\r\ndata: x\r\n\r\n"))
	f.Add([]byte("data: 1\ndata: 2\n\n: comment\n\n\n"))
	f.Add([]byte("event: a\ndata: \n\ndata: b"))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, err := readEvents(bytes.NewReader(body))
		pieces, piecesErr := readEvents(iotest.OneByteReader(bytes.NewReader(body)))
		if !errors.Is(err, io.EOF) || !errors.Is(piecesErr, io.EOF) || len(whole) != len(pieces) {
			t.Fatalf("%q: %d events, %v; in pieces %d, %v", body, len(whole), err, len(pieces), piecesErr)
		}
		for i := range whole {
			again, _ := readEvents(bytes.NewReader(whole[i].Frame()))
			if whole[i].Kind != pieces[i].Kind || !bytes.Equal(whole[i].Data, pieces[i].Data) || len(again) != 1 ||
				again[0].Kind != whole[i].Kind || !bytes.Equal(again[0].Data, whole[i].Data) {
				t.Fatalf("%q: event %d: %q, in pieces %q, again %q", body, i, whole[i], pieces[i], again)
			}
		}
	})
}

func TestPassedOn(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "X-Harmony-Strict": true, "X-Tenant": true, "Traceparent": true,
		"Connection": false, "Upgrade": false, "Sec-Websocket-Key": false, "Content-Length": false,
		"Accept-Encoding":         false,
		"X-Harmony-Internal-Pool": false, "X-Request-Id": false, "Host": false,
	} {
		if http.CanonicalHeaderKey(name) != name || PassedOn(name) != want {
			t.Errorf("%s: %t", name, PassedOn(name))
		}
	}
}

// TestRefused has answers of a gateway that are errors.
func TestRefused(t *testing.T) {
	for body, want := range map[string]openai.Error{
		`{"error":{"message":"Slow down.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`: {
			Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "Slow down."},
		`{"error":{"message":"No.","type":"invalid_request_error","param":"input[0]","code":null}}`: {
			Type: "invalid_request_error", Param: "input[0]", Message: "No."},
		`{"error":{"code":"x"}}`: {Type: "server_error", Code: "server_error", Message: "The gateway answered 429."},
		`upstream`:               {Type: "server_error", Code: "server_error", Message: "The gateway answered 429."},
		``:                       {Type: "server_error", Code: "server_error", Message: "The gateway answered 429."},
	} {
		got := refused(&http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"7"}},
			Body: io.NopCloser(strings.NewReader(body))})
		if want.Status, want.RetryAfter = 429, "7"; *got != want {
			t.Errorf("%s: %+v", body, *got)
		}
	}
	cut := io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	if got := refused(&http.Response{StatusCode: 502, Body: cut}); got.Message != "The gateway answered 502." {
		t.Errorf("%+v", *got)
	}
}
