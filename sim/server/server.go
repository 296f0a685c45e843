package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

const bodyLimit = 64 << 20

// Server is the simulated server. [sim.New] makes one.
type Server struct {
	// Options are the options given to [New], with their defaults. They do not change.
	Options   Options
	Tokenizer *tokenizer.Tokenizer
	Metrics   *Metrics
	// Created is when the server was made, in seconds since 1970.
	Created int64

	kind  Protocol
	rec   recorder
	cache prefixCache
	slots chan struct{} // nil without a limit
	// batching is nil without [Options.CacheBlocks].
	batching *batching
	divided  divided
	// keptChanged is closed when a prompt is kept.
	keptChanged chan struct{}
	transfers   atomic.Int64
	unhealthy   atomic.Bool

	released    chan struct{} // closed by releaseOnce
	releaseOnce func()
	closed      chan struct{}
	closeOnce   sync.Once
	mu          sync.Mutex
	servers     []*http.Server
}

// New returns a server of a kind.
func New(o Options, kind Protocol) *Server {
	o = o.withDefaults(kind)
	s := &Server{Options: o, kind: kind, Tokenizer: o200k.Tokenizer(), Metrics: newMetrics(), Created: time.Now().Unix(),
		closed: make(chan struct{}), released: make(chan struct{})}
	s.divided.kept, s.divided.aborts = map[string]*keptPrompt{}, map[string]context.CancelFunc{}
	s.keptChanged = make(chan struct{})
	s.releaseOnce = sync.OnceFunc(func() { close(s.released) })
	s.rec.keep = o.Keep
	s.cache = prefixCache{size: o.BlockSize, blocks: batch.NewBlocks(o.KVCacheTokens/o.BlockSize + 1)}
	s.batching = newBatching(s)
	s.Metrics.batching = s.batching
	if o.MaxRunning > 0 {
		s.slots = make(chan struct{}, o.MaxRunning)
	}
	return s
}

// Start listens on an address ("127.0.0.1:0" for a free port) with HTTP/1.1 and HTTP/2 in clear text, and returns the
// server's URL. Further calls add addresses.
func (s *Server) Start(addr string) (string, error) {
	if err := s.startDivided(); err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, streamedKey{}, new(atomic.Bool))
		},
		ErrorLog: slog.NewLogLogger(s.Options.Log.Handler(), slog.LevelError)}
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	s.mu.Lock()
	s.servers = append(s.servers, h)
	s.mu.Unlock()
	go func() {
		if err := h.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.Options.Log.Error("serve", "error", err)
		}
	}()
	return "http://" + l.Addr().String(), nil
}

// Release ends [Options.HoldAfter] and the pace of the answers: every stream continues to its end as fast as it can.
func (s *Server) Release() { s.releaseOnce() }

// Close stops listening, and ends running requests at once.
func (s *Server) Close() {
	s.closeOnce.Do(func() { close(s.closed) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.servers {
		_ = h.Close()
	}
}

// Healthy reports what [Server.SetHealthy] has set.
func (s *Server) Healthy() bool { return !s.unhealthy.Load() }

// SetHealthy sets the answer of /health: 200, or 503 as for a dead engine.
func (s *Server) SetHealthy(ok bool) { s.unhealthy.Store(!ok) }

// streamedKey is the key of what a connection has had: an [atomic.Bool] that reports whether a stream went over it.
type streamedKey struct{}

// worn reports whether the request has come on a connection that a stream went over, at a server that then closes it.
func (s *Server) worn(ctx context.Context) bool {
	streamed, ok := ctx.Value(streamedKey{}).(*atomic.Bool)
	return ok && streamed.Load() && s.kind.SingleUse()
}

// Handler returns the whole server as a handler. HTTP/2 in clear text works only with a server that supports it, as the
// one of [Server.Start] does.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.worn(r.Context()) {
			cut(w, false)
		}
		startedAt := time.Now()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		rec := &Request{Method: r.Method, Path: r.URL.Path, Proto: r.Proto, Header: r.Header.Clone(), Body: body}
		// A control plane asks for the path alone, without a body. That is no request for a completion.
		if r.Method != http.MethodPost || len(body) > 0 || s.serverPath(r.URL.Path) != s.kind.Path() {
			s.rec.add(rec)
		}
		defer func() {
			// The call is deferred, because a fault may end the handler by a panic.
			var q Request
			s.rec.update(func() { rec.Done = true; q = *rec })
			s.Options.Log.Info("request", "method", q.Method, "path", q.Path, "proto", q.Proto, "status", q.Status, "id", q.ID,
				"model", q.Model, "stream", q.Stream, "prompt_tokens", len(q.PromptIDs), "tokens_sent", q.TokensSent,
				"finish", q.Finish, "aborted", q.Aborted, "took", time.Since(startedAt).Round(time.Microsecond))
		}()
		w.Header().Set("Server", "uvicorn")
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.Refuse(w, rec, HTTPError(http.StatusRequestEntityTooLarge))
		case err != nil:
			s.rec.update(func() { rec.Aborted = true })
		default:
			s.route(w, r, rec)
		}
	})
}

// serverPath returns a path as the kinds know it, with /v1 in place of [Options.APIPath]. It is empty for a path that
// the server does not have.
func (s *Server) serverPath(path string) string {
	api := s.Options.APIPath
	if api == "" || api == "/v1" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, api+"/"); ok {
		return "/v1/" + rest
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(api, "/v1"))
	if !ok || strings.HasPrefix(rest, "/v1/") {
		return ""
	}
	return rest
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, rec *Request) {
	path := s.serverPath(r.URL.Path)
	if s.Options.APIKey != "" && s.kind.Guarded(path) && r.Header.Get("Authorization") != "Bearer "+s.Options.APIKey {
		s.Respond(w, rec, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
		return
	}
	p := s.kind.Page(s, path)
	if path == s.kind.Path() {
		p = &Page{s.kind.Methods(), func(w http.ResponseWriter, rec *Request) { s.completions(w, r, rec) }}
	}
	switch {
	case p == nil:
		s.Refuse(w, rec, HTTPError(http.StatusNotFound))
	case !slices.Contains(p.Methods, r.Method):
		s.Refuse(w, rec, HTTPError(http.StatusMethodNotAllowed))
	default:
		p.Serve(w, rec)
	}
}

// ModelsPage returns /v1/models. owner is what the kind calls the owner of a model.
func (s *Server) ModelsPage(owner string) *Page {
	return &Page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.Respond(w, rec, http.StatusOK, s.models(owner))
	}}
}

// JSONPage returns a path whose answer is always this value.
func (s *Server) JSONPage(v any) *Page {
	return &Page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.Respond(w, rec, http.StatusOK, MustJSON(v))
	}}
}

// HealthPage returns a path whose status is the server's health.
func (s *Server) HealthPage(methods ...string) *Page {
	return &Page{methods, func(w http.ResponseWriter, rec *Request) {
		status := http.StatusOK
		if !s.Healthy() {
			status = http.StatusServiceUnavailable
		}
		s.Head(w, rec, status, "")
	}}
}

// MetricsPage returns /metrics.
func (s *Server) MetricsPage(contentType string) *Page {
	return &Page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.Head(w, rec, http.StatusOK, contentType)
		s.kind.Metrics(w, s.Metrics, s.Options.Models[0], s.Options.KVCacheTokens)
	}}
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request, rec *Request) {
	c, refused := s.kind.Decode(s, r.Header, rec.Body)
	if refused != nil {
		s.refuseCompletion(w, rec, c, refused)
		return
	}
	if c.Model != nil {
		s.rec.update(func() { rec.Model = *c.Model })
	}
	if refused = s.checkDivided(c); refused != nil {
		s.refuseCompletion(w, rec, c, refused)
		return
	}
	ctx, end := s.abortable(r.Context(), c.RequestID)
	defer end()
	j, refused := s.accept(r.Header, c, rec)
	if refused != nil {
		s.refuseCompletion(w, rec, c, refused)
		return
	}
	j.serve(w, r.WithContext(ctx))
}

// refuseCompletion refuses a request, whose completion is nil if it could not be read.
func (s *Server) refuseCompletion(w http.ResponseWriter, rec *Request, c *Completion, refused *Refusal) {
	if c == nil || !c.Streams() || !s.kind.StreamsRefusals() {
		s.Refuse(w, rec, refused)
		return
	}
	s.Head(w, rec, http.StatusOK, s.kind.StreamType())
	out := s.output(context.Background(), w)
	if out.write(append(s.kind.ErrorEvent(refused), s.kind.Terminator()...)) == nil {
		_ = out.end()
	}
}

// Serves reports whether a model has this name.
func (s *Server) Serves(model string) bool { return slices.Contains(s.Options.Models, model) }

func (s *Server) models(owner string) []byte {
	type card struct {
		ID          string  `json:"id"`
		Object      string  `json:"object"`
		Created     int64   `json:"created"`
		OwnedBy     string  `json:"owned_by"`
		Root        string  `json:"root"`
		Parent      *string `json:"parent"`
		MaxModelLen int     `json:"max_model_len"`
	}
	var data []card
	for _, name := range s.Options.Models {
		data = append(data, card{ID: name, Object: "model", Created: s.Created, OwnedBy: owner, Root: s.Options.Models[0],
			MaxModelLen: s.Options.MaxModelLen})
	}
	return MustJSON(struct {
		Object string `json:"object"`
		Data   []card `json:"data"`
	}{"list", data})
}

// admit waits for a free slot. release returns the slot.
func (s *Server) admit(ctx context.Context) error {
	if s.slots != nil {
		select {
		case s.slots <- struct{}{}:
		default:
			s.Metrics.with(func(m *Metrics) { m.waiting++ })
			defer s.Metrics.with(func(m *Metrics) { m.waiting-- })
			select {
			case s.slots <- struct{}{}:
			case <-ctx.Done():
				return errClientGone
			case <-s.closed:
				return errClosed
			}
		}
	}
	s.Metrics.with(func(m *Metrics) { m.running++ })
	return nil
}

func (s *Server) release() {
	s.Metrics.with(func(m *Metrics) { m.running-- })
	if s.slots != nil {
		<-s.slots
	}
}

// Head sends the headers of a response, and records the status.
func (s *Server) Head(w http.ResponseWriter, rec *Request, status int, contentType string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	s.rec.update(func() { rec.Status = status })
	w.WriteHeader(status)
}

// Respond sends a whole response.
func (s *Server) Respond(w http.ResponseWriter, rec *Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	s.Head(w, rec, status, "application/json")
	out := s.output(context.Background(), w)
	// A client that has disconnected is not recorded: the answer was ready for it.
	if out.write(body) == nil {
		_ = out.end()
	}
}

// Refuse sends a refusal in the form of the server's kind.
func (s *Server) Refuse(w http.ResponseWriter, rec *Request, r *Refusal) {
	if r.retryAfter != "" {
		w.Header().Set("Retry-After", r.retryAfter)
	}
	s.Respond(w, rec, r.Code, s.kind.Refusal(r))
}

// RequestID returns the header's id, the body's, or a random one.
func RequestID(h http.Header, inBody string) string {
	if id := h.Get("X-Request-Id"); id != "" {
		return id
	}
	if inBody != "" {
		return inBody
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
