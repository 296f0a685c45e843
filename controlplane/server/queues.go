package server

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// Queue is what waits for the servers of a pool, as its picker says.
type Queue struct {
	picker.QueueStatus
	// Picker is the picker's URL.
	Picker string `json:"picker"`
	// Problem is why the picker did not say of late what waits. Then the rest is of before.
	Problem string `json:"problem,omitempty"`
}

const (
	queuesInterval = 2 * time.Second
	queuesTimeout  = 2 * time.Second
	// queuesKept is how long what a picker has said is shown after it said it last.
	queuesKept = 30 * time.Second
)

// queues are what pickers have said of their queues.
type queues struct {
	mu    sync.Mutex
	known map[config.Endpoint]*said
}

// said is what one picker has said.
type said struct {
	at      time.Time // zero: never
	pools   map[string]*picker.QueueStatus
	problem string
}

// of returns the queue of a pool, or nil if it has none.
func (q *queues) of(p *config.ResolvedPool, now time.Time) *Queue {
	if !p.Asked() || !p.Queue.On() {
		return nil
	}
	one := &Queue{Picker: p.PickerEndpoint.String(), Problem: "the picker has not been asked yet"}
	one.Classes = []picker.ClassStatus{}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.known[p.PickerEndpoint]
	if s == nil {
		return one
	}
	one.Problem = s.problem
	if found := s.pools[p.Name]; found != nil && now.Sub(s.at) < queuesKept {
		one.QueueStatus = *found
	} else if one.Problem == "" {
		one.Problem = "the picker has no queue for this pool; is its configuration the same?"
	}
	return one
}

// followQueues asks the pickers of pools with queues for what waits, until ctx ends.
func (s *Server) followQueues(ctx context.Context) error {
	for s.wait(ctx, queuesInterval) {
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		if current != nil {
			s.queues.ask(ctx, current.Resolved)
		}
	}
	return nil
}

// ask asks each picker once.
func (q *queues) ask(ctx context.Context, c *config.Resolved) {
	var wanted []config.Endpoint
	for i := range c.Pools {
		p := &c.Pools[i]
		if p.Asked() && p.Queue.On() && !slices.Contains(wanted, p.PickerEndpoint) {
			wanted = append(wanted, p.PickerEndpoint)
		}
	}
	answers := make([]map[string]*picker.QueueStatus, len(wanted))
	problems := make([]string, len(wanted))
	var asking sync.WaitGroup
	for i, e := range wanted {
		asking.Go(func() { answers[i], problems[i] = askQueues(ctx, e, c.Config.CAFile) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.known
	q.known = make(map[config.Endpoint]*said, len(wanted))
	for i, e := range wanted {
		one := &said{at: time.Now(), pools: answers[i], problem: problems[i]}
		if problems[i] != "" {
			if old := before[e]; old != nil {
				one.at, one.pools = old.at, old.pools
			}
		}
		q.known[e] = one
	}
}

// askQueues asks a picker for its queues. It returns why that brought nothing, or "".
func askQueues(ctx context.Context, e config.Endpoint, caFile string) (map[string]*picker.QueueStatus, string) {
	ctx, cancel := context.WithTimeout(ctx, queuesTimeout)
	defer cancel()
	how := insecure.NewCredentials()
	if e.TLS {
		secure, err := trusting(e.Host, caFile)
		if err != nil {
			return nil, err.Error()
		}
		how = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))),
		grpc.WithTransportCredentials(how), grpc.WithNoProxy())
	if err != nil {
		return nil, err.Error()
	}
	defer conn.Close()
	all, err := picker.AskQueues(ctx, conn)
	switch status.Code(err) {
	case codes.OK:
		return all, ""
	case codes.Unimplemented:
		return nil, "the picker does not say what waits: it is of another version"
	case codes.DeadlineExceeded:
		return nil, "the picker does not answer in time"
	case codes.Unavailable:
		return nil, "the picker cannot be reached: " + pools.Cause(dialError(ctx, e), "no answer")
	}
	return nil, "the picker's answer cannot be read"
}

// observeQueues records what waits, by class, and how many requests pickers have refused.
func observeQueues(h *history.History, at time.Time, all []Pool) {
	waiting := map[string]float64{}
	refused := map[string]map[string]float64{} // by picker and reason
	for i := range all {
		q := all[i].Queue
		if q == nil || q.Problem != "" {
			continue
		}
		for j := range q.Classes {
			c := &q.Classes[j]
			waiting[c.Name] += float64(c.Requests)
			for _, e := range queue.Endings {
				if e.Refused() {
					key := q.Picker + " " + all[i].Name
					if refused[key] == nil {
						refused[key] = map[string]float64{}
					}
					refused[key][e.String()] += float64(c.Ended[e.String()])
				}
			}
		}
	}
	for class, n := range waiting {
		h.Set(at, history.Queued, map[string]string{"class": class}, n)
	}
	for from, reasons := range refused {
		f := history.Family{Name: history.QueueFamily}
		for reason, n := range reasons {
			f.Samples = append(f.Samples, history.Sample{Labels: map[string]string{"result": reason}, Value: n})
		}
		h.Add(at, from, history.Families{f})
	}
}

// Refusals returns how many requests of a class were refused, and why, as "full 3, deadline 2". It is "" if none was.
func Refusals(c *picker.ClassStatus) string {
	text := ""
	for _, e := range queue.Endings {
		if n := c.Ended[e.String()]; e.Refused() && n > 0 {
			text += ", " + e.String() + " " + strconv.FormatUint(n, 10)
		}
	}
	return cmp.Or(text, ", ")[2:]
}
