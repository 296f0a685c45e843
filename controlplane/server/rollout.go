package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

const (
	// rolloutFile is the name of the saved rollout in the state folder.
	rolloutFile = "rollout.json"
	// lookInterval is how often a rollout is looked at.
	lookInterval = time.Second
	// rolloutBegun is the result in the metrics of a rollout that begins.
	rolloutBegun = "begun"
	// extensions is the short name of the type of the filter's configuration.
	extensions = "extensions"
)

// savedRollout is the last rollout, as it is saved.
type savedRollout struct {
	Run *rollout.Run `json:"run,omitempty"` // nil before the first
	// Adopted is the filter that a rollout has brought to all Envoys. It is in force instead of the control plane's
	// own for as long as that one is Own.
	Adopted *rollout.Filter `json:"adopted,omitempty"`
	// Own is the checksum of the control plane's own filter when the rollout began.
	Own string `json:"own,omitempty"`
}

// watching reports whether a rollout goes on.
func (r *savedRollout) watching() bool { return r.Run != nil && r.Run.State == rollout.Watching }

// inForce returns the module that Envoys get, except the Envoys of a rollout that goes on.
func (s *Server) inForce() module {
	if a := s.rollout.Adopted; a != nil {
		if m := s.modules.find(a.SHA256); m.SHA256 != "" {
			return m
		}
	}
	return s.module
}

// rolloutModules returns the checksums of the modules that the rollout needs.
func (s *Server) rolloutModules() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rollout.watching() {
		all = append(all, s.rollout.Run.Plan.Filter.SHA256)
	}
	if s.rollout.Adopted != nil {
		all = append(all, s.rollout.Adopted.SHA256)
	}
	return all
}

// keptModules returns the checksums of the modules that are needed now.
func (s *Server) keptModules() []string {
	return append(s.rolloutModules(), referenced(s.latest), s.module.SHA256)
}

// setRollout replaces the state of the rollout, and saves it.
func (s *Server) setRollout(next savedRollout) {
	s.mu.Lock()
	s.rollout = next
	s.mu.Unlock()
	s.saveRollout()
}

func (s *Server) saveRollout() {
	if s.options.StateDir == "" {
		return
	}
	text, err := json.MarshalIndent(s.rollout, "", "  ")
	if err == nil {
		err = os.MkdirAll(s.options.StateDir, 0o700)
	}
	for _, sum := range s.rolloutModules() {
		if err == nil {
			err = s.saveModule(sum) // first, because the state refers to it
		}
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(s.options.StateDir, rolloutFile), append(text, '\n'), 0o600)
	}
	if err != nil {
		s.log.Error("the rollout is not saved: a restart would give all Envoys the filter of before", "error", err)
	}
}

// restoreRollout goes on with the rollout of an earlier run.
func (s *Server) restoreRollout() {
	if s.options.StateDir == "" || s.options.ModulePath != "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(s.options.StateDir, rolloutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var saved savedRollout
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		s.log.Error("the saved rollout cannot be read; all Envoys get the same filter", "error", err)
		return
	}
	s.mu.Lock()
	s.rollout = saved
	s.mu.Unlock()
	for _, sum := range s.rolloutModules() {
		m, err := s.readSavedModule(sum)
		if err != nil {
			s.log.Error("the rollout's filter is lost; all Envoys get the filter of before", "error", err)
			s.dropRollout("its filter is lost: " + err.Error())
			return
		}
		s.modules.add(m, s.keptModules())
	}
	if s.rollout.watching() {
		s.mu.Lock()
		s.rollout.Run.Resume(time.Now(), s.watch)
		s.mu.Unlock()
		s.split()
		s.log.Info("the rollout goes on; its present step begins anew", "version", s.rollout.Run.Plan.Filter.Version, "step",
			s.rollout.Run.Steps[s.rollout.Run.At].String())
	}
}

// dropRollout ends a rollout, and gives up the filter that one has brought to all.
func (s *Server) dropRollout(reason string) {
	next := s.rollout
	if next.Run != nil {
		run := *next.Run
		if next.Adopted != nil || next.watching() {
			run.Back(time.Now(), reason, s.watch)
		}
		next.Run = &run
	}
	next.Adopted = nil
	s.setRollout(next)
}

// ownModuleChanged gives up a rollout that was made while the control plane had another filter of its own.
func (s *Server) ownModuleChanged() {
	r := &s.rollout
	if r.Own == s.module.SHA256 || !r.watching() && r.Adopted == nil {
		return
	}
	s.log.Warn("the control plane has another filter of its own; it is in force in the place of the rollout's",
		"version", s.module.Version, "rollout", r.Run.Plan.Filter.Version)
	s.metrics.rolled(string(rollout.TakenBack))
	s.dropRollout("the control plane has got another filter of its own, version " + s.module.Version)
}

// split makes the chosen Envoys get the rollout's filter.
func (s *Server) split() {
	run := s.rollout.Run
	choice, sum := run.Choice, run.Plan.Filter.SHA256
	refer := func(c *corev3.TypedExtensionConfig) *corev3.TypedExtensionConfig { return xds.Refer(c, sum) }
	err := s.ads.SetSplit(&ads.Split{Chosen: choice.Has, Replace: refer})
	if err != nil {
		s.log.Error("the rollout's filter is not sent to Envoys", "error", err) // cannot happen
	}
}

// endSplit makes all Envoys get the same, unless a rollout goes on.
func (s *Server) endSplit() {
	if s.rollout.watching() {
		return
	}
	if err := s.ads.SetSplit(nil); err != nil {
		s.log.Error("not all Envoys get the same filter", "error", err) // cannot happen
	}
}

// members returns the fleet as a rollout sees it.
func (s *Server) members() []rollout.Member {
	envoys := s.ads.Envoys()
	all := make([]rollout.Member, 0, len(envoys))
	for i := range envoys {
		e := &envoys[i]
		state := e.Types[extensions]
		m := rollout.Member{ID: e.ID, Group: e.Group, Accepted: state.Current}
		if state.Refused != "" && state.Refused == state.Wanted { // else it has refused an earlier one
			m.Refused = state.Error
		}
		all = append(all, m)
	}
	return all
}

// lookAtRollout looks whether a rollout has to go on or back.
func (s *Server) lookAtRollout(ctx context.Context) {
	if !s.rollout.watching() || s.current == nil {
		return
	}
	all := s.members()
	s.mu.Lock()
	moved := s.rollout.Run.Look(time.Now(), all, s.watch)
	s.mu.Unlock()
	if moved {
		s.rolloutMoved(ctx)
	}
}

// rolloutMoved does what a rollout that has gone on or back wants done.
func (s *Server) rolloutMoved(ctx context.Context) {
	next := s.rollout
	run := next.Run
	log := s.log.With("version", run.Plan.Filter.Version, "sha256", run.Plan.Filter.SHA256)
	switch run.State {
	case rollout.Watching:
		log.Info("the rollout goes on", "step", run.Steps[run.At].String())
		s.setRollout(next)
		s.split()
	case rollout.Done:
		log.Info("the rollout is done: the filter is in force at all Envoys", "why", run.Reason)
		s.metrics.rolled(string(rollout.Done))
		adopted := run.Plan.Filter
		next.Adopted = &adopted
		s.setRollout(next)
		s.sendModule(ctx) // first, so that no Envoy gets the old one in between
		s.endSplit()
	case rollout.TakenBack:
		log.Error("the rollout is taken back: the old filter is in force at all Envoys", "why", run.Reason)
		s.metrics.rolled(string(rollout.TakenBack))
		s.setRollout(next)
		s.endSplit()
	}
}

var errNotInForce = errors.New("no configuration is in force; see harmony status")

// beginRollout begins a rollout of a filter with this content.
func (s *Server) beginRollout(content []byte, plan rollout.Plan) error {
	switch {
	case s.options.ModulePath != "":
		return errors.New("Envoys find the filter on their own machines (--wasm-on-envoys), so the control plane cannot " +
			"give some of them another one")
	case s.receiver == nil:
		return errors.New("this control plane takes no metrics of Envoys, so it could not watch a rollout")
	case s.current == nil:
		return errNotInForce
	case s.rollout.watching():
		return fmt.Errorf("a rollout of version %s is under way; harmony rollout --back ends it",
			s.rollout.Run.Plan.Filter.Version)
	}
	info, err := filterfile.Read(content)
	if err != nil {
		return fmt.Errorf("the file %w", err)
	}
	plan.Filter = rollout.Filter{Version: info.Version, SHA256: info.SHA256}
	old := s.inForce()
	before := rollout.Filter{Version: old.Version, SHA256: old.SHA256}
	run, err := rollout.Begin(time.Now(), plan, before, s.members(), s.watch)
	if err != nil {
		return err
	}
	next := s.rollout
	next.Run, next.Own = run, s.module.SHA256
	s.modules.add(module{Info: info, content: content, since: time.Now()}, s.keptModules())
	s.setRollout(next)
	s.split()
	s.metrics.rolled(rolloutBegun)
	s.log.Info("a rollout begins", "version", info.Version, "sha256", info.SHA256, "old", old.Version, "step",
		run.Steps[run.At].String(), "for", plan.For)
	return nil
}

// rolloutOn goes on with a rollout because an operator says so.
func (s *Server) rolloutOn(ctx context.Context) error {
	switch {
	case !s.rollout.watching():
		return errors.New("no rollout is under way")
	case s.current == nil:
		return errNotInForce
	}
	all := s.members()
	s.mu.Lock()
	s.rollout.Run.On(time.Now(), all, s.watch)
	s.mu.Unlock()
	s.rolloutMoved(ctx)
	return nil
}

// rolloutBack takes a rollout back because an operator says so, also one that is done.
func (s *Server) rolloutBack(ctx context.Context) error {
	const reason = "an operator has taken it back"
	switch {
	case s.rollout.watching():
		s.mu.Lock()
		s.rollout.Run.Back(time.Now(), reason, s.watch)
		s.mu.Unlock()
		s.rolloutMoved(ctx)
	case s.rollout.Adopted != nil && s.current == nil:
		return errNotInForce
	case s.rollout.Adopted != nil:
		s.log.Warn("the filter of a rollout is taken back: the control plane's own is in force", "version", s.module.Version,
			"rollout", s.rollout.Adopted.Version)
		s.metrics.rolled(string(rollout.TakenBack))
		s.dropRollout(reason)
		s.sendModule(ctx)
	default:
		return errors.New("there is no rollout to take back")
	}
	return nil
}

// Rollout is the state of a rollout of another filter.
type Rollout struct {
	State rollout.State `json:"state"`
	// Filter is the new filter, and Old the one that the other Envoys have.
	Filter rollout.Filter `json:"filter"`
	Old    rollout.Filter `json:"old"`
	// Steps are its steps, and Step is the number of the present one, from 1.
	Steps []rollout.Step `json:"steps"`
	Step  int            `json:"step"`
	// Started is when it began, Since when its present step did, and Ended when it ended.
	Started time.Time `json:"started"`
	Since   time.Time `json:"since"`
	Ended   time.Time `json:"ended,omitzero"`
	// Reason is what it waits for, or why it has ended.
	Reason string `json:"reason"`
	// Envoys is how many of the connected Envoys are to have the new filter, and Accepted how many have it.
	Envoys   int `json:"envoys"`
	Accepted int `json:"accepted"`
	// Findings are how the new filter compares in the present step.
	Findings []rollout.Finding `json:"findings,omitempty"`
}

// rolloutStatus returns the state of the last rollout, or nil.
func (s *Server) rolloutStatus(envoys []ads.Envoy) *Rollout {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.rollout.Run
	if run == nil {
		return nil
	}
	r := &Rollout{State: run.State, Filter: run.Plan.Filter, Old: run.Old, Steps: slices.Clone(run.Steps),
		Step: run.At + 1, Started: run.Started, Since: run.Since, Ended: run.Ended, Reason: run.Reason}
	if run.State != rollout.Watching {
		return r
	}
	r.Findings = run.Findings(s.watch)
	for i := range envoys {
		if e := &envoys[i]; e.Chosen {
			r.Envoys++
			if e.Types[extensions].Current {
				r.Accepted++
			}
		}
	}
	return r
}
