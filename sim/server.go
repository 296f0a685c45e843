package sim

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

// Server is the simulated server. [New] makes one.
type Server struct {
	opt     Options
	kind    protocol
	tok     *tokenizer.Tokenizer
	rec     recorder
	cache   prefixCache
	metrics *metrics
	slots   chan struct{} // nil without a limit
	// batching is nil without [Options.CacheBlocks].
	batching *batching
	divided  divided
	// keptChanged is closed when a prompt is kept.
	keptChanged chan struct{}
	transfers   atomic.Int64
	unhealthy   atomic.Bool
	created     int64

	released    chan struct{} // closed by releaseOnce
	releaseOnce func()
	closed      chan struct{}
	closeOnce   sync.Once
	mu          sync.Mutex
	servers     []*http.Server
}

// newServer returns a server of a kind.
func newServer(o Options, kind protocol) *Server {
	o = o.withDefaults(kind)
	s := &Server{opt: o, kind: kind, tok: o200k.Tokenizer(), metrics: newMetrics(), created: time.Now().Unix(),
		closed: make(chan struct{}), released: make(chan struct{})}
	s.divided.kept, s.divided.aborts = map[string]*keptPrompt{}, map[string]context.CancelFunc{}
	s.keptChanged = make(chan struct{})
	s.releaseOnce = sync.OnceFunc(func() { close(s.released) })
	s.rec.keep = o.Keep
	s.cache = prefixCache{size: o.BlockSize, blocks: batch.NewBlocks(o.KVCacheTokens/o.BlockSize + 1)}
	s.batching = newBatching(s)
	s.metrics.batching = s.batching
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
		ErrorLog: slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelError)}
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetUnencryptedHTTP2(true)
	s.mu.Lock()
	s.servers = append(s.servers, h)
	s.mu.Unlock()
	go func() {
		if err := h.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.opt.Log.Error("serve", "error", err)
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

func (s *Server) healthy() bool { return !s.unhealthy.Load() }

// SetHealthy sets the answer of /health: 200, or 503 as for a dead engine.
func (s *Server) SetHealthy(ok bool) { s.unhealthy.Store(!ok) }

// streamedKey is the key of what a connection has had: an [atomic.Bool] that reports whether a stream went over it.
type streamedKey struct{}

// worn reports whether the request has come on a connection that a stream went over, at a server that then closes it.
func (s *Server) worn(ctx context.Context) bool {
	streamed, ok := ctx.Value(streamedKey{}).(*atomic.Bool)
	return ok && streamed.Load() && s.kind.singleUse()
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
		if r.Method != http.MethodPost || len(body) > 0 || s.serverPath(r.URL.Path) != s.kind.path() {
			s.rec.add(rec)
		}
		defer func() {
			// The call is deferred, because a fault may end the handler by a panic.
			var q Request
			s.rec.update(func() { rec.Done = true; q = *rec })
			s.opt.Log.Info("request", "method", q.Method, "path", q.Path, "proto", q.Proto, "status", q.Status, "id", q.ID,
				"model", q.Model, "stream", q.Stream, "prompt_tokens", len(q.PromptIDs), "tokens_sent", q.TokensSent,
				"finish", q.Finish, "aborted", q.Aborted, "took", time.Since(startedAt).Round(time.Microsecond))
		}()
		w.Header().Set("Server", "uvicorn")
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.refuse(w, rec, httpError(http.StatusRequestEntityTooLarge))
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
	api := s.opt.APIPath
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
	if s.opt.APIKey != "" && s.kind.guarded(path) && r.Header.Get("Authorization") != "Bearer "+s.opt.APIKey {
		s.respond(w, rec, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
		return
	}
	p := s.kind.page(s, path)
	if path == s.kind.path() {
		p = &page{s.kind.methods(), func(w http.ResponseWriter, rec *Request) { s.completions(w, r, rec) }}
	}
	switch {
	case p == nil:
		s.refuse(w, rec, httpError(http.StatusNotFound))
	case !slices.Contains(p.methods, r.Method):
		s.refuse(w, rec, httpError(http.StatusMethodNotAllowed))
	default:
		p.serve(w, rec)
	}
}

// modelsPage returns /v1/models. owner is what the kind calls the owner of a model.
func (s *Server) modelsPage(owner string) *page {
	return &page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.respond(w, rec, http.StatusOK, s.models(owner))
	}}
}

// jsonPage returns a path whose answer is always this value.
func (s *Server) jsonPage(v any) *page {
	return &page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.respond(w, rec, http.StatusOK, mustJSON(v))
	}}
}

// healthPage returns a path whose status is the server's health.
func (s *Server) healthPage(methods ...string) *page {
	return &page{methods, func(w http.ResponseWriter, rec *Request) {
		status := http.StatusOK
		if !s.healthy() {
			status = http.StatusServiceUnavailable
		}
		s.head(w, rec, status, "")
	}}
}

// metricsPage returns /metrics.
func (s *Server) metricsPage(contentType string) *page {
	return &page{[]string{http.MethodGet}, func(w http.ResponseWriter, rec *Request) {
		s.head(w, rec, http.StatusOK, contentType)
		s.kind.metrics(w, s.metrics, s.opt.Models[0], s.opt.KVCacheTokens)
	}}
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request, rec *Request) {
	c, refused := s.kind.decode(s, r.Header, rec.Body)
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
func (s *Server) refuseCompletion(w http.ResponseWriter, rec *Request, c *completion, refused *refusal) {
	if c == nil || !c.streams() || !s.kind.streamsRefusals() {
		s.refuse(w, rec, refused)
		return
	}
	s.head(w, rec, http.StatusOK, s.kind.streamType())
	out := s.output(context.Background(), w)
	if out.write(append(s.kind.errorEvent(refused), s.kind.terminator()...)) == nil {
		_ = out.end()
	}
}

func (s *Server) serves(model string) bool { return slices.Contains(s.opt.Models, model) }

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
	for _, name := range s.opt.Models {
		data = append(data, card{ID: name, Object: "model", Created: s.created, OwnedBy: owner, Root: s.opt.Models[0],
			MaxModelLen: s.opt.MaxModelLen})
	}
	return mustJSON(struct {
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
			s.metrics.with(func(m *metrics) { m.waiting++ })
			defer s.metrics.with(func(m *metrics) { m.waiting-- })
			select {
			case s.slots <- struct{}{}:
			case <-ctx.Done():
				return errClientGone
			case <-s.closed:
				return errClosed
			}
		}
	}
	s.metrics.with(func(m *metrics) { m.running++ })
	return nil
}

func (s *Server) release() {
	s.metrics.with(func(m *metrics) { m.running-- })
	if s.slots != nil {
		<-s.slots
	}
}

func (s *Server) head(w http.ResponseWriter, rec *Request, status int, contentType string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	s.rec.update(func() { rec.Status = status })
	w.WriteHeader(status)
}

func (s *Server) respond(w http.ResponseWriter, rec *Request, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	s.head(w, rec, status, "application/json")
	out := s.output(context.Background(), w)
	// A client that has disconnected is not recorded: the answer was ready for it.
	if out.write(body) == nil {
		_ = out.end()
	}
}

func (s *Server) refuse(w http.ResponseWriter, rec *Request, r *refusal) {
	if r.retryAfter != "" {
		w.Header().Set("Retry-After", r.retryAfter)
	}
	s.respond(w, rec, r.Code, s.kind.refusal(r))
}

// requestID returns the header's id, the body's, or a random one.
func requestID(h http.Header, inBody string) string {
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
