// Package blocks is a scorer for the Inference Extension's endpoint picker. It prefers the pod that has most of a
// prompt's blocks in its cache, by the hashes that Harmony Edge sends.
//
// It knows hashes of blocks and pods. It does not know prompts.
package blocks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/plugin"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/requestcontrol"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/scheduling"
)

const (
	// Type is the scorer's type in an EndpointPickerConfig.
	Type = "harmony-blocks-scorer"
	// Header has the hashes of a prompt's first blocks, each as 16 hexadecimal digits, with commas between them. Each hash
	// depends on all blocks before it. Only Harmony Edge sets it: its route removes it from clients' requests.
	Header = "x-harmony-internal-blocks"
)

const (
	defaultBlocksPerPod = 1 << 16
	maxBlocksPerPod     = 1 << 24
	maxHashes           = 1 << 12 // those of one prompt that count
	// forgetAfter is how long nothing may be sent to a pod before its blocks are forgotten: it may be gone.
	forgetAfter = time.Hour
)

// Scorer scores pods by how much of a prompt they have been sent before.
type Scorer struct {
	name         plugin.TypedName
	blocksPerPod int
	now          func() time.Time

	mu   sync.Mutex
	pods map[types.NamespacedName]*pod
}

// pod is what has been sent to a pod.
type pod struct {
	blocks *lru.Cache[uint64, struct{}]
	used   time.Time
}

var (
	_ scheduling.Scorer         = (*Scorer)(nil)
	_ requestcontrol.PreRequest = (*Scorer)(nil)
)

// Factory makes a [Scorer] for the picker's configuration. Its parameter blocksPerPod is how many blocks a pod's cache
// has. The default is 65,536: a million tokens.
func Factory(name string, parameters json.RawMessage, _ plugin.Handle) (plugin.Plugin, error) {
	var p struct {
		BlocksPerPod int `json:"blocksPerPod"`
	}
	p.BlocksPerPod = defaultBlocksPerPod
	if len(parameters) > 0 {
		if err := json.Unmarshal(parameters, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", Type, err)
		}
	}
	if p.BlocksPerPod < 1 || p.BlocksPerPod > maxBlocksPerPod {
		return nil, fmt.Errorf("%s: blocksPerPod is %d; write 1 to %d", Type, p.BlocksPerPod, maxBlocksPerPod)
	}
	return &Scorer{name: plugin.TypedName{Type: Type, Name: name}, blocksPerPod: p.BlocksPerPod, now: time.Now,
		pods: map[types.NamespacedName]*pod{}}, nil
}

// TypedName implements [plugin.Plugin].
func (s *Scorer) TypedName() plugin.TypedName { return s.name }

// Category implements [scheduling.Scorer].
func (s *Scorer) Category() scheduling.ScorerCategory { return scheduling.Affinity }

// Score implements [scheduling.Scorer]. A pod's score is the part of the prompt's blocks that it has.
func (s *Scorer) Score(_ context.Context, _ *scheduling.CycleState, request *scheduling.LLMRequest,
	pods []scheduling.Endpoint) map[scheduling.Endpoint]float64 {
	chain := hashes(request)
	scores := make(map[scheduling.Endpoint]float64, len(pods))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range pods {
		scores[e] = 0
		if known := s.pods[e.GetMetadata().NamespacedName]; known != nil && len(chain) > 0 {
			scores[e] = float64(known.found(chain)) / float64(len(chain))
		}
	}
	return scores
}

// found returns how many of the first blocks of a chain the pod has. A pod that has a block has those before it.
func (p *pod) found(chain []uint64) int {
	n, _ := slices.BinarySearchFunc(chain, false, func(hash uint64, _ bool) int {
		if p.blocks.Contains(hash) {
			return -1
		}
		return 1
	})
	return n
}

// PreRequest implements [requestcontrol.PreRequest]. It notes that a pod gets a prompt.
func (s *Scorer) PreRequest(_ context.Context, request *scheduling.LLMRequest, result *scheduling.SchedulingResult) {
	chain := hashes(request)
	if result == nil || len(chain) == 0 {
		return
	}
	primary := result.ProfileResults[result.PrimaryProfileName]
	if primary == nil || len(primary.TargetEndpoints) == 0 {
		return
	}
	name, now := primary.TargetEndpoints[0].GetMetadata().NamespacedName, s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[name]
	if p == nil {
		for other, one := range s.pods {
			if now.Sub(one.used) > forgetAfter {
				delete(s.pods, other)
			}
		}
		blocks, err := lru.New[uint64, struct{}](s.blocksPerPod)
		if err != nil {
			return // cannot happen: the size was checked
		}
		p = &pod{blocks: blocks}
		s.pods[name] = p
	}
	p.used = now
	// The first block is the newest, so the last one is dropped first.
	for _, hash := range slices.Backward(chain[:min(len(chain), s.blocksPerPod)]) {
		p.blocks.Add(hash, struct{}{})
	}
}

// hashes returns the hashes of a request's blocks, or nil if there are none or one of them is none.
func hashes(request *scheduling.LLMRequest) []uint64 {
	if request == nil || request.Headers[Header] == "" {
		return nil
	}
	var all []uint64
	for part := range strings.SplitSeq(request.Headers[Header], ",") {
		hash, err := strconv.ParseUint(part, 16, 64)
		if err != nil || len(part) != 16 {
			return nil
		}
		if all = append(all, hash); len(all) == maxHashes {
			break
		}
	}
	return all
}
