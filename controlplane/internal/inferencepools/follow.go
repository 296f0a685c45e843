package inferencepools

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
)

// Pool is an InferencePool.
type Pool struct{ Namespace, Name string }

// Follow calls update with each new state of an InferencePool until ctx ends. It waits for retry after the first
// failure. update is called by one goroutine at a time.
func Follow(ctx context.Context, c *apiserver.Client, p Pool, retry time.Duration, update func(apiserver.State)) {
	f := &follower{ctx: ctx, client: c, pool: p, retry: retry, update: update}
	c.Follow(ctx, apiserver.Objects{
		Namespace: p.Namespace, Group: poolVersion, Resource: "inferencepools", Types: poolTypes,
		Fields:  fields.OneTermEqualSelector("metadata.name", p.Name).String(),
		Example: &inferencePool{}, NewList: func() runtime.Object { return &inferencePoolList{} },
		Count: func(runtime.Object) int { return 0 },
		Unknown: "it does not know InferencePools of inference.networking.k8s.io/v1; install the Inference Extension's " +
			"custom resources",
	}, retry, poolReceiver{f})
	f.mu.Lock()
	f.followPods("")
	f.mu.Unlock()
	f.running.Wait()
}

// follower follows one InferencePool, and the pods that it selects.
type follower struct {
	ctx    context.Context
	client *apiserver.Client
	pool   Pool
	retry  time.Duration
	update func(apiserver.State)
	// running has the goroutine that follows pods, and earlier ones that end.
	running sync.WaitGroup

	mu       sync.Mutex
	known    bool // the pool has been listed
	spec     *spec
	pods     *pods // nil if no pod is followed
	poolsErr error
	state    apiserver.State
}

// spec is what counts of an InferencePool.
type spec struct {
	selector string
	ports    []uint16
	// problem is why the pool has no servers. "" is none.
	problem string
}

// maxPorts is how many ports an InferencePool may have.
const maxPorts = 8

// plainHTTP are the values of appProtocol that mean HTTP/1.1 without TLS.
var plainHTTP = []string{"", "http"}

func specOf(p *inferencePool) *spec {
	s := &spec{}
	for _, port := range p.Spec.TargetPorts {
		if port.Number < 1 || port.Number > 65535 {
			return &spec{problem: fmt.Sprintf("its target port %d is no port", port.Number)}
		}
		s.ports = append(s.ports, uint16(port.Number))
	}
	chosen, err := labels.ValidatedSelectorFromSet(p.Spec.Selector.MatchLabels)
	switch {
	case len(p.Spec.Selector.MatchLabels) == 0:
		return &spec{problem: "its selector is empty"}
	case err != nil:
		return &spec{problem: "its selector is not valid"}
	case len(s.ports) == 0 || len(s.ports) > maxPorts:
		return &spec{problem: fmt.Sprintf("it has %d target ports, and may have 1 to %d", len(s.ports), maxPorts)}
	case !slices.Contains(plainHTTP, p.Spec.AppProtocol):
		return &spec{problem: fmt.Sprintf("its appProtocol is %.32q, and the gateway's servers speak HTTP/1.1",
			p.Spec.AppProtocol)}
	}
	s.selector = chosen.String()
	return s
}

// poolReceiver gets the InferencePool.
type poolReceiver struct{ *follower }

// Set implements [apiserver.Receiver].
func (r poolReceiver) Set(objects []any) {
	var s *spec
	for _, object := range objects {
		if p, ok := object.(*inferencePool); ok && p.Name == r.pool.Name {
			s = specOf(p)
		}
	}
	r.setSpec(s)
}

// Put implements [apiserver.Receiver].
func (r poolReceiver) Put(object any) {
	if p, ok := object.(*inferencePool); ok && p.Name == r.pool.Name {
		r.setSpec(specOf(p))
	}
}

// Delete implements [apiserver.Receiver].
func (r poolReceiver) Delete(object any) {
	if p, ok := object.(*inferencePool); ok && p.Name == r.pool.Name {
		r.setSpec(nil)
	}
}

// Fail implements [apiserver.Receiver].
func (r poolReceiver) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poolsErr = err
	r.report()
}

// setSpec takes over what the InferencePool says now. nil means that there is none.
func (f *follower) setSpec(s *spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.spec = true, s
	selector := ""
	if s != nil {
		selector = s.selector
	}
	f.followPods(selector)
	f.report()
}

// followPods makes the pods of this selector the ones that are followed. An empty selector is that of no
// pod. The caller holds f.mu.
func (f *follower) followPods(selector string) {
	if f.pods != nil && f.pods.selector == selector {
		return
	}
	if f.pods != nil {
		f.pods.end()
		f.pods = nil
	}
	if selector == "" || f.ctx.Err() != nil {
		return
	}
	ctx, end := context.WithCancel(f.ctx)
	p := &pods{follower: f, selector: selector, end: end}
	f.pods = p
	f.running.Go(func() {
		f.client.Follow(ctx, apiserver.Objects{
			Namespace: f.pool.Namespace, Group: podVersion, Resource: "pods", Types: podTypes, Labels: selector,
			Example: &pod{}, NewList: func() runtime.Object { return &podList{} }, Paged: true,
			Count: func(list runtime.Object) int {
				if l, ok := list.(*podList); ok {
					return len(l.Items)
				}
				return 0
			},
		}, f.retry, p)
	})
}

// pods are the pods that an InferencePool selects. It implements [apiserver.Receiver]. The follower's lock guards its
// fields.
type pods struct {
	*follower
	selector string
	end      context.CancelFunc
	listed   bool
	err      error
	byName   map[string]digest
}

// digest is what counts of a pod.
type digest struct {
	ready   bool
	ip      netip.Addr
	ports   []uint16 // nil are all of the InferencePool's
	problem string
}

// activePorts is the annotation by which a pod says which of the InferencePool's ports it serves, as the Inference
// Extension's endpoint picker reads it.
const activePorts = "inference.networking.k8s.io/active-ports"

func digestOf(p *pod) digest {
	var d digest
	d.ready = p.DeletionTimestamp == nil && slices.Contains(p.Status.Conditions, podCondition{"Ready", "True"})
	if !d.ready {
		return d
	}
	ip, err := netip.ParseAddr(p.Status.PodIP)
	if err != nil || ip.Zone() != "" {
		return digest{problem: fmt.Sprintf("the pod %s has the address %.64q, which is left out", p.Name, p.Status.PodIP)}
	}
	d.ip = ip
	text, ok := p.Annotations[activePorts]
	if !ok {
		return d
	}
	d.ports = []uint16{}
	for part := range strings.SplitSeq(text, ",") {
		number, err := strconv.ParseUint(strings.TrimSpace(part), 10, 16)
		if err == nil && len(d.ports) < maxPorts {
			d.ports = append(d.ports, uint16(number))
		}
	}
	return d
}

// Set implements [apiserver.Receiver].
func (p *pods) Set(objects []any) {
	p.change(func() {
		p.listed, p.byName = true, make(map[string]digest, len(objects))
		for _, object := range objects {
			p.put(object)
		}
	})
}

// Put implements [apiserver.Receiver].
func (p *pods) Put(object any) { p.change(func() { p.put(object) }) }

func (p *pods) put(object any) {
	if one, ok := object.(*pod); ok {
		p.byName[one.Name] = digestOf(one)
	}
}

// Delete implements [apiserver.Receiver].
func (p *pods) Delete(object any) {
	p.change(func() {
		if one, ok := object.(*pod); ok {
			delete(p.byName, one.Name)
		}
	})
}

// Fail implements [apiserver.Receiver].
func (p *pods) Fail(err error) { p.change(func() { p.err = err }) }

// change applies a change, unless other pods are followed by now.
func (p *pods) change(apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	apply()
	if p.follower.pods == p {
		p.report()
	}
}

// report reports the state, if it is new. The caller holds f.mu.
func (f *follower) report() {
	next := f.state
	next.Err = f.poolsErr
	switch {
	case !f.known:
	case f.spec == nil:
		next.Listed = true
		next.SetEndpoints(nil, 0, "there is no such InferencePool; check its name and its namespace")
	case f.spec.problem != "":
		next.Listed = true
		next.SetEndpoints(nil, 0, f.spec.problem)
	default:
		if next.Err == nil {
			next.Err = f.pods.err
		}
		next.Problem = "" // of the InferencePool
		if f.pods.listed {
			next.Listed = true
			f.endpoints(&next)
		}
	}
	if !f.state.Equal(&next) {
		f.state = next
		f.update(next)
	}
}

// endpoints puts the ready pods' addresses into a state. The caller holds f.mu.
func (f *follower) endpoints(s *apiserver.State) {
	var addresses []netip.AddrPort
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(f.pods.byName)) {
		d := f.pods.byName[name]
		if d.problem != "" {
			problems = append(problems, d.problem)
		}
		if !d.ready {
			continue
		}
		for _, port := range f.spec.ports {
			if d.ports == nil || slices.Contains(d.ports, port) {
				addresses = append(addresses, netip.AddrPortFrom(d.ip, port))
			}
		}
	}
	s.SetEndpoints(addresses, len(f.pods.byName)*len(f.spec.ports), apiserver.Join(problems))
}
