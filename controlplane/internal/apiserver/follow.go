package apiserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	listTimeout = 30 * time.Second

	// DefaultRetry is the wait after the first failure. It doubles with each further one, up to maxRetry.
	DefaultRetry = 500 * time.Millisecond
	maxRetry     = 10 * time.Second
)

// Objects are objects of one kind in one namespace.
type Objects struct {
	Namespace string
	Group     schema.GroupVersion
	// Resource is the kind's name in paths.
	Resource string
	// Types adds the kind and its list to a scheme.
	Types func(*runtime.Scheme) error
	// Labels and Fields select objects. "" selects all.
	Labels, Fields string
	// Example is an object of the kind, and NewList returns an empty list of it.
	Example runtime.Object
	NewList func() runtime.Object
	// Count returns how many endpoints the objects of a list have, at least. Pages are read one after the other if Paged.
	// A list with more than [MaxEndpoints] is an error.
	Count func(list runtime.Object) int
	// Paged reports whether a list is large, so that it is read in pages.
	Paged bool
	// Unknown is what an operator is told if the API server does not know the kind.
	Unknown string
}

// Receiver gets what becomes known of [Objects]. Its methods are called by one goroutine at a time.
type Receiver interface {
	// Set replaces all objects.
	Set(objects []any)
	Put(object any)
	Delete(object any)
	// Fail gets why the API server cannot be followed, and nil when it can be again.
	Fail(err error)
}

// feed follows some [Objects].
type feed struct {
	objects Objects
	rest    *rest.RESTClient

	mu     sync.Mutex
	to     Receiver
	listed int // endpoints of the pages of the list that is being read
	// broken reports whether the last failure was one of a watch that had begun. A watch that begins does not end it
	// then, but an event does.
	broken bool
}

// Follow tells the receiver of the objects until ctx ends. It waits for retry after the first failure.
func (c *Client) Follow(ctx context.Context, o Objects, retry time.Duration, to Receiver) {
	client, err := c.group(o.Group, o.Types)
	if err != nil {
		to.Fail(err)
		<-ctx.Done()
		return
	}
	f := &feed{objects: o, rest: client, to: to}
	source := &cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}
	r := cache.NewReflectorWithOptions(plainLists{source}, o.Example, f, cache.ReflectorOptions{
		Name:    o.Resource + " in " + o.Namespace,
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
func (f *feed) request(o *metav1.ListOptions) *rest.Request {
	o.LabelSelector, o.FieldSelector = f.objects.Labels, f.objects.Fields
	return f.rest.Get().Namespace(f.objects.Namespace).Resource(f.objects.Resource).
		VersionedParams(o, metav1.ParameterCodec).MaxRetries(0)
}

func (f *feed) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if f.objects.Paged && o.ResourceVersion == "0" {
		o.ResourceVersion = "" // an API server makes no pages of a list at any version
	}
	list := f.objects.NewList()
	err := f.request(&o).Do(ctx).Into(list)
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.Continue == "" {
		f.listed = 0
	}
	f.listed += f.objects.Count(list)
	if err == nil && f.listed > MaxEndpoints {
		err = errTooMany
	}
	if err != nil {
		f.fail(ctx, "list", err)
	}
	return list, err
}

func (f *feed) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	w, err := f.request(&o).Watch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(ctx, "watch", err)
		return nil, err
	}
	if !f.broken {
		f.to.Fail(nil)
	}
	one := &watching{}
	one.Interface = watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.stopped.Load() {
			return e, false
		}
		if e.Type != watch.Error {
			f.broken = false
			f.to.Fail(nil)
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

// fail reports an error. The caller holds f.mu.
func (f *feed) fail(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) || expired(err) {
		return
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= 400 && !undecodable(status) {
		err = &Refusal{Verb: verb, Resource: f.objects.Resource, Namespace: f.objects.Namespace,
			Status: int(status.Status().Code), Unknown: f.objects.Unknown}
	}
	if TooMany(err) {
		err = errTooMany // client-go wraps it in words about the body
	}
	f.to.Fail(err)
}

// undecodable reports whether a status is client-go's own, for an event that it could not read.
func undecodable(s apierrors.APIStatus) bool {
	d := s.Status().Details
	return d != nil && slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool {
		return c.Type == "ClientWatchDecoding"
	})
}

// Add implements [cache.ReflectorStore].
func (f *feed) Add(object any) error { return f.Update(object) }

// Update implements [cache.ReflectorStore].
func (f *feed) Update(object any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to.Put(object)
	return nil
}

// Delete implements [cache.ReflectorStore].
func (f *feed) Delete(object any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to.Delete(object)
	return nil
}

// Replace implements [cache.ReflectorStore].
func (f *feed) Replace(objects []any, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to.Set(objects)
	return nil
}

// Resync implements [cache.ReflectorStore].
func (f *feed) Resync() error { return nil }
