package config

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Queue determines which requests wait when the pool's servers have no room for them (docs/overload.md). The zero value
// lets none wait.
type Queue struct {
	// MaxRequests is how many requests may wait. 0: there is no queue.
	MaxRequests int `yaml:"max_requests"`
	// MaxTokens and MaxBytes bound what the waiting requests cost and hold. 0 is no limit of tokens, and the default of
	// bytes.
	MaxTokens int  `yaml:"max_tokens"`
	MaxBytes  Size `yaml:"max_bytes"`
	// PerClient bounds what may wait of one client.
	PerClient QueueShare `yaml:"per_client"`
	// Deadline is how long a request waits whose class does not say it. 0 is the default.
	Deadline Duration `yaml:"deadline"`
	// Hold is how long a request waits for a first server, while the pool has none that is ready. 0: it does not.
	Hold Duration `yaml:"hold"`
	// WakeURL is asked, by POST, to start a server while requests are held. WakeAuthorization is the name of the secret
	// that it gets as a bearer token. Empty: none.
	WakeURL           string `yaml:"wake_url"`
	WakeAuthorization string `yaml:"wake_authorization"`
}

// QueueShare bounds what may wait of one client. 0 is no limit.
type QueueShare struct {
	MaxRequests int  `yaml:"max_requests"`
	MaxTokens   int  `yaml:"max_tokens"`
	MaxBytes    Size `yaml:"max_bytes"`
}

// Class is a class of clients. The classes that are listed before it go first in each queue.
type Class struct {
	// Name is what the keys file calls it.
	Name string `yaml:"name"`
	// Deadline is how long its requests wait. 0 is the queue's own.
	Deadline Duration `yaml:"deadline"`
}

// The defaults and bounds of [Queue].
const (
	DefaultQueueDeadline = 30 * time.Second
	DefaultQueueBytes    = 256 << 20
	maxQueued            = 1 << 17
	maxQueueTime         = 50 * time.Minute // Envoy waits for a picker for at most an hour
	maxClasses           = 16
	// queueMargin is how much longer than a deadline a picker may take to say that it has passed.
	queueMargin = 5 * time.Second
)

// On reports whether the pool has a queue.
func (q *Queue) On() bool { return q.MaxRequests > 0 }

// Longest returns the longest time for which a request may be kept in the pool's queue, or 0 without one. Envoy, and
// the filter, wait so much longer.
func (p *ResolvedPool) Longest(classes []Class) time.Duration { return p.Queue.longest(classes) }

func (q *Queue) longest(classes []Class) time.Duration {
	if !q.On() {
		return 0
	}
	most := q.DeadlineOf(nil)
	for i := range classes {
		most = max(most, q.DeadlineOf(&classes[i]))
	}
	return most + time.Duration(q.Hold) + queueMargin
}

// DeadlineOf returns how long a request of a class waits. The class may be nil.
func (q *Queue) DeadlineOf(c *Class) time.Duration {
	switch {
	case c != nil && c.Deadline > 0:
		return time.Duration(c.Deadline)
	case q.Deadline > 0:
		return time.Duration(q.Deadline)
	default:
		return DefaultQueueDeadline
	}
}

func (q Queue) withDefaults() Queue {
	if q.On() {
		fillZeros(q.fields())
	}
	return q
}

// Class returns the place of a class. A name that there is not, and "", is the default class's.
func (c *Clients) Class(name string) int {
	find := func(name string) int {
		return slices.IndexFunc(c.Classes, func(one Class) bool { return one.Name == name })
	}
	if i := find(name); i >= 0 {
		return i
	}
	return max(find(c.DefaultClass), 0)
}

// check checks the queue of a pool.
func (q *Queue) check(p *Pool, mode string, classes []Class) (field, reason string) {
	if !q.On() {
		if *q != (Queue{}) {
			return ".queue.max_requests", "is missing: there is no queue without it; write how many requests may wait"
		}
		return "", ""
	}
	switch {
	case !p.Asked():
		return ".queue", "is kept by the picker; write policy: picker with a picker.url, or leave it out"
	case p.Picker.Send == SendBodies:
		return ".picker.send", "cannot be bodies with a queue: a request waits before its body is sent; write headers"
	case mode == contract.ModeReduced:
		return ".queue", "cannot be kept in mode reduced, which sends requests on before their tokens are counted"
	case p.PerServer() == 0:
		return ".capacity", "is missing: it says when a server has room; write how many requests one works on at once"
	case len(p.Spares) > 0:
		return ".spares", "take no requests that wait for this pool's own servers; leave them out, or queue"
	case p.Prefill.Pool != "":
		return ".queue", "would hold requests whose prompts are read already; leave prefill out, or queue"
	case q.WakeURL != "" && q.Hold == 0:
		return ".queue.hold", "is missing: without it no request waits for the server that wake_url starts; write such as 5m"
	case q.WakeAuthorization != "" && q.WakeURL == "":
		return ".queue.wake_url", "is missing: the authorization is for it"
	case q.longest(classes) > maxQueueTime+queueMargin:
		return ".queue.hold", fmt.Sprintf("%s and the longest deadline are more than %s together, which is as long as Envoy "+
			"waits", &q.Hold, shortTime(Duration(maxQueueTime)))
	}
	return "", ""
}

// wakeReason returns what is wrong with the URL that is asked to start a server. Unlike a server's it has a path.
func wakeReason(text string) string {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.User != nil {
		return fmt.Sprintf("%q is not a URL to ask; write such as https://scaler.example.com/wake/h100", text)
	}
	return ""
}

// checkClasses checks the classes of clients.
func (c *Config) checkClasses(p *problems) {
	all, fail := c.Clients.Classes, p.under("clients.")
	if len(all) > maxClasses {
		fail("classes", "has %d classes; %d is the limit", len(all), maxClasses)
	}
	for i := range all {
		if j := slices.IndexFunc(all, func(o Class) bool { return o.Name == all[i].Name }); j < i {
			fail(fmt.Sprintf("classes[%d].name", i), "%s is listed twice", all[i].Name)
		}
	}
	if d := c.Clients.DefaultClass; d != "" && !slices.ContainsFunc(all, func(o Class) bool { return o.Name == d }) {
		fail("default_class", "there is no class called %s; add it to clients.classes", d)
	}
}

func (q *Queue) fields() []Field {
	return []Field{
		{Key: "max_requests", At: &q.MaxRequests, Shown: "0, no queue", Range: numbers(0, maxQueued),
			Advice:  "is out of range; write how many requests may wait, or 0 for no queue",
			Meaning: "how many requests may [wait](overload.md) for a server with room, with `policy: picker`"},
		{Key: "max_tokens", At: &q.MaxTokens, Shown: "0, no limit", Range: numbers(0, 1_000_000_000),
			Meaning: "how many tokens they may cost together"},
		{Key: "max_bytes", At: &q.MaxBytes, Zero: Size(DefaultQueueBytes), Range: sizes(1<<20, 1<<40),
			Meaning: "how many bytes of bodies Envoys may hold for them, {range}"},
		{Key: "per_client", Block: q.PerClient.fields()},
		{Key: "deadline", At: &q.Deadline, Zero: Duration(DefaultQueueDeadline), Range: times(time.Second, maxQueueTime),
			Meaning: "how long a request waits whose class has no deadline, {range}"},
		{Key: "hold", At: &q.Hold, Zero: Duration(0), Range: times(time.Second, maxQueueTime), Or: "0s to hold none",
			Meaning: "how long a request waits [for a first server](overload.md#no-server), {range}"},
		{Key: "wake_url", At: &q.WakeURL, Form: FormURL, Check: wakeReason,
			Meaning: "URL that gets a POST when requests are held, to start a server"},
		{Key: "wake_authorization", At: &q.WakeAuthorization, Form: FormToken,
			Meaning: "name of a secret for it, as `Authorization: Bearer …`"},
	}
}

func (s *QueueShare) fields() []Field {
	return []Field{
		{Key: "max_requests", At: &s.MaxRequests, Shown: "0, no limit", Range: numbers(0, maxQueued),
			Meaning: "how many requests of one client may wait"},
		{Key: "max_tokens", At: &s.MaxTokens, Shown: "0, no limit", Range: numbers(0, 1_000_000_000),
			Meaning: "how many tokens they may cost"},
		{Key: "max_bytes", At: &s.MaxBytes, Shown: "0, no limit", Range: sizes(0, 1<<40),
			Meaning: "how many bytes of their bodies Envoys may hold"},
	}
}
