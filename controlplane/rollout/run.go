package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Filter names a filter.
type Filter struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Plan is what an operator wants of a rollout.
type Plan struct {
	Filter Filter `json:"filter"`
	// Group is the group whose Envoys get the filter first. Empty: the Envoys of all groups.
	Group string `json:"group,omitempty"`
	// Share is the share of them that get it first.
	Share float64 `json:"share"`
	// For is how long each step is watched at least.
	For time.Duration `json:"for"`
	// Requests is how many requests the Envoys with the new filter must have answered in each step.
	Requests int `json:"requests"`
	// Hold keeps the first step until the operator says on.
	Hold bool `json:"hold,omitempty"`
	// Rules say what is worse.
	Rules Rules `json:"rules,omitempty"`
}

// The limits of a [Plan].
const (
	minFor      = time.Second
	maxFor      = 7 * 24 * time.Hour
	maxRequests = 1_000_000_000
)

// Check returns an error if the plan cannot be followed.
func (p *Plan) Check() error {
	switch {
	case !(p.Share > 0 && p.Share <= 1):
		return fmt.Errorf("a share of %g %% chooses no Envoy; write more than 0%% and at most 100%%", 100*p.Share)
	case p.For < minFor || p.For > maxFor:
		return fmt.Errorf("each step is watched for %s; write a time from %s to %s", p.For, minFor, maxFor)
	case p.Requests < 1 || p.Requests > maxRequests:
		return fmt.Errorf("%d requests are out of range; write 1 to %d", p.Requests, maxRequests)
	}
	return nil
}

// Member is one Envoy of the fleet.
type Member struct {
	ID, Group string
	// Accepted reports whether it has accepted what it is to have. Refused is why it has not, in its own words.
	Accepted bool
	Refused  string
}

// Step is one step of a rollout: a share of the Envoys of a group, or of all.
type Step struct {
	Group string  `json:"group,omitempty"`
	Share float64 `json:"share"`
}

// String implements [fmt.Stringer].
func (s Step) String() string {
	of := "the Envoys"
	if s.Group != "" {
		of = "group " + s.Group
	}
	return fmt.Sprintf("%g %% of %s", 100*s.Share, of)
}

// half is the share between the first one and all.
const half = 0.5

// steps returns the steps of a plan.
func (p *Plan) steps() []Step {
	all := []Step{{Group: p.Group, Share: p.Share}}
	for _, share := range []float64{half, 1} {
		if p.Group != "" || p.Share < share {
			all = append(all, Step{Share: share})
		}
	}
	return all
}

// State is what has become of a rollout.
type State string

const (
	// Watching is a rollout that goes on.
	Watching State = "watching"
	// Done is one that has reached all Envoys.
	Done State = "done"
	// TakenBack is one whose filter was worse, or that the operator took back.
	TakenBack State = "taken_back"
)

// Run is a rollout. It can be saved as JSON. Only one goroutine may use it.
type Run struct {
	Plan Plan `json:"plan"`
	// Old is the filter that the other Envoys have.
	Old     Filter    `json:"old"`
	Started time.Time `json:"started"`
	State   State     `json:"state"`
	// Steps are all steps, and At is the present one.
	Steps []Step    `json:"steps"`
	At    int       `json:"at"`
	Since time.Time `json:"since"` // when the present step began
	// Choice are the Envoys that get the new filter.
	Choice Choice `json:"choice"`
	// Past is what Envoys with the old filter counted before the present step.
	Past Counts `json:"past"`
	// Reason is why the rollout is in its state, and Ended when it ended.
	Reason string    `json:"reason,omitempty"`
	Ended  time.Time `json:"ended,omitzero"`
}

// undecided is for how many times [Plan.For] a step is watched while the new filter may be worse.
const undecided = 3

// Begin returns a rollout of a plan, with its first step. It returns an error if no Envoy can get it.
func Begin(now time.Time, p Plan, old Filter, all []Member, w *Watch) (*Run, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Filter.SHA256 == old.SHA256 {
		return nil, fmt.Errorf("all Envoys are to have this filter already (version %s)", old.Version)
	}
	r := &Run{Plan: p, Old: old, Started: now, State: Watching, Steps: p.steps(), At: -1}
	if len(all) == 0 {
		return nil, fmt.Errorf("no Envoy is connected, so none could be watched")
	}
	if p.Group != "" && !slices.ContainsFunc(all, func(m Member) bool { return m.Group == p.Group }) {
		return nil, fmt.Errorf("no Envoy of the group %q is connected (groups: %s); see harmony controlplane bootstrap "+
			"--group", p.Group, groups(all))
	}
	r.on(now, all, w)
	return r, nil
}

// groups names the groups of Envoys, for people.
func groups(all []Member) string {
	var names []string
	for _, m := range all {
		if m.Group != "" && !slices.Contains(names, m.Group) {
			names = append(names, m.Group)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}

// Resume makes w watch for a rollout that was saved. Its present step begins anew.
func (r *Run) Resume(now time.Time, w *Watch) {
	w.setPast(r.Past)
	w.begin(r.version())
	r.Since = now
}

// version returns the new filter's version, or "" if the old one has the same.
func (r *Run) version() string {
	if r.Plan.Filter.Version == r.Old.Version {
		return ""
	}
	return r.Plan.Filter.Version
}

// on goes on to the next step that chooses an Envoy more, or ends the rollout after the last one.
func (r *Run) on(now time.Time, all []Member, w *Watch) {
	for r.At+1 < len(r.Steps) {
		r.At++
		more, ok := r.Choice.with(r.Steps[r.At].Group, r.Steps[r.At].Share, all)
		if !ok && r.At > 0 && r.At+1 < len(r.Steps) {
			continue
		}
		r.Choice, r.Since, r.Reason = more, now, ""
		_, _, r.Past, _ = w.seen()
		w.begin(r.version())
		w.update(now, all, r.Choice)
		return
	}
	r.end(now, Done, "all Envoys have it", w)
}

func (r *Run) end(now time.Time, state State, reason string, w *Watch) {
	r.State, r.Reason, r.Ended = state, reason, now
	w.end()
}

// On goes on to the next step at once, because the operator says so.
func (r *Run) On(now time.Time, all []Member, w *Watch) { r.on(now, all, w) }

// Back takes the rollout back for a reason.
func (r *Run) Back(now time.Time, reason string, w *Watch) { r.end(now, TakenBack, reason, w) }

// Look looks at what Envoys have counted so far, and goes on or back if that is clear. It reports whether it did. all
// are the Envoys that are connected.
func (r *Run) Look(now time.Time, all []Member, w *Watch) (moved bool) {
	w.update(now, all, r.Choice)
	findings := r.Findings(w)
	if why := r.worse(all, findings); why != "" {
		r.Back(now, why, w)
		return true
	}
	over := now.Sub(r.Since) >= undecided*r.Plan.For && r.enough(w)
	unclear := unclear(findings)
	if over && unclear != "" {
		r.Back(now, fmt.Sprintf("after %s it is still unclear whether it is worse: %s", undecided*r.Plan.For, unclear), w)
		return true
	}
	r.Reason = r.waits(now, all, w, unclear)
	if r.Reason != "" {
		return false
	}
	r.on(now, all, w)
	return true
}

// enough reports whether the Envoys with the new filter have answered enough requests in the present step.
func (r *Run) enough(w *Watch) bool {
	fresh, _, _, _ := w.seen()
	return fresh.N[Requests] >= float64(r.Plan.Requests)
}

// worse returns why the new filter is worse, or "".
func (r *Run) worse(all []Member, findings []Finding) string {
	for _, m := range all {
		if m.Refused != "" && r.Choice.Has(m.ID, m.Group) {
			return fmt.Sprintf("%s refuses it: %s", m.ID, m.Refused)
		}
	}
	var worse []string
	for i := range findings {
		if findings[i].Verdict == Worse {
			worse = append(worse, findings[i].Text())
		}
	}
	return strings.Join(worse, "; ")
}

func unclear(findings []Finding) string {
	for i := range findings {
		if findings[i].Verdict == Unclear {
			return findings[i].Text()
		}
	}
	return ""
}

// waits returns what the present step waits for, or "".
func (r *Run) waits(now time.Time, all []Member, w *Watch, unclear string) string {
	chosen, without := 0, ""
	for _, m := range all {
		if r.Choice.Has(m.ID, m.Group) {
			chosen++
			if !m.Accepted && without == "" {
				without = m.ID
			}
		}
	}
	left := r.Plan.For - now.Sub(r.Since)
	switch {
	case chosen == 0:
		return "waits for an Envoy that is to have it: none is connected"
	case without != "":
		return fmt.Sprintf("waits for %s, which does not have it yet", without)
	case left > 0:
		return fmt.Sprintf("watched for %s more", left.Round(time.Second))
	case !r.enough(w):
		fresh, _, _, _ := w.seen()
		return fmt.Sprintf("waits for %d requests to Envoys that have it; they have counted %.0f", r.Plan.Requests,
			fresh.N[Requests])
	case unclear != "":
		return "watched for longer, because it may be worse: " + unclear
	case r.Plan.Hold && r.At == 0:
		return "as good as the old one so far; held until harmony rollout --on"
	}
	return ""
}

// Findings returns how the new filter compares so far in the present step.
func (r *Run) Findings(w *Watch) []Finding {
	fresh, old, past, each := w.seen()
	beside := reference{beside: Others, counts: &old, each: each}
	switch enough := float64(r.Plan.Requests); {
	case old.N[Requests] >= enough:
	case past.N[Requests] >= enough:
		beside = reference{beside: Past, counts: &past}
	default:
		beside = reference{beside: Nothing, counts: &Counts{}}
	}
	return r.Plan.Rules.judge(&fresh, beside)
}
