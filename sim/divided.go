package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The values of [Options.Role].
const (
	// RolePrefill reads prompts for servers of [RoleDecode]: vLLM's with a kv_connector, SGLang's
	// --disaggregation-mode prefill.
	RolePrefill = "prefill"
	// RoleDecode writes answers to prompts that others have read.
	RoleDecode = "decode"
)

// DefaultTransferTimeout is how long one server waits for another: SGLang's default.
const DefaultTransferTimeout = 300 * time.Second

// bootstrap is where a request to SGLang says that its two servers meet.
type bootstrap struct {
	Host *string `json:"bootstrap_host"`
	Port *int    `json:"bootstrap_port"`
	Room *uint64 `json:"bootstrap_room"`
}

// transferParams are vLLM's kv_transfer_params, in vLLM's order.
type transferParams struct {
	DoRemotePrefill bool    `json:"do_remote_prefill"`
	DoRemoteDecode  bool    `json:"do_remote_decode"`
	BlockIDs        [][]int `json:"remote_block_ids"`
	EngineID        *string `json:"remote_engine_id"`
	RequestID       *string `json:"remote_request_id"`
	Host            *string `json:"remote_host"`
	Port            *int    `json:"remote_port"`
	TPSize          int     `json:"tp_size"`
	Tokens          int     `json:"remote_num_tokens"`
}

// divided is the part of a server that hands over prompts that it has read, or fetches them. Servers speak with each
// other at an address of their own, in a form of the simulator's: POST /blocks/KEY with the prompt's fingerprint waits
// until the prompt has been read, and takes it away.
type divided struct {
	address string // host:port where others fetch prompts, or empty
	http    *http.Server
	mu      sync.Mutex
	kept    map[string]*keptPrompt
	aborts  map[string]context.CancelFunc // by the id of a request
}

// keptPrompt is a prompt that is read for another server.
type keptPrompt struct {
	fingerprint string
	// claimed is closed when the other server asks for it, read when it has been read, and taken when the other server has
	// it. gone is closed when one of the two left before that.
	claimed, read, taken, gone chan struct{}
	isClaimed                  bool
	leave                      func() // closes gone
}

func newKeptPrompt(ids []uint32) *keptPrompt {
	kept := &keptPrompt{fingerprint: fingerprintOf(ids), claimed: make(chan struct{}), read: make(chan struct{}),
		taken: make(chan struct{}), gone: make(chan struct{})}
	kept.leave = sync.OnceFunc(func() { close(kept.gone) })
	return kept
}

func fingerprintOf(ids []uint32) string {
	h := sha256.New()
	for _, id := range ids {
		_ = binary.Write(h, binary.LittleEndian, id) // it never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// startDivided listens where other servers fetch prompts.
func (s *Server) startDivided() error {
	if s.opt.Role != RolePrefill {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.divided.http != nil {
		return nil
	}
	l, err := net.Listen("tcp", s.opt.TransferListen)
	if err != nil {
		return err
	}
	s.divided.address = l.Addr().String()
	s.divided.http = &http.Server{Handler: http.HandlerFunc(s.handOver), ReadHeaderTimeout: 10 * time.Second}
	s.servers = append(s.servers, s.divided.http)
	go func() { _ = s.divided.http.Serve(l) }()
	return nil
}

// handOver serves the other servers.
func (s *Server) handOver(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/blocks/")
	fingerprint, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if !ok || err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	kept := s.awaitKept(r.Context(), key)
	switch {
	case kept == nil:
		http.Error(w, "nothing is kept for "+key, http.StatusNotFound)
		return
	case kept.fingerprint != string(fingerprint):
		http.Error(w, "another prompt is kept for "+key, http.StatusConflict)
		return
	}
	s.divided.mu.Lock()
	twice := kept.isClaimed
	kept.isClaimed = true
	s.divided.mu.Unlock()
	if twice {
		http.Error(w, key+" has been fetched already", http.StatusConflict)
		return
	}
	close(kept.claimed)
	select {
	case <-kept.read:
		s.forget(key)
		close(kept.taken)
		s.transfers.Add(1)
	case <-kept.gone:
		http.Error(w, "the prompt of "+key+" is not read any more", http.StatusGone)
	case <-r.Context().Done():
		kept.leave()
	case <-s.closed:
	}
}

// awaitKept returns what is kept under a key. SGLang's two servers get their requests in any order.
func (s *Server) awaitKept(ctx context.Context, key string) *keptPrompt {
	meets := s.kind.meets()
	for {
		s.divided.mu.Lock()
		kept, changed := s.divided.kept[key], s.keptChanged
		s.divided.mu.Unlock()
		if kept != nil || !meets {
			return kept
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-s.closed:
			return nil
		}
	}
}

// keep keeps a prompt under a key. It reports whether nothing was there.
func (s *Server) keep(key string, kept *keptPrompt) bool {
	s.divided.mu.Lock()
	defer s.divided.mu.Unlock()
	if s.divided.kept[key] != nil {
		return false
	}
	s.divided.kept[key] = kept
	close(s.keptChanged)
	s.keptChanged = make(chan struct{})
	return true
}

func (s *Server) forget(key string) {
	s.divided.mu.Lock()
	defer s.divided.mu.Unlock()
	delete(s.divided.kept, key)
}

// TransferAddress returns where a server of [RolePrefill] hands over prompts, as host:port. It is empty before
// [Server.Start].
func (s *Server) TransferAddress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.divided.address
}

// Kept returns how many prompts are kept for other servers. Transfers returns how many were fetched.
func (s *Server) Kept() int {
	s.divided.mu.Lock()
	defer s.divided.mu.Unlock()
	return len(s.divided.kept)
}

// Transfers returns how many prompts other servers have fetched.
func (s *Server) Transfers() int { return int(s.transfers.Load()) }

// checkDivided makes the checks of SGLang's schedulers. The servers of one role answer no request of their own.
func (s *Server) checkDivided(c *completion) *refusal {
	if !s.kind.meets() || s.opt.Role == "" {
		return nil
	}
	switch b := c.bootstrap; {
	case b.Room == nil:
		return badRequest("",
			fmt.Sprintf("Disaggregated request received without bootstrap room id. req.rid='%s'", c.RequestID))
	case b.Host == nil || b.Port == nil:
		return badRequest("", "Disaggregated request received without bootstrap host or port.")
	case c.choices() > 1:
		return badRequest("", "The simulator divides requests for one answer.")
	}
	if s.opt.Role == RolePrefill {
		one := 1
		c.MaxTokens = &one
	}
	return nil
}

// divide does the part of a request that two servers share, before the first token. It returns a refusal if the other
// server fails.
func (j *job) divide(ctx context.Context) (*refusal, error) {
	s, c := j.s, j.c
	meets := s.kind.meets()
	switch {
	case meets && s.opt.Role == RolePrefill:
		return j.readForRoom(ctx)
	case meets && s.opt.Role == RoleDecode:
		address := net.JoinHostPort(strings.Trim(*c.bootstrap.Host, "[]"), strconv.Itoa(*c.bootstrap.Port))
		return j.fetch(ctx, address, strconv.FormatUint(*c.bootstrap.Room, 10))
	case meets || c.KVTransferParams == nil:
		return nil, nil
	}
	p := c.KVTransferParams
	if p.DoRemotePrefill && s.opt.Role == RoleDecode {
		if p.Host == nil || p.Port == nil || p.RequestID == nil || p.EngineID == nil || len(p.BlockIDs) == 0 {
			return failure(http.StatusInternalServerError), nil
		}
		return j.fetch(ctx, net.JoinHostPort(*p.Host, strconv.Itoa(*p.Port)), *p.RequestID)
	}
	return nil, nil
}

// readForRoom reads a prompt as SGLang's prefill servers do: when the other server has come to the room.
func (j *job) readForRoom(ctx context.Context) (*refusal, error) {
	s, key := j.s, strconv.FormatUint(*j.c.bootstrap.Room, 10)
	kept := newKeptPrompt(j.c.ids)
	if !s.keep(key, kept) {
		return refuse(500, "InternalServerError", "", "The room "+key+" is taken."), nil
	}
	defer s.forget(key)
	timeout := time.NewTimer(s.opt.TransferTimeout)
	defer timeout.Stop()
	select {
	case <-kept.claimed:
	case <-timeout.C:
		return kvTransferError(key, "Request timed out in KVPoll.Bootstrapping"), nil
	case <-ctx.Done():
		kept.leave()
		return nil, errClientGone
	case <-s.closed:
		return nil, errClosed
	}
	if err := j.pace(ctx, 0); err != nil {
		kept.leave()
		return nil, err
	}
	close(kept.read)
	j.wasRead = true
	select {
	case <-kept.taken:
		return nil, nil
	case <-kept.gone:
		return kvTransferError(key, "Aborted by the decode server"), nil
	case <-ctx.Done():
		return nil, errClientGone
	case <-s.closed:
		return nil, errClosed
	}
}

func kvTransferError(room, why string) *refusal {
	return refuse(500, "InternalServerError", "", "KVTransferError(bootstrap_room="+room+"): "+why)
}

// fetch fetches what another server has read of the prompt.
func (j *job) fetch(ctx context.Context, address, key string) (*refusal, error) {
	limited, cancel := context.WithTimeout(ctx, j.s.opt.TransferTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, "http://"+address+"/blocks/"+key,
		strings.NewReader(fingerprintOf(j.c.ids)))
	if err != nil {
		return badRequest("", err.Error()), nil
	}
	response, err := transferClient.Do(r)
	switch {
	case ctx.Err() != nil:
		return nil, errClientGone
	case errors.Is(err, context.DeadlineExceeded):
		return kvTransferError(key, "Request timed out in KVPoll.WaitingForInput"), nil
	case err != nil:
		return kvTransferError(key, "Failed to reach the prefill server at "+address), nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode != http.StatusOK {
		return kvTransferError(key, strings.TrimSpace(string(text))), nil
	}
	j.wasRead = true
	j.s.rec.update(func() { j.rec.PromptFrom = address })
	return nil, nil
}

var transferClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// keepForDecode keeps a prompt that has been read, as vLLM's connectors do, and returns what the other server needs.
func (j *job) keepForDecode() *transferParams {
	s, p := j.s, j.c.KVTransferParams
	if s.opt.Role != RolePrefill || p == nil || !p.DoRemoteDecode {
		return nil
	}
	kept, key := newKeptPrompt(j.c.ids), "req-"+j.id
	close(kept.read)
	for n := 0; !s.keep(key, kept); n++ {
		key = "req-" + j.id + "-" + strconv.Itoa(n)
	}
	time.AfterFunc(s.opt.TransferTimeout, func() { s.forget(key) })
	host, text, _ := net.SplitHostPort(s.divided.address)
	port, _ := strconv.Atoi(text)
	engine := "sim-" + s.divided.address
	blocks := make([]int, (len(j.c.ids)+s.opt.BlockSize-1)/s.opt.BlockSize)
	for i := range blocks {
		blocks[i] = i + 1
	}
	return &transferParams{DoRemotePrefill: true, BlockIDs: [][]int{blocks}, EngineID: &engine, RequestID: &key,
		Host: &host, Port: &port, TPSize: 1, Tokens: len(j.c.ids)}
}

// abortable makes a request of SGLang's abortable by its id. The caller calls the function when the request has ended.
func (s *Server) abortable(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if id == "" {
		return ctx, cancel
	}
	s.divided.mu.Lock()
	s.divided.aborts[id] = cancel
	s.divided.mu.Unlock()
	return ctx, func() {
		s.divided.mu.Lock()
		delete(s.divided.aborts, id)
		s.divided.mu.Unlock()
		cancel()
	}
}

// abort ends the request with this id, if there is one.
func (s *Server) abort(id string) {
	s.divided.mu.Lock()
	cancel := s.divided.aborts[id]
	s.divided.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
