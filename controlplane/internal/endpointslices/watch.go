package endpointslices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// MaxEndpoints is how many endpoints a Service may have, ready or not.
	MaxEndpoints = 10_000

	listTimeout = 30 * time.Second

	// DefaultRetry is the wait after the first failure. It doubles with each further one, up to maxRetry.
	DefaultRetry = 500 * time.Millisecond
	maxRetry     = 10 * time.Second
)

var errTooMany = fmt.Errorf("more than %d endpoints", MaxEndpoints)

// Service is a port of a Service.
type Service struct {
	Namespace, Name string
	// Port is the name or the number of a port of its EndpointSlices. "" is their only port.
	Port string
}

// State is what is known of a Service at one moment.
type State struct {
	// Addresses are the addresses of the endpoints that are ready, sorted. Each occurs once.
	Addresses []netip.AddrPort
	// Listed reports whether the API server has listed the Service's EndpointSlices since the beginning.
	Listed bool
	// Err is why the API server cannot be followed. Addresses are the last known ones then. See [Refusal] and [TooMany].
	Err error
	// Problem is what is wrong with the EndpointSlices, so that endpoints are left out.
	Problem string
}

// equal reports whether two states differ in nothing.
func (s *State) equal(other *State) bool {
	return s.Listed == other.Listed && s.Problem == other.Problem && slices.Equal(s.Addresses, other.Addresses) &&
		(s.Err == nil) == (other.Err == nil) && (s.Err == nil || s.Err.Error() == other.Err.Error())
}

// Refusal is an answer of the API server with a status that is an error.
type Refusal struct {
	Verb, Namespace string
	Status          int
}

// Error implements error. The text has nothing that the API server sent.
func (r *Refusal) Error() string {
	switch r.Status {
	case http.StatusForbidden:
		return fmt.Sprintf("the API server answers 403: the control plane may not %s endpointslices in the namespace %s; "+
			"give its service account the Role of docs/control-plane.md", r.Verb, r.Namespace)
	case http.StatusUnauthorized:
		return "the API server answers 401: it does not accept the control plane's credentials"
	}
	return fmt.Sprintf("the API server answers %d", r.Status)
}

// TooMany reports whether an error is that a Service has more endpoints than [MaxEndpoints].
func TooMany(err error) bool { return errors.Is(err, errTooMany) }

// follower follows one Service.
type follower struct {
	client  *Client
	service Service
	update  func(State)

	mu     sync.Mutex
	slices map[string]digest // by name
	listed int               // endpoints of the pages of the list that is being read
	state  State
	// broken reports whether Err is of a watch that had begun. A watch that begins does not end it then, but an event
	// does.
	broken bool
}

// Follow calls update with each new state of a Service until ctx ends. It waits for retry after the first failure.
// update is called by one goroutine at a time.
func (c *Client) Follow(ctx context.Context, s Service, retry time.Duration, update func(State)) {
	f := &follower{client: c, service: s, update: update, slices: map[string]digest{}}
	source := &cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}
	r := cache.NewReflectorWithOptions(plainLists{source}, &discoveryv1.EndpointSlice{}, f, cache.ReflectorOptions{
		Name:    s.Namespace + "/" + s.Name,
		Logger:  &klog.Logger{},
		Backoff: &wait.Backoff{Duration: retry, Factor: 2, Jitter: 0.5, Steps: 16, Cap: maxRetry},
	})
	// All that it would log is in the state.
	r.RunWithContext(klog.NewContext(ctx, klog.Logger{}))
}

// plainLists makes the reflector list before it watches. API servers before 1.32 refuse to stream a list.
type plainLists struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// request returns a request that is sent once: the reflector tries again.
func (f *follower) request(o *metav1.ListOptions) *rest.Request {
	o.LabelSelector = discoveryv1.LabelServiceName + "=" + f.service.Name
	return f.client.rest.Get().Namespace(f.service.Namespace).Resource("endpointslices").
		VersionedParams(o, metav1.ParameterCodec).MaxRetries(0)
}

func (f *follower) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list := &discoveryv1.EndpointSliceList{}
	err := f.request(&o).Do(ctx).Into(list)
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.Continue == "" {
		f.listed = 0
	}
	for i := range list.Items {
		f.listed += max(len(list.Items[i].Endpoints), 1)
	}
	if err == nil && f.listed > MaxEndpoints {
		err = errTooMany
	}
	if err != nil {
		f.fail(ctx, "list", err)
	}
	return list, err
}

func (f *follower) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	w, err := f.request(&o).Watch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(ctx, "watch", err)
		return nil, err
	}
	if !f.broken {
		f.recover()
	}
	one := &watching{}
	one.Interface = watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.stopped.Load() {
			return e, false
		}
		if e.Type != watch.Error {
			f.recover()
		} else if err := apierrors.FromObject(e.Object); !expired(err) {
			f.broken = true
			f.fail(ctx, "watch", err)
		}
		return e, true
	})
	return one, nil
}

// watching is a running watch. client-go may report a read error after [watching.Stop]; that error is not a failure.
type watching struct {
	watch.Interface
	stopped atomic.Bool
}

// Stop implements [watch.Interface].
func (w *watching) Stop() {
	w.stopped.Store(true)
	w.Interface.Stop()
}

// expired reports whether an error only means that the API server has forgotten a version. The reflector then lists
// again.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// fail sets the error of the state. The caller holds f.mu.
func (f *follower) fail(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) || expired(err) {
		return
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= 400 && !undecodable(status) {
		err = &Refusal{Verb: verb, Namespace: f.service.Namespace, Status: int(status.Status().Code)}
	}
	if TooMany(err) {
		err = errTooMany // client-go wraps it in words about the body
	}
	next := f.state
	next.Err = err
	f.set(next)
}

// undecodable reports whether a status is client-go's own, for an event that it could not read.
func undecodable(s apierrors.APIStatus) bool {
	d := s.Status().Details
	return d != nil && slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool {
		return c.Type == "ClientWatchDecoding"
	})
}

// recover ends the error of the state. The caller holds f.mu.
func (f *follower) recover() {
	f.broken = false
	next := f.state
	next.Err = nil
	f.set(next)
}

// set sets the state, and reports it if it is new. The caller holds f.mu.
func (f *follower) set(next State) {
	if !f.state.equal(&next) {
		f.state = next
		f.update(next)
	}
}
