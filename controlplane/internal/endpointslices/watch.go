package endpointslices

import (
	"context"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
)

// Service is a port of a Service.
type Service struct {
	Namespace, Name string
	// Port is the name or the number of a port of its EndpointSlices. "" is their only port.
	Port string
}

// Follow calls update with each new state of a Service until ctx ends. It waits for retry after the first failure.
// update is called by one goroutine at a time.
func Follow(ctx context.Context, c *apiserver.Client, s Service, retry time.Duration, update func(apiserver.State)) {
	f := &follower{port: s.Port, update: update, slices: map[string]digest{}}
	c.Follow(ctx, apiserver.Objects{
		Namespace: s.Namespace, Group: discoveryv1.SchemeGroupVersion, Resource: "endpointslices",
		Types: discoveryv1.AddToScheme, Labels: discoveryv1.LabelServiceName + "=" + s.Name,
		Example: &discoveryv1.EndpointSlice{}, NewList: func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
		Count: count,
	}, retry, f)
}

func count(list runtime.Object) int {
	n := 0
	if l, ok := list.(*discoveryv1.EndpointSliceList); ok {
		for i := range l.Items {
			n += max(len(l.Items[i].Endpoints), 1)
		}
	}
	return n
}

// follower follows one Service. It implements [apiserver.Receiver].
type follower struct {
	port   string
	update func(apiserver.State)

	mu     sync.Mutex
	slices map[string]digest // by name
	state  apiserver.State
}

// Set implements [apiserver.Receiver].
func (f *follower) Set(objects []any) {
	f.change(func() {
		f.slices = make(map[string]digest, len(objects))
		for _, object := range objects {
			f.put(object)
		}
	})
}

// Put implements [apiserver.Receiver].
func (f *follower) Put(object any) { f.change(func() { f.put(object) }) }

func (f *follower) put(object any) {
	if s, ok := object.(*discoveryv1.EndpointSlice); ok {
		f.slices[s.Name] = digestOf(s, f.port)
	}
}

// Delete implements [apiserver.Receiver].
func (f *follower) Delete(object any) {
	f.change(func() {
		if s, ok := object.(*discoveryv1.EndpointSlice); ok {
			delete(f.slices, s.Name)
		}
	})
}

// Fail implements [apiserver.Receiver].
func (f *follower) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.state
	next.Err = err
	f.set(next)
}

// change sets the state after a change of f.slices. There is none before the first list.
func (f *follower) change(apply func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	apply()
	next := f.state
	next.Listed = true
	merge(f.slices, &next)
	f.set(next)
}

// set sets the state, and reports it if it is new. The caller holds f.mu.
func (f *follower) set(next apiserver.State) {
	if !f.state.Equal(&next) {
		f.state = next
		f.update(next)
	}
}
