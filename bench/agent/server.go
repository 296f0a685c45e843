package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	// model is the name of the model.
	model = "gpt-oss"
	// contextLength is the model's. A whole session is longer than gpt-oss's own.
	contextLength = 262_144
	// word is every token of an answer, which has answerWords of them.
	word        = " word"
	answerWords = 20
)

// server is the inference server. Every answer is the same, so that it costs this machine as little as possible.
type server struct {
	url    string
	answer *httptest.ResponseRecorder
	sim    *sim.Server
	http   *http.Server
}

func startServer() (*server, error) {
	text := "<|channel|>final<|message|>" + strings.Repeat(word, answerWords) + "<|return|>"
	s := &server{sim: sim.New(sim.Options{Kind: contract.VLLM, Models: []string{model}, AnyPrompt: true,
		MaxModelLen: contextLength, Script: sim.NewScript(
			sim.Line{Match: question, Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, text)})})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	s.http = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(s.serve)}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

func (s *server) close() { _ = s.http.Close() }

// question is the text of the first request, whose answer all others get too.
const question = "the words, please"

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.sim.Handler().ServeHTTP(w, r)
		return
	}
	if s.answer == nil { // nothing else is sent before the first request has ended
		s.answer = httptest.NewRecorder()
		s.sim.Handler().ServeHTTP(s.answer, r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", s.answer.Header().Get("Content-Type"))
	w.WriteHeader(s.answer.Code)
	_, _ = w.Write(s.answer.Body.Bytes())
}
