package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
)

const (
	tryTimeout  = 3 * time.Second
	tryInterval = 5 * time.Second
)

// tryServers begins to try the servers in the models' own lists, and returns a function that stops it. A server may
// start later, so an error here is only a warning.
func (u *up) tryServers(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var tries sync.WaitGroup
	for i := range u.config.Models {
		m := &u.config.Models[i]
		for _, text := range m.Servers {
			if s, err := config.ParseServer(text); err == nil { // otherwise Validate has reported it
				tries.Go(func() { u.tryServer(ctx, m, s.Endpoint) })
			}
		}
	}
	return func() {
		cancel()
		tries.Wait()
	}
}

// tryServer warns if a server cannot be reached, and tries again until the server lists its models. If the configured
// model is not in the list, it prints what to add: often only the names differ, and the server would refuse every
// request.
func (u *up) tryServer(ctx context.Context, m *config.Model, e config.Endpoint) {
	warned := false
	for {
		err := dial(ctx, e)
		if err == nil {
			served, askErr := pools.Ask(ctx, e, u.config.CAFile)
			if askErr == nil {
				u.compareModels(m, e, served)
			}
			if askErr == nil || pools.Answered(askErr) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !warned {
			warned = true
			fmt.Fprintf(u.stderr, "warning: no connection to %s of %s (%v); requests get 503 until there is one\n", e, m.Name,
				err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tryInterval):
		}
	}
}

func dial(ctx context.Context, e config.Endpoint) error {
	dialer := net.Dialer{Timeout: tryTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// compareModels warns if a server does not list a model by the name that requests to it have.
func (u *up) compareModels(m *config.Model, e config.Endpoint, served []string) {
	name := m.ServerModel
	if name == "" {
		name = m.Name
	}
	if slices.Contains(served, name) {
		return
	}
	// Some kinds of servers do not read the name in a request.
	fmt.Fprintf(u.stderr, "warning: %s serves %s, not %q: %s. Until then requests get 502 server_model_not_found, or "+
		"another model's answers\n", e, pools.Quoted(served), name, u.serverModelHint(m, served))
}

// serverModelHint returns advice on where to set the server's name of a model.
func (u *up) serverModelHint(m *config.Model, served []string) string {
	if len(served) == 0 {
		return "start the server with the model"
	}
	name := "NAME" // there are several, or the name would need quotes in a shell or in YAML
	if len(served) == 1 && plain(served[0]) {
		name = served[0]
	}
	switch {
	case u.file != "":
		return fmt.Sprintf("set server_model: %s of the model %s in %s", name, m.Name, u.file)
	case len(u.config.Models) > 1:
		return fmt.Sprintf("write server_model: %s of the model %s in a --config file", name, m.Name)
	}
	return "add --server-model " + name
}

// plain reports whether a name needs no quotes in a shell or in YAML.
func plain(name string) bool {
	const marks = "-._/:@+"
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	}) && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "@")
}
