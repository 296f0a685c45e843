package config

import (
	"strings"
	"testing"
	"time"
)

// queued returns a file whose pool has these settings beside a picker and a capacity.
func queued(top, pool string) string {
	return top + "models: [{name: m, pool: p}]\npools:\n- {name: p, servers: ['http://h:1'], policy: picker, " +
		"picker: {url: 'http://epp:9002'}, capacity: 8" + pool + "}\n"
}

func TestQueue(t *testing.T) {
	c, err := Parse("h.yaml", []byte(queued("clients: {header: x-c, classes: [{name: agents, deadline: 5s}, "+
		"{name: batch, deadline: 10m}, {name: rest}], default_class: rest}\n",
		", queue: {max_requests: 100, hold: 5m, wake_url: 'https://h/wake'}")))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p := r.Pool("p")
	if !p.Queue.On() || p.Queue.MaxBytes != DefaultQueueBytes || time.Duration(p.Queue.Deadline) != DefaultQueueDeadline {
		t.Errorf("the queue is %+v", p.Queue)
	}
	if got := p.Longest(c.Clients.Classes); got != 15*time.Minute+queueMargin {
		t.Errorf("the longest wait is %s", got)
	}
	if in := string(r.FilterJSON); !strings.Contains(in, `"queue_ms":905000`) {
		t.Errorf("the filter gets %s", in)
	}
	for name, want := range map[string]int{"agents": 0, "batch": 1, "rest": 2, "": 2, "none": 2} {
		if got := c.Clients.Class(name); got != want {
			t.Errorf("the class %q is %d", name, got)
		}
	}
	if d := p.Queue.DeadlineOf(&c.Clients.Classes[2]); d != DefaultQueueDeadline {
		t.Errorf("the deadline is %s", d)
	}
}

// TestNoQueue: without the setting nothing is as with it.
func TestNoQueue(t *testing.T) {
	c, err := Parse("h.yaml", []byte(queued("", "")))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Pool("p"); p.Queue != (Queue{}) || p.Longest(nil) != 0 || strings.Contains(string(r.FilterJSON), "queue") {
		t.Errorf("the queue is %+v, the filter gets %s", p.Queue, r.FilterJSON)
	}
}

func TestQueueRefusals(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{queued("", ", queue: {deadline: 9s}"), "pools[0].queue.max_requests: is missing"},
		{queued("", ", queue: {max_requests: -1}"), "pools[0].queue.max_requests: -1 is out of range"},
		{queued("", ", queue: {max_requests: 9, max_bytes: 1}"), "pools[0].queue.max_bytes"},
		{queued("", ", queue: {max_requests: 9, deadline: 500ms}"), "pools[0].queue.deadline"},
		{queued("", ", queue: {max_requests: 9, wake_url: 'https://h'}"), "pools[0].queue.hold: is missing"},
		{queued("", ", queue: {max_requests: 9, hold: 1m, wake_url: 'http://h', wake_authorization: s}"),
			"there is no secret called s"},
		{queued("secrets: [{name: s, env: S}]\n", ", queue: {max_requests: 9, hold: 1m, wake_authorization: s}"),
			"pools[0].queue.wake_url: is missing"},
		{queued("", ", queue: {max_requests: 9, hold: 1m, wake_url: 'ftp://h'}"), "pools[0].queue.wake_url: "},
		{queued("", ", queue: {max_requests: 9, hold: 50m}"), "pools[0].queue.hold: 50m0s and the longest deadline"},
		{queued("clients: {header: x-c, classes: [{name: a, deadline: 30m}]}\n", ", queue: {max_requests: 9, hold: 25m}"),
			"pools[0].queue.hold: 25m0s and the longest deadline"},
		{strings.Replace(queued("", ", queue: {max_requests: 9}"), ", capacity: 8", "", 1), "pools[0].capacity: is missing"},
		{strings.Replace(queued("", ", queue: {max_requests: 9}"), ", policy: picker, picker: {url: 'http://epp:9002'}", "",
			1),
			"pools[0].queue: is kept by the picker"},
		{strings.Replace(queued("", ", queue: {max_requests: 9}"), "{url: ", "{send: bodies, url: ", 1),
			"pools[0].picker.send: cannot be bodies with a queue"},
		{queued("mode: reduced\n", ", queue: {max_requests: 9}"), "pools[0].queue: cannot be kept in mode reduced"},
		{queued("", ", spares: [q], queue: {max_requests: 9}") + "- {name: q, servers: ['http://h:2']}\n",
			"pools[0].spares: take no requests"},
		{queued("clients: {header: x-c, default_class: a}\n", ""), "clients.default_class: there is no class called a"},
		{queued("clients: {header: x-c, classes: [{name: a}, {name: a}]}\n", ""),
			"clients.classes[1].name: a is listed twice"},
		{queued("clients: {header: x-c, classes: [{deadline: 1s}]}\n", ""), "clients.classes[0].name"},
		{queued("clients: {header: x-c, classes: ["+strings.Repeat("{name: a}, ", 17)+"]}\n", ""), "has 17 classes"},
	} {
		c, err := Parse("h.yaml", []byte(tt.text))
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n%v, want %s", tt.text, err, tt.want)
		}
	}
}
