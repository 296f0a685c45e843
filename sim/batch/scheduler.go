package batch

import (
	"slices"
	"time"
)

// Options are the settings of a [Scheduler].
type Options struct {
	// Blocks is the size of the cache in blocks (num_gpu_blocks), and BlockSize the size of a block in tokens. 0 is
	// [DefaultBlockSize].
	Blocks, BlockSize int
	// MaxRunning is how many requests are in the batch at most (max_num_seqs). 0 is [DefaultMaxRunning].
	MaxRunning int
	// StepTokens is how many tokens a step computes at most (max_num_batched_tokens). 0 is [DefaultStepTokens].
	StepTokens int
	// A step takes StepTime, and in addition the time of its tokens: PrefillRate is how many tokens of prompts the engine
	// computes a second, and DecodeRate how many tokens of answers, in the whole batch. 0 is as fast as can be.
	StepTime                time.Duration
	PrefillRate, DecodeRate float64
}

// The defaults of [Options], which are vLLM's for a server on a large GPU.
const (
	DefaultMaxRunning = 1024
	DefaultStepTokens = 8192
)

// Request is a request to an engine, whose whole answer is known before.
type Request struct {
	// Cached is how many tokens of the prompt were in the cache when the request came into the batch.
	Cached int
	// Generated is how many tokens of the answer there are.
	Generated int

	prompt, answer int
	hashes         []Hash // of the prompt and the answer
	held           []*block
	computed       int
	scheduled      int // in this step
	preempted      bool
	entered        bool
}

// NewRequest returns a request. The salt keeps its blocks apart from the blocks of other salts. An answer has at least
// one token.
func NewRequest(salt string, size int, prompt, answer []uint32) *Request {
	return NewHashed(Hashes(salt, size, prompt, answer), len(prompt), len(answer))
}

// NewHashed returns a request of which only the hashes of all full blocks are kept.
func NewHashed(hashes []Hash, prompt, answer int) *Request {
	return &Request{prompt: prompt, answer: max(answer, 1), hashes: hashes}
}

// tokens returns how many tokens the request has so far.
func (r *Request) tokens() int { return r.prompt + r.Generated }

// Done reports whether the whole answer is generated.
func (r *Request) Done() bool { return r.Generated >= r.answer }

// Counts are what an engine counts from its start.
type Counts struct {
	// Queries is how many tokens of prompts were looked up in the cache, and Hits how many of them were there.
	Queries, Hits int
	// Preemptions is how often a request had to leave the batch for want of blocks.
	Preemptions int
	// Prefilled and Generated are how many tokens were computed of prompts and of answers.
	Prefilled, Generated int
	// Worked is how long all steps took.
	Worked time.Duration
}

// Scheduler chooses what each step of an engine computes, as vLLM does (vllm/v1/core/sched/scheduler.py): running
// requests first, then waiting ones, in the order of their arrival, and prompts in pieces.
type Scheduler struct {
	options          Options
	blocks           *Blocks
	running, waiting []*Request
	counts           Counts
}

// New returns a scheduler without requests.
func New(o Options) *Scheduler {
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.MaxRunning == 0 {
		o.MaxRunning = DefaultMaxRunning
	}
	if o.StepTokens == 0 {
		o.StepTokens = DefaultStepTokens
	}
	return &Scheduler{options: o, blocks: NewBlocks(o.Blocks)}
}

// Add puts a request at the end of the queue. Its prompt and its answer must fit into the cache.
func (s *Scheduler) Add(r *Request) { s.waiting = append(s.waiting, r) }

// Fits reports whether the cache can hold so many tokens at once.
func (s *Scheduler) Fits(tokens int) bool { return s.blocksOf(tokens) <= s.blocks.usable }

// Remove ends a request before its end, if it is still there.
func (s *Scheduler) Remove(r *Request) {
	if at := slices.Index(s.running, r); at >= 0 {
		s.running = slices.Delete(s.running, at, at+1)
		s.release(r)
	} else if at := slices.Index(s.waiting, r); at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	r.scheduled = 0
}

// Running and Waiting return how many requests are in the batch, and how many are not yet.
func (s *Scheduler) Running() int { return len(s.running) }

// Waiting returns how many requests are not yet in the batch.
func (s *Scheduler) Waiting() int { return len(s.waiting) }

// Usage returns the part of the cache's blocks that requests use, from 0 to 1.
func (s *Scheduler) Usage() float64 { return s.blocks.Usage() }

// Counts returns what the engine has counted.
func (s *Scheduler) Counts() Counts { return s.counts }

// Begin begins a step, and returns how long it takes. It reports false if there is nothing to compute.
func (s *Scheduler) Begin() (time.Duration, bool) {
	budget := s.options.StepTokens
	preempted := false
	for at := 0; at < len(s.running) && budget > 0; at++ {
		r := s.running[at]
		n := min(r.tokens()-r.computed, budget)
		for !s.extend(r, n) {
			preempted = true
			last := s.running[len(s.running)-1]
			s.preempt(last)
			if last == r {
				n = 0
				break
			}
		}
		if n == 0 {
			break
		}
		budget -= n
	}
	for !preempted && budget > 0 && len(s.waiting) > 0 && len(s.running) < s.options.MaxRunning {
		n := s.admit(s.waiting[0], budget)
		if n == 0 {
			break
		}
		budget -= n
	}
	return s.took(), budget < s.options.StepTokens
}

// took returns how long the step takes that has been chosen.
func (s *Scheduler) took() time.Duration {
	prefill, decode := 0, 0
	for _, r := range s.running {
		if r.scheduled == 1 && r.computed >= r.prompt {
			decode++
		} else {
			prefill += r.scheduled
		}
	}
	s.counts.Prefilled += prefill
	seconds := 0.0
	if s.options.PrefillRate > 0 {
		seconds += float64(prefill) / s.options.PrefillRate
	}
	if s.options.DecodeRate > 0 {
		seconds += float64(decode) / s.options.DecodeRate
	}
	took := s.options.StepTime + time.Duration(seconds*float64(time.Second))
	if prefill+decode > 0 {
		s.counts.Worked += took
	}
	return took
}

// admit takes the first waiting request into the batch, and returns how many of its tokens this step computes. It is 0
// if the cache has no room for the whole request as it is.
func (s *Scheduler) admit(r *Request, budget int) int {
	found := s.blocks.find(r.hashes[:min((r.tokens()-1)/s.options.BlockSize, len(r.hashes))])
	if s.blocksOf(r.tokens())-len(found)+idle(found) > s.blocks.free {
		return 0
	}
	s.blocks.touch(found)
	r.held, r.computed = found, len(found)*s.options.BlockSize
	n := min(r.tokens()-r.computed, budget)
	s.extend(r, n)
	if !r.preempted {
		s.counts.Queries += r.prompt
		s.counts.Hits += r.computed
	}
	if !r.entered {
		r.entered, r.Cached = true, r.computed
	}
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	s.running = append(s.running, r)
	return n
}

// extend gives a request the blocks for n more tokens, and caches those that become full. It reports false if there are
// too few.
func (s *Scheduler) extend(r *Request, n int) bool {
	need := s.blocksOf(r.computed+n) - len(r.held)
	if need > s.blocks.free {
		return false
	}
	for range need {
		r.held = append(r.held, s.blocks.take())
	}
	for at := r.computed / s.options.BlockSize; at < (r.computed+n)/s.options.BlockSize; at++ {
		if !r.held[at].cached {
			s.blocks.remember(r.held[at], r.hashes[at])
		}
	}
	r.scheduled = n
	return true
}

// preempt puts the last request of the batch back to the head of the queue. It has to be computed again.
func (s *Scheduler) preempt(r *Request) {
	s.running = s.running[:len(s.running)-1]
	s.release(r)
	r.computed, r.scheduled, r.preempted = 0, 0, true
	s.waiting = slices.Insert(s.waiting, 0, r)
	s.counts.Preemptions++
}

func (s *Scheduler) release(r *Request) {
	s.blocks.release(r.held)
	r.held = nil
}

// End ends the step that [Scheduler.Begin] began. It returns the requests that have a new token.
func (s *Scheduler) End() []*Request {
	var produced []*Request
	kept := s.running[:0]
	for _, r := range s.running {
		if r.scheduled > 0 {
			r.computed += r.scheduled
			r.scheduled = 0
			if r.computed == r.tokens() {
				r.Generated++
				s.counts.Generated++
				produced = append(produced, r)
			}
		}
		if r.Done() {
			s.release(r)
			continue
		}
		kept = append(kept, r)
	}
	clear(s.running[len(kept):])
	s.running = kept
	return produced
}

func (s *Scheduler) blocksOf(tokens int) int {
	return (tokens + s.options.BlockSize - 1) / s.options.BlockSize
}

// Lookup returns how many tokens of a prompt are in the cache, without changing anything.
func (s *Scheduler) Lookup(hashes []Hash, prompt int) int {
	return s.options.BlockSize * len(s.blocks.find(hashes[:min(max(prompt-1, 0)/s.options.BlockSize, len(hashes))]))
}
