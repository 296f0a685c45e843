package server

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

// Bootstrap is where a request to SGLang says that its two servers meet.
type Bootstrap struct {
	Host *string `json:"bootstrap_host"`
	Port *int    `json:"bootstrap_port"`
	Room *uint64 `json:"bootstrap_room"`
}

// TransferParams are vLLM's kv_transfer_params, in vLLM's order.
type TransferParams struct {
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
	if s.Options.Role != RolePrefill {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.divided.http != nil {
		return nil
	}
	l, err := net.Listen("tcp", s.Options.TransferListen)
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
	meets := s.kind.Meets()
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
func (s *Server) checkDivided(c *Completion) *Refusal {
	if !s.kind.Meets() || s.Options.Role == "" {
		return nil
	}
	switch b := c.Bootstrap; {
	case b.Room == nil:
		return BadRequest("",
			fmt.Sprintf("Disaggregated request received without bootstrap room id. req.rid='%s'", c.RequestID))
	case b.Host == nil || b.Port == nil:
		return BadRequest("", "Disaggregated request received without bootstrap host or port.")
	case c.Choices() > 1:
		return BadRequest("", "The simulator divides requests for one answer.")
	}
	if s.Options.Role == RolePrefill {
		one := 1
		c.MaxTokens = &one
	}
	return nil
}

// divide does the part of a request that two servers share, before the first token. It returns a refusal if the other
// server fails.
func (j *Job) divide(ctx context.Context) (*Refusal, error) {
	s, c := j.Server, j.Asked
	meets := s.kind.Meets()
	switch {
	case meets && s.Options.Role == RolePrefill:
		return j.readForRoom(ctx)
	case meets && s.Options.Role == RoleDecode:
		address := net.JoinHostPort(strings.Trim(*c.Bootstrap.Host, "[]"), strconv.Itoa(*c.Bootstrap.Port))
		return j.fetch(ctx, address, strconv.FormatUint(*c.Bootstrap.Room, 10))
	case meets || c.KVTransferParams == nil:
		return nil, nil
	}
	p := c.KVTransferParams
	if p.DoRemotePrefill && s.Options.Role == RoleDecode {
		if p.Host == nil || p.Port == nil || p.RequestID == nil || p.EngineID == nil || len(p.BlockIDs) == 0 {
			return failure(http.StatusInternalServerError), nil
		}
		return j.fetch(ctx, net.JoinHostPort(*p.Host, strconv.Itoa(*p.Port)), *p.RequestID)
	}
	return nil, nil
}

// readForRoom reads a prompt as SGLang's prefill servers do: when the other server has come to the room.
func (j *Job) readForRoom(ctx context.Context) (*Refusal, error) {
	s, key := j.Server, strconv.FormatUint(*j.Asked.Bootstrap.Room, 10)
	kept := newKeptPrompt(j.Asked.IDs)
	if !s.keep(key, kept) {
		return Refuse(500, "InternalServerError", "", "The room "+key+" is taken."), nil
	}
	defer s.forget(key)
	timeout := time.NewTimer(s.Options.TransferTimeout)
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

func kvTransferError(room, why string) *Refusal {
	return Refuse(500, "InternalServerError", "", "KVTransferError(bootstrap_room="+room+"): "+why)
}

// fetch fetches what another server has read of the prompt.
func (j *Job) fetch(ctx context.Context, address, key string) (*Refusal, error) {
	limited, cancel := context.WithTimeout(ctx, j.Server.Options.TransferTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, "http://"+address+"/blocks/"+key,
		strings.NewReader(fingerprintOf(j.Asked.IDs)))
	if err != nil {
		return BadRequest("", err.Error()), nil
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
	j.Server.rec.update(func() { j.rec.PromptFrom = address })
	return nil, nil
}

var transferClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// KeepForDecode keeps a prompt that has been read, as vLLM's connectors do, and returns what the other server needs.
func (j *Job) KeepForDecode() *TransferParams {
	s, p := j.Server, j.Asked.KVTransferParams
	if s.Options.Role != RolePrefill || p == nil || !p.DoRemoteDecode {
		return nil
	}
	kept, key := newKeptPrompt(j.Asked.IDs), "req-"+j.ID
	close(kept.read)
	for n := 0; !s.keep(key, kept); n++ {
		key = "req-" + j.ID + "-" + strconv.Itoa(n)
	}
	time.AfterFunc(s.Options.TransferTimeout, func() { s.forget(key) })
	host, text, _ := net.SplitHostPort(s.divided.address)
	port, _ := strconv.Atoi(text)
	engine := "sim-" + s.divided.address
	blocks := make([]int, (len(j.Asked.IDs)+s.Options.BlockSize-1)/s.Options.BlockSize)
	for i := range blocks {
		blocks[i] = i + 1
	}
	return &TransferParams{DoRemotePrefill: true, BlockIDs: [][]int{blocks}, EngineID: &engine, RequestID: &key,
		Host: &host, Port: &port, TPSize: 1, Tokens: len(j.Asked.IDs)}
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

// Abort ends the request with this id, if there is one.
func (s *Server) Abort(id string) {
	s.divided.mu.Lock()
	cancel := s.divided.aborts[id]
	s.divided.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
