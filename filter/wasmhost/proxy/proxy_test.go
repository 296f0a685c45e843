package proxy

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

func TestNormalizePath(t *testing.T) {
	for in, want := range map[string]string{
		"/":                          "/",
		"/v1/models":                 "/v1/models",
		"//v1///completions":         "/v1/completions",
		"/v1/x/../completions":       "/v1/completions",
		"/v1/./completions":          "/v1/completions",
		"/../../etc":                 "/etc",
		"/a/..":                      "/",
		"/a/..;b=c/d":                "/d",
		"/a/.;/d":                    "/a/d",
		"/a/b;/d":                    "/a/b;/d",
		"/a/.":                       "/a/",
		"/a/":                        "/a/",
		"/v1/%63ompletions":          "/v1/completions",
		"/v1/%2e%2e/metrics":         "/metrics",
		"/v1/models/openai%2Fgpt":    "/v1/models/openai%2Fgpt",
		"/v1/x?q=//a/../%63":         "/v1/x?q=//a/../%63",
		"*":                          "*",
		"/v1/a//../b":                "/v1/a/b",
		"/v1/a\\..\\b":               "/v1/b",
		"/v1/^%2F..%2Fmetrics":       "/v1/%5E%2F..%2Fmetrics",
		"/%2F/../x":                  "/x",
		"/%zz%4":                     "/%zz%4",
		"/v1/models/%E2%82%AC%2f%7e": "/v1/models/%E2%82%AC%2f~",
	} {
		if got := normalizePath(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		cut  *Cut
		want string
	}{
		{nil, "abcdef|ghij."},
		{&Cut{Every: 4}, "abcd|ef|ghij."},
		{&Cut{At: []int{1, 7}}, "a|bcdef|g|hij."},
		{&Cut{Every: 3, At: []int{4}}, "abc|d|ef|ghi|j."},
		{&Cut{At: []int{6, 100}}, "abcdef|ghij."},
	} {
		c := cutter{cut: tt.cut}
		var pieces []string
		for i, p := range []string{"abcdef", "ghij"} {
			c.split([]byte(p), func(piece []byte, last bool) {
				text := string(piece)
				if last && i == 1 {
					text += "."
				}
				pieces = append(pieces, text)
			})
		}
		if got := strings.Join(pieces, "|"); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.cut, got, tt.want)
		}
	}
}

// piecewiseReader is a reader that yields each text separately, and err with the last one.
type piecewiseReader struct {
	texts []string
	err   error
}

func (s *piecewiseReader) Read(p []byte) (int, error) {
	if len(s.texts) == 0 {
		return 0, s.err
	}
	n := copy(p, s.texts[0])
	s.texts = s.texts[1:]
	return n, nil
}

// TestRelay shows how a body's end and its trailers reach a stream, over both protocols.
func TestRelay(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		http2   bool
		wait    time.Duration
		trailer http.Header
		err     error
		want    string
	}{
		{"HTTP/1.1", false, 0, nil, io.EOF, "a b .end"},
		{"HTTP/1.1 drops trailers", false, 0, http.Header{"X": {"1"}}, io.EOF, "a b .end"},
		{"HTTP/2, the end by itself", true, 0, nil, io.EOF, "a b .end"},
		{"HTTP/2, the end with the last piece", true, time.Minute, nil, io.EOF, "a b.end"},
		{"HTTP/2 with trailers", true, time.Minute, http.Header{"X": {"1"}}, io.EOF, "a b trailers"},
		{"cut", true, time.Minute, nil, broken, "a b failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			m := message{
				body: &piecewiseReader{[]string{"a", "b"}, tt.err}, http2: tt.http2,
				trailer: func() http.Header { return tt.trailer },
				data: func(p []byte, end bool) {
					text := string(p)
					if end {
						text += ".end"
					}
					got = append(got, text)
				},
				trailers: func(*wasmhost.Headers) { got = append(got, "trailers") },
				next:     func() bool { return true },
			}
			if err := m.relay(tt.wait); err != nil {
				got = append(got, "failed")
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

func TestFlow(t *testing.T) {
	f := newFlow()
	f.put([]byte("ab"), false)
	if f.full() {
		t.Error("an almost empty flow has no room")
	}
	f.put(slices.Repeat([]byte("x"), window), false)
	if !f.full() {
		t.Error("a full flow has room")
	}
	f.put(nil, true)
	if all, err := io.ReadAll(f); err != nil || len(all) != window+2 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	select {
	case <-f.room:
	default:
		t.Error("the flow does not signal that there is room again")
	}
	f = newFlow()
	f.put([]byte("a"), false)
	f.close()
	if all, err := io.ReadAll(f); !errors.Is(err, io.ErrUnexpectedEOF) || string(all) != "a" {
		t.Errorf("%q, %v", all, err)
	}
}

// TestRequestURL shows that a server receives exactly the path that the route was chosen by.
func TestRequestURL(t *testing.T) {
	to := &endpoint{Endpoint: Endpoint{Address: "127.0.0.1:1"}, scheme: "http"}
	for in, want := range map[string]string{
		"/v1/models/openai%2Fgpt":                "/v1/models/openai%2Fgpt",
		"/v1/models/^%2F..%2F..%2Fmetrics?x=%2F": "/v1/models/^%2F..%2F..%2Fmetrics?x=%2F",
		"/a b":                                   "/a%20b",
		"/\u00e9":                                "/%C3%A9",
		"/?":                                     "/?",
	} {
		if got := requestURL(to, in).RequestURI(); got != want {
			t.Errorf("%s is sent as %s, want %s", in, got, want)
		}
	}
}

// TestRepeatable shows that net/http may not send a request twice if the request costs something.
func TestRepeatable(t *testing.T) {
	post := &http.Request{Method: http.MethodPost, Header: http.Header{}}
	if repeatable(post) {
		t.Error("a POST is repeatable")
	}
	post.Header.Set("Idempotency-Key", "1")
	if !repeatable(post) || !repeatable(&http.Request{Method: http.MethodGet}) {
		t.Error("net/http repeats these")
	}
}
