package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

// commandTimeout is how long a command may take, with the time in which its filter comes.
const commandTimeout = time.Minute

// command is what an operator wants done by the goroutine that decides what Envoys get.
type command struct {
	do   func(ctx context.Context) error
	done chan error // with room for one
}

// run has a command done.
func (s *Server) run(ctx context.Context, do func(ctx context.Context) error) error {
	c := command{do: do, done: make(chan error, 1)}
	select {
	case s.commands <- c:
		return <-c.done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// obey has a command of an operator done, once the first configuration is in force or refused.
func (s *Server) obey(ctx context.Context, do func(ctx context.Context) error) error {
	select {
	case <-s.read:
		return s.run(ctx, do)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveControl serves commands until ctx ends.
func (s *Server) serveControl(ctx context.Context) error {
	if s.options.Control == nil {
		return nil
	}
	server := &http.Server{Handler: s.controlHandler(ctx), ReadHeaderTimeout: headerTimeout, ReadTimeout: commandTimeout,
		WriteTimeout: commandTimeout}
	return serveUntil(ctx, server, s.options.Control)
}

// RolloutPath is the path of rollouts at the socket for commands: POST begins one, with the filter as the body.
// [RolloutOnPath] and [RolloutBackPath] say on and back.
const (
	RolloutPath     = "/rollout"
	RolloutOnPath   = RolloutPath + "/on"
	RolloutBackPath = RolloutPath + "/back"
)

// controlHandler answers commands by the state of the rollout, or by an error's text with status 409. Commands end with
// ctx.
func (s *Server) controlHandler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("content-type", "application/json")
		_ = json.NewEncoder(w).Encode(s.rolloutStatus(s.ads.Envoys())) // fails only if the client has gone
	}
	mux.HandleFunc("POST "+RolloutPath, func(w http.ResponseWriter, r *http.Request) {
		plan, err := readPlan(r.URL.Query())
		if err != nil {
			answer(w, err)
			return
		}
		content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, filterfile.MaxSize))
		if err != nil {
			answer(w, fmt.Errorf("the filter does not come whole: %w", err))
			return
		}
		answer(w, s.obey(ctx, func(context.Context) error { return s.beginRollout(content, plan) }))
	})
	mux.HandleFunc("POST "+RolloutOnPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, s.obey(ctx, s.rolloutOn))
	})
	mux.HandleFunc("POST "+RolloutBackPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, s.obey(ctx, s.rolloutBack))
	})
	return mux
}

// PlanQuery returns a plan, without its filter, as the query of a request that begins a rollout.
func PlanQuery(p *rollout.Plan, rules string) url.Values {
	return url.Values{"group": {p.Group}, "share": {strconv.FormatFloat(p.Share, 'g', -1, 64)}, "for": {p.For.String()},
		"requests": {strconv.Itoa(p.Requests)}, "hold": {strconv.FormatBool(p.Hold)}, "rules": {rules}}
}

// readPlan reads what [PlanQuery] has written.
func readPlan(q url.Values) (p rollout.Plan, err error) {
	var errs [5]error
	p.Group = q.Get("group")
	p.Share, errs[0] = rollout.ParseShare(q.Get("share"))
	p.For, errs[1] = time.ParseDuration(q.Get("for"))
	p.Requests, errs[2] = strconv.Atoi(q.Get("requests"))
	p.Hold, errs[3] = strconv.ParseBool(q.Get("hold"))
	p.Rules, errs[4] = rollout.ParseRules(q.Get("rules"))
	return p, errors.Join(errs[:]...)
}
