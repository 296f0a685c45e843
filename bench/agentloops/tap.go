package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
)

// tap passes requests on to a server, and keeps the last prompt and what the server said of its cache.
type tap struct {
	url      string
	server   *http.Server
	mu       sync.Mutex
	prompt   []uint32
	answered bytes.Buffer
}

// newTap starts a tap before a server.
func newTap(server string) (*tap, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{url: "http://" + listener.Addr().String()}
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.FlushInterval, forward.Transport = -1, once.Transport
	forward.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPost {
			r.Body = &teed{ReadCloser: r.Body, tap: t}
		}
		return nil
	}
	t.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			t.asked(body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = t.server.Serve(listener) }() // it ends with close
	return t, nil
}

func (t *tap) close() { _ = t.server.Close() }

// asked keeps the prompt of a request: vLLM and llama.cpp call it prompt, SGLang input_ids.
func (t *tap) asked(body []byte) {
	var request struct {
		Prompt   []uint32 `json:"prompt"`
		InputIDs []uint32 `json:"input_ids"`
	}
	_ = json.Unmarshal(body, &request) // a conversation has neither
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompt = append(request.Prompt, request.InputIDs...)
	t.answered.Reset()
}

// teed keeps what is read of an answer.
type teed struct {
	io.ReadCloser
	tap *tap
}

// Read implements [io.Reader].
func (r *teed) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.tap.mu.Lock()
	defer r.tap.mu.Unlock()
	r.tap.answered.Write(p[:n])
	return n, err
}

// cachedByEngine finds how many tokens were cached in an answer: in vLLM's usage, in llama.cpp's timings, and in
// SGLang's meta_info.
var cachedByEngine = regexp.MustCompile(`"(?:cached_tokens|cache_n)":\s*(\d+)`)

// last returns the last prompt, and how many of its tokens the server said were cached.
func (t *tap) last() (prompt []uint32, cached int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cached = -1
	if all := cachedByEngine.FindAllSubmatch(t.answered.Bytes(), -1); all != nil {
		cached, _ = strconv.Atoi(string(all[len(all)-1][1])) // the expression has digits
	}
	return t.prompt, cached
}
