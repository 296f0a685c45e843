package picker

import (
	"cmp"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a [Picker]. The zero value of each field is its default.
type Options struct {
	// BlocksPerServer is how many blocks a server's cache is taken to have. The default is 65,536: a million tokens in
	// blocks of 16.
	BlocksPerServer int
	// MaxBlocks is how many blocks are kept for all servers together, at 40 bytes each. The default is 4 million.
	MaxBlocks int
	// Balance is how many of a pool's requests a server may have at once, in percent of the mean of the pool's servers.
	// The default is 200: the cost of a request balances most of the load already (docs/bench/routing-blocks.md).
	Balance int
}

// The defaults of [Options].
const (
	DefaultBlocksPerServer = 1 << 16
	DefaultMaxBlocks       = 4 << 20
	DefaultBalance         = 200
)

const (
	// spareRequests is how many requests a server may have in any case. Without it, two requests with the same prefix
	// could not run on one server of an idle pool.
	spareRequests = 2
	// requestBlocks is what a request that a server works on costs the others, as a number of blocks to compute.
	requestBlocks = 16
	// ownBlocks is how often a block counts that is to be computed for the request itself. Waiting for a server that
	// computes the same blocks now is better than to compute them once more.
	ownBlocks = 2
	// A cache that is in use makes a server dearer by a block for each usedPerBlock blocks, up to usedBlocks. All prompts
	// begin with the same few blocks. Without that, one server of an idle pool would get every new conversation.
	usedBlocks   = 1 << 10
	usedPerBlock = 16
	// blocksPerSecond is about how many blocks a server computes in a second. Envoy does not see when a prompt has been
	// read: engines send the headers of a stream before that.
	blocksPerSecond = 1000
	// suspicion is how long a server that has not taken a request is the last choice.
	suspicion = 10 * time.Second
	// alternatives is how many servers are named after the first one.
	alternatives = 2
	// maxChain is how many blocks of a prompt count.
	maxChain = 1 << 12
)

// Server is a server of a pool.
type Server struct {
	Address netip.AddrPort
	// Doubtful reports whether it is not certain that the server is there. It is chosen only if there is no other.
	Doubtful bool
	// Requests is how many requests the server itself says that it has, or a negative number if that is not known.
	Requests float64
	// Working and Waiting are how many requests it works on, and how many wait in it, as it said at the time of Sampled. A
	// negative number is not known.
	Working, Waiting float64
	Sampled          time.Time
}

// Reason is why a server is the first choice.
type Reason string

// The reasons.
const (
	// ReasonPrefix is a server that has more of the prompt than all others.
	ReasonPrefix Reason = "prefix"
	// ReasonBalance is a server instead of one that has more of the prompt and is too busy.
	ReasonBalance Reason = "balance"
	// ReasonLoad is the least busy server, for a prompt of which no server has more than another.
	ReasonLoad Reason = "load"
)

// reasons are all reasons.
var reasons = []Reason{ReasonPrefix, ReasonBalance, ReasonLoad}

// Picker chooses servers. Its methods may be called by several goroutines at once.
type Picker struct {
	blocksPerServer, maxBlocks, balance int
	now                                 func() time.Time

	mu    sync.RWMutex
	pools map[string]*pool
}

// pool is a pool and what is known of its servers.
type pool struct {
	mu      sync.Mutex
	servers []*server // sorted by address
	limit   int       // blocks of each server
	counts  counts
	queued  *queued // nil without a queue
}

// server is a server and what has been sent to it.
type server struct {
	Server
	running   int // requests that it has got from here
	suspected time.Time
	// foreign is about how many of the requests that it had at its last sample did not come from here, and peak the most
	// that it has had from here since. hasRoom is what [pool.room] has noted.
	foreign float64
	peak    int
	hasRoom bool
	// pending is how many blocks it had to compute at the time of added.
	pending float64
	added   time.Time
	cache   cache
}

// counts are numbers since the picker was made.
type counts struct {
	requests             [3]uint64 // by the place in reasons
	unserved, moved      uint64
	blocks, foundOfFirst uint64
}

// New returns a [Picker] without pools.
func New(o Options) *Picker {
	return &Picker{
		blocksPerServer: cmp.Or(o.BlocksPerServer, DefaultBlocksPerServer), maxBlocks: cmp.Or(o.MaxBlocks, DefaultMaxBlocks),
		balance: cmp.Or(o.Balance, DefaultBalance), now: time.Now, pools: map[string]*pool{},
	}
}

// Set replaces the servers of all pools. A server that stays keeps what is known of its cache.
func (p *Picker) Set(all map[string][]Server) {
	total := 0
	for _, servers := range all {
		total += len(servers)
	}
	limit := min(p.blocksPerServer, p.maxBlocks/max(total, 1))
	p.mu.Lock()
	for name := range p.pools {
		if _, ok := all[name]; !ok {
			delete(p.pools, name)
		}
	}
	for name := range all {
		if p.pools[name] == nil {
			p.pools[name] = &pool{}
		}
	}
	p.mu.Unlock()
	for name, servers := range all {
		p.pool(name).set(servers, limit, p)
	}
}

func (p *pool) set(servers []Server, limit int, of *Picker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.admitAll(of)
	before := make(map[netip.AddrPort]*server, len(p.servers))
	for _, s := range p.servers {
		before[s.Address] = s
	}
	p.servers, p.limit = make([]*server, 0, len(servers)), limit
	for i := range servers {
		s := before[servers[i].Address]
		if s == nil {
			s = &server{}
		}
		delete(before, servers[i].Address)
		s.sampled(&servers[i])
		s.Server = servers[i]
		s.cache.shrink(limit)
		p.servers = append(p.servers, s)
	}
	for _, s := range before {
		s.cache = cache{} // its requests may still hold the server
	}
	slices.SortFunc(p.servers, func(a, b *server) int { return a.Address.Compare(b.Address) })
}

// sampled notes what the server has said since its last sample. What ran here at any time between the two may be among
// the requests that it has counted.
func (s *server) sampled(next *Server) {
	if next.Sampled.Equal(s.Sampled) {
		return
	}
	s.foreign = max(0, max(next.Working, 0)+max(next.Waiting, 0)-float64(s.peak))
	s.peak = s.running
}

func (p *Picker) pool(name string) *pool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.pools[name]
}

// only returns the only pool, or nil if there are several.
func (p *Picker) only() *pool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.pools) != 1 {
		return nil
	}
	for _, one := range p.pools {
		return one
	}
	return nil
}

// choice is the choice of servers for one request. Its methods must not be called by several goroutines at once.
type choice struct {
	pool   *pool
	chain  []uint64
	first  *server          // nil after end
	named  []netip.AddrPort // the chosen servers, the first choice first
	reason Reason
	of     *Picker

	// What its client has, in a pool with a queue, with what it costs of that. standing is nil after end.
	shares   *shares
	standing *standing
	cost     int64
}

// choose chooses servers for a prompt with these blocks. If allowed is not nil, it chooses only among those. It returns
// nil if there is no server. The caller must call end on the choice.
func (p *Picker) choose(pool *pool, chain []uint64, allowed func(netip.AddrPort) bool) *choice {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if allowed == nil {
		return p.pick(pool, chain[:min(len(chain), maxChain)], nil)
	}
	return p.pick(pool, chain[:min(len(chain), maxChain)], func(s *server) bool { return allowed(s.Address) })
}

// pick is choose while the pool is locked.
func (p *Picker) pick(pool *pool, chain []uint64, allowed func(*server) bool) *choice {
	pool.counts.blocks += uint64(len(chain))
	best, reason, found := p.rank(pool, chain, allowed)
	if len(best) == 0 {
		pool.counts.unserved++
		return nil
	}
	c := &choice{pool: pool, chain: chain, first: best[0].server, reason: reason, of: p}
	for _, b := range best {
		c.named = append(c.named, b.Address)
	}
	if pool.queued != nil && len(best) <= alternatives {
		c.named = p.others(pool, chain, c.named)
	}
	pool.counts.requests[slices.Index(reasons, reason)]++
	pool.counts.foundOfFirst += uint64(found)
	c.first.begin()
	c.first.add(len(chain)-found, p.now())
	c.first.cache.touch(chain, pool.limit)
	return c
}

// others adds further servers for a request of a pool with a queue: if the first one cannot be reached, one without
// room is better than none.
func (p *Picker) others(pool *pool, chain []uint64, named []netip.AddrPort) []netip.AddrPort {
	best, _, _ := p.rank(pool, chain, nil)
	for _, b := range best {
		if len(named) <= alternatives && !slices.Contains(named, b.Address) {
			named = append(named, b.Address)
		}
	}
	return named
}

// begin counts a request that it gets.
func (s *server) begin() {
	s.running++
	s.peak = max(s.peak, s.running)
}

// candidate is a server with what a request would cost there.
type candidate struct {
	*server
	found int
	last  bool // no first choice while there is another
	full  bool
	cost  float64
	tie   uint32
}

func (c *candidate) compare(other *candidate) int {
	return cmp.Or(compareBool(c.last, other.last), compareBool(c.full, other.full), cmp.Compare(c.cost, other.cost),
		cmp.Compare(c.tie, other.tie))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rank returns the best servers, why the first of them is it, and how many blocks of the prompt it has.
//
// A request costs the blocks that are to be computed for it: its own that the server does not have, the blocks of the
// requests before it, a share for each request that the server works on, and a little for a cache in use. A server that
// has more than its share of the requests is not chosen.
func (p *Picker) rank(pool *pool, chain []uint64, allowed func(*server) bool,
) (best []candidate, reason Reason, found int) {
	now := p.now()
	all := make([]candidate, 0, len(pool.servers))
	sum, well := 0.0, 0
	for _, s := range pool.servers {
		if allowed != nil && !allowed(s) {
			continue
		}
		c := candidate{server: s, last: s.last(now), found: s.cache.found(chain),
			tie: rand.Uint32()}
		c.cost = ownBlocks*float64(len(chain)-c.found) + s.backlog(now) + requestBlocks*s.requests() +
			float64(min(s.cache.len(), usedBlocks))/usedPerBlock
		if !c.last {
			sum += s.requests()
			well++
		}
		all = append(all, c)
	}
	limit := math.Ceil((sum+1)/float64(max(well, 1))*float64(p.balance)/100) + spareRequests
	most, least := 0, len(chain)
	for i := range all {
		c := &all[i]
		c.full = c.requests()+1 > limit
		if !c.last {
			most, least = max(most, c.found), min(least, c.found)
		}
		best = insert(best, c)
	}
	if len(best) == 0 {
		return nil, "", 0
	}
	found = best[0].found
	switch {
	case found < most:
		reason = ReasonBalance
	case found > least:
		reason = ReasonPrefix
	default:
		reason = ReasonLoad
	}
	return best, reason, found
}

// insert inserts a candidate into the list of the best.
func insert(best []candidate, c *candidate) []candidate {
	at, _ := slices.BinarySearchFunc(best, c, func(b candidate, c *candidate) int { return b.compare(c) })
	if at > alternatives {
		return best
	}
	best = slices.Insert(best, at, *c)
	return best[:min(len(best), 1+alternatives)]
}

// requests returns how many requests the server has: those from here, or those that it counts itself, if it has more.
func (s *server) requests() float64 { return max(float64(s.running), s.Requests) }

// add adds blocks that the server has to compute.
func (s *server) add(blocks int, now time.Time) {
	s.pending, s.added = s.backlog(now)+float64(blocks), now
}

// backlog returns about how many blocks the server has still to compute for the requests from here.
func (s *server) backlog(now time.Time) float64 {
	return max(0, s.pending-blocksPerSecond*now.Sub(s.added).Seconds())
}

// answered is called when a server has begun to answer. An address that is not valid means the first choice. Another
// server than the first choice has the prompt now, and the first choice has not taken it.
func (c *choice) answered(by netip.AddrPort) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.first == nil {
		return
	}
	if !by.IsValid() || by == c.first.Address {
		return
	}
	c.pool.counts.moved++
	defer c.pool.admitAll(c.of)
	c.first.suspected = c.of.now()
	c.first.running--
	c.first = nil
	at, ok := slices.BinarySearchFunc(c.pool.servers, by, func(s *server, a netip.AddrPort) int { return s.Address.Compare(a) })
	if !ok {
		return // a spare, or a server that has been removed
	}
	c.first = c.pool.servers[at]
	c.first.begin()
	c.first.cache.touch(c.chain, c.pool.limit)
}

// end is called when the request has ended, however it has.
func (c *choice) end() {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.endLocked()
}

// endLocked is end while the pool is locked.
func (c *choice) endLocked() {
	if c.standing != nil {
		c.shares.end(c.standing, c.cost, c.of.now())
		c.standing = nil
	}
	if c.first != nil {
		c.first.running--
		c.first = nil
	}
	c.pool.admitAll(c.of)
}
