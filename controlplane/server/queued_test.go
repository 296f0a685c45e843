package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// TestQueues: what a picker is told about the queues of a configuration and of its keys file.
func TestQueues(t *testing.T) {
	woken := make(chan string, 1)
	scaler := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		woken <- r.URL.Path + " " + r.Header.Get("Authorization")
	}))
	defer scaler.Close()
	c, err := config.Parse("h.yaml", []byte(`
clients: {header: x-c, keys_file: k, classes: [{name: agents, deadline: 5s}, {name: batch}], default_class: batch}
models: [{name: m, pool: p}, {name: n, pool: q}]
secrets: [{name: s, env: S}]
pools:
- {name: p, servers: ['http://h:1'], policy: picker, picker: {url: 'http://e:2'}, capacity: 8, affinity: {},
   queue: {max_requests: 9, max_tokens: 8, per_client: {max_requests: 7}, deadline: 1m, hold: 2m,
     wake_url: '`+scaler.URL+`/wake', wake_authorization: s}}
- {name: q, servers: ['http://h:3'], policy: picker, picker: {url: 'http://e:2'}}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if !PickersClients(c) || !PickersSecret(r, "s") || PickersSecret(r, "other") {
		t.Error("the picker does not need what it needs")
	}
	keys, err := clients.Parse("k", []byte("clients: [{name: codex, class: agents, weight: 3}, {name: other}]"))
	if err != nil {
		t.Fatal(err)
	}
	f := NewFeed(FeedOptions{Picker: picker.New(picker.Options{})})
	defer f.pools.Close()
	defer f.stop()
	all := f.queues(&follow.Version{Config: c, Resolved: r, Clients: keys,
		Secrets: map[string]config.SecretValue{"s": {Token: "t"}}})
	o, ok := all["p"]
	if len(all) != 1 || !ok {
		t.Fatalf("the queues are %v", all)
	}
	if o.Capacity != 8 || o.BlockSize != 16 || o.Hold != 2*time.Minute || o.Client != (queue.Limits{Requests: 7}) ||
		o.All != (queue.Limits{Requests: 9, Tokens: 8, Bytes: config.DefaultQueueBytes}) || len(o.Classes) != 2 ||
		o.Deadlines[0] != 5*time.Second || o.Deadlines[1] != time.Minute {
		t.Errorf("the queue is %+v", o)
	}
	for client, want := range map[string][2]int{"codex": {0, 3}, "other": {1, 1}, "nobody": {1, 1}, "": {1, 1}} {
		if class, weight := o.ClassOf(client); class != want[0] || weight != want[1] {
			t.Errorf("%q has the class %d and the weight %d", client, class, weight)
		}
	}
	o.Wake(queue.Amount{Requests: 1, Tokens: 5})
	if got := <-woken; got != "/wake Bearer t" {
		t.Errorf("asked was %s", got)
	}
	f.wake.Wait()
}
