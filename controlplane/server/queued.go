package server

import (
	"cmp"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/wake"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// onlyClass is the class of all clients where the configuration has none.
const onlyClass = "default"

// PickersClients reports whether a program with a [Feed] needs the keys file: for the clients' classes and weights,
// where a pool has a queue.
func PickersClients(c *config.Config) bool {
	for i := range c.Pools {
		if c.Pools[i].Queue.On() {
			return true
		}
	}
	return false
}

// queues returns the queues of the pools that have a picker.
func (f *Feed) queues(v *follow.Version) map[string]picker.QueueOptions {
	all := map[string]picker.QueueOptions{}
	for i := range v.Resolved.Pools {
		if p := &v.Resolved.Pools[i]; p.Asked() && p.Queue.On() {
			all[p.Name] = f.queueOf(v, p)
		}
	}
	return all
}

func (f *Feed) queueOf(v *follow.Version, p *config.ResolvedPool) picker.QueueOptions {
	q, of := &p.Queue, &v.Config.Clients
	o := picker.QueueOptions{
		Capacity: p.PerServer(), BlockSize: cmp.Or(p.Affinity.BlockSize, contract.DefaultBlockSize),
		Hold: time.Duration(q.Hold),
		All:  queue.Limits{Requests: q.MaxRequests, Tokens: int64(q.MaxTokens), Bytes: int64(q.MaxBytes)},
		Client: queue.Limits{Requests: q.PerClient.MaxRequests, Tokens: int64(q.PerClient.MaxTokens),
			Bytes: int64(q.PerClient.MaxBytes)},
		ClassOf: func(client string) (class, weight int) { return classOf(of, v.Clients, client) },
	}
	for i := range of.Classes {
		o.Classes = append(o.Classes, of.Classes[i].Name)
		o.Deadlines = append(o.Deadlines, q.DeadlineOf(&of.Classes[i]))
	}
	if len(o.Classes) == 0 {
		o.Classes, o.Deadlines = []string{onlyClass}, []time.Duration{q.DeadlineOf(nil)}
	}
	if q.WakeURL != "" {
		call := wake.Call{URL: q.WakeURL, Pool: p.Name}
		if secret := v.Secrets[q.WakeAuthorization]; secret.Token != "" {
			call.Authorization = "Bearer " + secret.Token
		}
		o.Wake = func(waiting queue.Amount) {
			one := call
			one.Requests, one.Tokens = waiting.Requests, waiting.Tokens
			f.wake.Go(f.ctx, one)
		}
	}
	return o
}

// classOf returns the class and the weight of a client.
func classOf(of *config.Clients, keys *clients.File, client string) (class, weight int) {
	name := ""
	weight = 1
	if keys != nil {
		if c := keys.Client(client); c != nil {
			name, weight = c.Class, max(c.Weight, 1)
		}
	}
	return of.Class(name), weight
}
