package up

import (
	"context"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/store"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// newService makes the responses service of this program, which runs whenever the configuration has one, and listens
// for it.
func (u *up) newService() error {
	u.service = store.NewPart(store.PartOptions{Program: programName, Runs: (*config.ResponsesService).Runs,
		Listen: freePort, OwnKey: true, LaterGateway: true, DrainTime: drainOfService, Fatal: true, Log: u.eventLog()})
	flags := u.adjust
	u.adjust = func(c *config.Config) error {
		if err := flags(c); err != nil { // first, because the flags may add the store
			return err
		}
		return u.service.Adjust(c)
	}
	return u.service.Bind(u.config)
}

// deputy returns the hash of the service's key, if the service runs and no keys file has it.
func (u *up) deputy() clients.Hash {
	if u.service == nil || !u.config.ResponsesService.Runs() {
		return clients.Hash{}
	}
	return u.service.Deputy()
}

// programName is what an operator starts again.
const programName = "harmony up"

// freePort is where the service of harmony up listens by default: only this run's gateway has to find it.
const freePort = "127.0.0.1:0"

// drainOfService is how long the service of harmony up has after the gateway has ended, which has waited for streams.
const drainOfService = time.Second

// askModelsAt says where the service finds the gateway: at the address of the first listener.
func (u *up) askModelsAt(ctx context.Context, address string, p *program) error {
	defer u.waitFor("the store of responses")()
	select {
	case <-p.ready:
		return u.service.AskAt(ctx, "http://"+address)
	case <-ctx.Done():
		return nil // interrupted
	case <-p.done:
		return cli.AsUsage(p.err)
	}
}

// program is the part of a run that follows the configuration.
type program struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed when the first version is in force
	done   chan struct{} // closed when it has ended
	err    error         // how it ended; written before done is closed
}

// follow runs parts by the versions of the configuration. The interrupt of ctx does not end them. hosts are what runs
// beside the service and reads settings only when it starts.
func (u *up) follow(ctx context.Context, f follow.Program, parts []follow.Part, hosts ...config.Part) *program {
	from := follow.Options{File: u.file, Adjust: u.adjust, Log: u.eventLog(),
		Needs: follow.Needs{Secret: follow.Every, Clients: true, Files: store.HeadersFiles}}
	if !cli.IsFile(u.file) { // only flags, or a pipe, which can be read only once
		from.File, from.Config = "", u.config
	}
	f.Follower, f.Parts, f.Log = follow.Open(from), append(parts, u.service), u.eventLog()
	f.Began = &follow.Version{Config: u.config, Clients: u.clients}
	f.NextStart = follow.NextStart(programName, append(hosts, config.PartPage, config.PartUp)...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &program{cancel: cancel, ready: make(chan struct{}), done: make(chan struct{})}
	f.Ready = func() { close(p.ready) }
	go func() {
		defer close(p.done)
		p.err = f.Run(ctx)
	}()
	return p
}

func (p *program) stop() {
	p.cancel()
	<-p.done
}
