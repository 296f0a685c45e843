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

// tryingServers begins to try the servers that models name themselves, and returns what ends that. They may come later, so
// nothing that is wrong with one is an error.
func (u *up) tryingServers(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var tries sync.WaitGroup
	for i := range u.config.Models {
		m := &u.config.Models[i]
		for _, text := range m.Servers {
			if s, err := config.ParseServer(text); err == nil { // else Validate has seen it
				tries.Go(func() { u.tryServer(ctx, m, s.Endpoint) })
			}
		}
	}
	return func() {
		cancel()
		tries.Wait()
	}
}

// tryServer says if a server cannot be reached, and goes on trying until it says which models it serves. If the model is not
// among them it says what to add: the names differ more often than not, and the server would refuse every request.
func (u *up) tryServer(ctx context.Context, m *config.Model, e config.Endpoint) {
	told := false
	for {
		err := connects(ctx, e)
		if err == nil {
			served, failure := pools.Ask(ctx, e, u.config.CAFile)
			if failure == nil {
				u.compareModels(m, e, served)
			}
			if failure == nil || pools.Answered(failure) {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !told {
			told = true
			fmt.Fprintf(u.stderr, "warning: no connection to %s of %s (%v); requests get 503 until there is one\n", e, m.Name, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tryInterval):
		}
	}
}

func connects(ctx context.Context, e config.Endpoint) error {
	dialer := net.Dialer{Timeout: tryTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// compareModels warns of a server that does not know a model by the name that it is asked by.
func (u *up) compareModels(m *config.Model, e config.Endpoint, served []string) {
	name := m.ServerModel
	if name == "" {
		name = m.Name
	}
	if slices.Contains(served, name) {
		return
	}
	fmt.Fprintf(u.stderr, "warning: %s does not serve %q; it serves %s. Requests get 502 server_model_not_found: %s\n",
		e, name, pools.Quoted(served), u.howToName(m, served))
}

// howToName says where the servers' name of a model is written.
func (u *up) howToName(m *config.Model, served []string) string {
	if len(served) == 0 {
		return "start the server with the model"
	}
	name := "NAME" // one of several, or one that a shell or YAML would not take as it is
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

// plain reports whether a name needs no quotes.
func plain(name string) bool {
	const marks = "-._/:@+"
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	}) && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "@")
}
