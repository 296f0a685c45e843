package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// maxTokens is more than any answer has.
const maxTokens = 1024

// loop is a way to ask an engine.
type loop struct {
	// name is unique within an engine. It is the gateway's model, too.
	name string
	// asked says which API it is, and how the client keeps the conversation.
	asked string
	// history is the gateway's setting history.calls, or empty if the engine's own front end is asked.
	history string
	// odd reports whether the ends of reasoning and arguments are spelled in other tokens than the encoder would choose.
	odd bool
	// quoted is the engine's, for loops of its own front end.
	quoted bool
	// seed makes its words.
	seed uint64
}

// The ways to ask. The last two are of the engine's own front end.
const (
	askedChat      = "chat"
	askedSealed    = "responses"
	askedStored    = "stored"
	askedChatIDs   = "chat, ids"
	askedSealedIDs = "responses, ids"
	askedOwnChat   = "own-chat"
	askedOwnOpenly = "own-responses"
)

// loopsOf returns the loops of the engine.
func loopsOf(e *engine) (all []loop) {
	for _, history := range []string{"template", "sampled"} {
		for _, asked := range []string{askedChat, askedSealed, askedStored} {
			all = append(all, loop{name: asked + "-" + history, asked: asked, history: history})
		}
	}
	for _, asked := range e.own {
		all = append(all, loop{name: asked, asked: asked, quoted: e.quoted})
	}
	if e.odd {
		for _, asked := range []string{askedChat, askedChatIDs, askedSealed, askedSealedIDs, askedStored} {
			name := strings.ReplaceAll(asked, ", ", "-") + "-odd"
			all = append(all, loop{name: name, asked: asked, history: "sampled", odd: true})
		}
	}
	for i := range all {
		all[i].seed = uint64(i)
	}
	return all
}

// outcome is what a turn came to.
type outcome struct {
	Prompt, Cached int
	// Added is how many ids are new: they were neither in the last prompt nor sampled.
	Added int
	// Kept is how many ids of the last prompt and of what was sampled the prompt begins with, of Had. Where the engine's
	// own front end was asked, Had is 0.
	Kept, Had int
	// AfterAnswer reports whether the turn before it had a final answer: then the prompt loses reasoning by the format.
	AfterAnswer bool
}

func (o *outcome) recomputed() int { return o.Prompt - o.Cached }

// played is a loop with what its turns came to. The first turn is not among them.
type played struct {
	Loop  string
	Turns []outcome
	loop  loop
}

// measured is an engine with its loops.
type measured struct {
	Engine, Version, Machine, Date string
	Loops                          []played
	engine                         engine
}

// playAll plays loops at once.
func playAll(ctx context.Context, loops []loop, n, together int, tapOf func(loop) *tap,
	clientOf func(loop) (*client, error)) ([]played, error) {
	all, failed := make([]played, len(loops)), make([]error, len(loops))
	var running sync.WaitGroup
	slots := make(chan struct{}, together)
	for i, l := range loops {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			begun := time.Now()
			c, err := clientOf(l)
			if err == nil {
				all[i], err = playLoop(ctx, l, n, c, tapOf(l))
			}
			if failed[i] = err; err != nil {
				failed[i] = fmt.Errorf("%s: %w", l.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s  %s: %d turns in %v\n", time.Now().Format(time.TimeOnly), l.name, len(all[i].Turns)+1,
				time.Since(begun).Round(time.Second))
		})
	}
	running.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// playLoop plays a loop.
func playLoop(ctx context.Context, l loop, n int, c *client, t *tap) (p played, err error) {
	p.Loop, p.loop = l.name, l
	turns, err := turnsOf(n, l.seed, l.odd)
	if err != nil {
		return p, err
	}
	var before []uint32
	for i := range turns {
		turn, user := &turns[i], questions[i]
		got, err := c.say(ctx, turn.text, user)
		if err != nil {
			return p, fmt.Errorf("turn %d: %w", i+1, err)
		}
		if got.reasoning != turn.reasoning || got.arguments != turn.arguments || got.final != turn.final {
			return p, fmt.Errorf("turn %d: got %q %q %q, want %q %q %q", i+1, got.reasoning, got.arguments, got.final,
				turn.reasoning, turn.arguments, turn.final)
		}
		o := outcome{Prompt: got.prompt, Cached: got.cached, Added: turn.added(user, l.quoted), AfterAnswer: user}
		if t != nil {
			prompt, cached := t.last()
			if len(prompt) != got.prompt || cached != got.cached {
				return p, fmt.Errorf("turn %d: the client is told %d and %d cached, and the engine says %d and %d", i+1,
					got.prompt, got.cached, len(prompt), cached)
			}
			o.Had, o.Kept = len(before), shared(before, prompt)
			before = append(prompt, turn.ids...)
		}
		if i > 0 {
			p.Turns = append(p.Turns, o)
		}
	}
	return p, nil
}

// shared returns how many ids two prompts begin with alike.
func shared(a, b []uint32) int {
	for i := range a {
		if i == len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// measure plays the loops of an engine.
func measure(ctx context.Context, e engine, n int, which *regexp.Regexp) (m measured, err error) {
	m = measured{Engine: e.name, Machine: lab.Machine(), Date: time.Now().UTC().Format(time.DateOnly), engine: e}
	var loops []loop
	for _, l := range loopsOf(&e) {
		if which.MatchString(l.name) {
			loops = append(loops, l)
		}
	}
	r := &room{engine: e, turns: n, taps: map[string]*tap{}}
	defer r.close()
	if err := r.open(ctx, loops); err != nil {
		return m, err
	}
	m.Version = r.version
	m.Loops, err = playAll(ctx, loops, n, cmp.Or(e.together, len(loops)),
		func(l loop) *tap { return r.taps[l.name] }, r.client)
	return m, err
}
