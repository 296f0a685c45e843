package wasmcount

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Counts are what a module has done.
type Counts struct {
	// Instructions are those executed, without the collector's: see [Instrument].
	Instructions uint64
	// Collecting are the collector's, in so many Collections. They depend on what has become garbage before.
	Collecting, Collections uint64
	// HostCalls are its calls of the host's functions.
	HostCalls uint64
	// Allocated are the bytes that it has asked its allocator for.
	Allocated uint64
}

// Sub returns the counts without earlier ones.
func (c Counts) Sub(earlier Counts) Counts {
	return Counts{Instructions: c.Instructions - earlier.Instructions, Collecting: c.Collecting - earlier.Collecting,
		Collections: c.Collections - earlier.Collections, HostCalls: c.HostCalls - earlier.HostCalls,
		Allocated: c.Allocated - earlier.Allocated}
}

// Add returns the sum of the counts.
func (c Counts) Add(other Counts) Counts {
	return Counts{Instructions: c.Instructions + other.Instructions, Collecting: c.Collecting + other.Collecting,
		Collections: c.Collections + other.Collections, HostCalls: c.HostCalls + other.HostCalls,
		Allocated: c.Allocated + other.Allocated}
}

// Div returns the counts for one of n.
func (c Counts) Div(n uint64) Counts {
	return Counts{Instructions: c.Instructions / n, Collecting: c.Collecting / n, Collections: c.Collections / n,
		HostCalls: c.HostCalls / n, Allocated: c.Allocated / n}
}

// Counter counts for one instance of an instrumented module. It learns of calls from wazero, where the context of
// [Counter.Context] is used to compile and to run the module.
type Counter struct {
	// Allocator is the name of the function that allocates, whose first parameter is a number of bytes. Collector is the
	// name of the function that collects garbage.
	Allocator, Collector string
	// Profile makes the counter attribute instructions to functions, which takes time. Paused suspends that. It may change
	// while the module does not run.
	Profile, Paused bool

	count  api.Global
	memory api.Memory
	// counts lacks Instructions. collectingSince is the count when the collector began, and longest what it executed in
	// its longest run.
	counts                   Counts
	collectingSince, longest uint64
	// known are the names of functions that are counted by their roles.
	known map[string]bool
	root  Frame
	// stack are the functions that run, the innermost last.
	stack []running
}

// running is a function that runs.
type running struct {
	frame *Frame
	// began is the count at its beginning, and others is what functions that it called have added since.
	began, others uint64
}

// Context returns a context with which wazero tells the counter of calls.
func (c *Counter) Context(parent context.Context) context.Context {
	return experimental.WithFunctionListenerFactory(parent, c)
}

// Counts returns what has been counted.
func (c *Counter) Counts() Counts {
	counts := c.counts
	counts.Instructions = c.now() - counts.Collecting
	return counts
}

// Check returns an error if the module lacks the allocator or the collector: their counts would be 0.
func (c *Counter) Check() error {
	for _, name := range []string{c.Allocator, c.Collector} {
		if !c.known[name] {
			return fmt.Errorf("wasmcount: the module has no function %q", name)
		}
	}
	return nil
}

// LongestCollection returns the instructions of the collector's longest run.
func (c *Counter) LongestCollection() uint64 { return c.longest }

// Memory returns the size of the module's memory, in bytes. A memory never shrinks.
func (c *Counter) Memory() uint32 {
	if c.memory == nil {
		return 0
	}
	return c.memory.Size()
}

// Root returns the profile: the functions that the host has called.
func (c *Counter) Root() *Frame { return &c.root }

func (c *Counter) now() uint64 {
	if c.count == nil {
		return 0
	}
	return c.count.Get()
}

// NewFunctionListener implements [experimental.FunctionListenerFactory].
func (c *Counter) NewFunctionListener(f api.FunctionDefinition) experimental.FunctionListener {
	roles := map[string]role{c.Allocator: allocation, c.Collector: collection}
	switch role, special := roles[f.Name()]; {
	case f.GoFunction() != nil:
		return listener{c, hostCall}
	case special:
		if c.known == nil {
			c.known = map[string]bool{}
		}
		c.known[f.Name()] = true
		return listener{c, role}
	case c.Profile || slices.Contains(f.ExportNames(), f.Name()):
		return listener{c, call}
	}
	return nil
}

// role is what is counted of a function.
type role int

const (
	call role = iota
	hostCall
	allocation
	collection
)

// listener hears of the calls of one function.
type listener struct {
	counter *Counter
	role    role
}

// Before implements [experimental.FunctionListener].
func (l listener) Before(_ context.Context, m api.Module, f api.FunctionDefinition, p []uint64,
	_ experimental.StackIterator) {
	c := l.counter
	if c.count == nil {
		c.count, c.memory = m.ExportedGlobal(counterName), m.Memory()
	}
	switch l.role {
	case hostCall:
		c.counts.HostCalls++
	case allocation:
		c.counts.Allocated += uint64(api.DecodeU32(p[0]))
	case collection:
		c.collectingSince = c.now()
	}
	if !c.Profile || c.Paused {
		return
	}
	parent := &c.root
	if n := len(c.stack); n > 0 {
		parent = c.stack[n-1].frame
	}
	frame := parent.child(f.Name())
	frame.Calls++
	c.stack = append(c.stack, running{frame: frame, began: c.now()})
}

// After implements [experimental.FunctionListener].
func (l listener) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {
	l.leave()
}

// Abort implements [experimental.FunctionListener], for a function that has trapped.
func (l listener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {
	l.leave()
}

func (l listener) leave() {
	c := l.counter
	if l.role == collection {
		took := c.now() - c.collectingSince
		c.counts.Collecting += took
		c.counts.Collections++
		c.longest = max(c.longest, took)
	}
	n := len(c.stack) - 1
	if n < 0 {
		return
	}
	left := c.stack[n]
	c.stack = c.stack[:n]
	all := c.now() - left.began
	left.frame.Self += all - left.others
	if n > 0 {
		c.stack[n-1].others += all
	}
}
