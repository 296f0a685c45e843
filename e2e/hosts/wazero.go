package hosts

import (
	"fmt"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
)

// Wazero runs the shipped filter, named by $HARMONY_WASM, in this process, with the resources that Envoy receives.
func Wazero(s Setup) (*Host, error) {
	r, err := Resources(s)
	if err != nil {
		return nil, err
	}
	o := inprocess.Options{Workers: s.Config.Envoy.Concurrency}
	if s.Cut > 0 || len(s.CutAt) > 0 {
		o.Cut = &proxy.Cut{Every: s.Cut, At: s.CutAt}
	}
	return WazeroWith(r, o)
}

// WazeroWith serves these resources in this process.
func WazeroWith(r *xds.Resources, o inprocess.Options) (*Host, error) {
	if o.CacheDir == "" {
		// Tests start many hosts with the same module.
		var err error
		if o.CacheDir, err = wasmhost.CacheDir(); err != nil {
			return nil, err
		}
	}
	ended := &streams{}
	ended.more.L = &ended.mu
	o.StreamDone = ended.add
	server, err := inprocess.Start(r, o)
	if err != nil {
		return nil, err
	}
	return &Host{Name: "wazero", URL: "http://" + server.Address(), Server: server, stop: server.Stop,
		chunks: ended.chunks}, nil
}

// streams counts the streams that have ended, and the body callbacks for their responses.
type streams struct {
	mu          sync.Mutex
	more        sync.Cond
	count, body int
}

func (s *streams) add(stream *wasmhost.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.body += stream.Callbacks().ResponseBody
	s.more.Broadcast()
}

// chunks waits until so many streams have ended, because a client may have its answer a moment earlier. It returns the
// number of body callbacks.
func (s *streams) chunks(requests int) (int, error) {
	tooLate := time.AfterFunc(startLimit, s.more.Broadcast)
	defer tooLate.Stop()
	limit := time.Now().Add(startLimit)
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.count < requests {
		if time.Now().After(limit) {
			return 0, fmt.Errorf("%d requests were made, and %d streams have ended", requests, s.count)
		}
		s.more.Wait()
	}
	return s.body, nil
}
