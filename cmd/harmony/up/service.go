package up

import (
	"cmp"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/cmd/harmony/store"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// listenForService listens for the service, if this program runs it, and stores where.
func (u *up) listenForService() error {
	if !u.config.ResponsesService.Runs() {
		return nil
	}
	l, err := cli.Listen(cmp.Or(u.config.ResponsesService.Listen, freePort), "responses_service.listen")
	if err != nil {
		return err
	}
	u.service = store.New(l, drainOfService)
	u.config.ResponsesService.Listen = l.Addr().String()
	adjust := u.adjust
	u.adjust = func(c *config.Config) error {
		err := adjust(c) // first, because the flags may add the store
		if c.ResponsesService.Runs() {
			c.ResponsesService.Listen = l.Addr().String()
		}
		return err
	}
	return nil
}

// freePort is where the service of harmony up listens by default: only this run's gateway has to find it.
const freePort = "127.0.0.1:0"

// startService starts the service, if this program runs it. gateway is the address of the first listener.
func (u *up) startService(gateway string) error {
	defer u.waitFor("the store of responses")()
	return u.service.Start(u.config, "http://"+gateway, u.eventLog())
}

// drainOfService is how long the service of harmony up has after the gateway has ended, which has waited for streams.
const drainOfService = time.Second
