package pools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// probe is what the servers of a pool are asked, and which models their answers must have.
type probe struct {
	pool          string
	models        []string
	authorization string
	name          string // the operator's name for the authorization
	clientsKeys   bool
	caFile        string
	modelsPath    string
	path          string // of requests, or ""
	ids           bool
	kind          string
	asksIDs       bool
	asksTags      bool
	anyModels     bool
	loadInterval  time.Duration // 0: the servers are not asked for their load
}

func probeOf(p Pool) *probe {
	m := contract.Model{APIPath: p.APIPath}
	q := &probe{pool: p.Name, models: p.Models, authorization: p.Authorization, name: p.AuthorizationName,
		clientsKeys: p.ClientsKeys, caFile: p.CAFile, modelsPath: m.ServerPath(contract.ModelsPath), ids: p.TokenIDs,
		kind: p.Kind, asksIDs: p.AsksIDs, asksTags: p.AsksTags, anyModels: p.AnyModels, loadInterval: p.LoadInterval}
	if p.Path != "" {
		q.path = m.ServerPath(p.Path)
	}
	return q
}

func (q *probe) equal(other *probe) bool {
	return slices.Equal(q.models, other.models) && q.authorization == other.authorization && q.name == other.name &&
		q.clientsKeys == other.clientsKeys && q.caFile == other.caFile && q.modelsPath == other.modelsPath &&
		q.path == other.path && q.ids == other.ids && q.kind == other.kind && q.asksIDs == other.asksIDs &&
		q.asksTags == other.asksTags && q.anyModels == other.anyModels && q.loadInterval == other.loadInterval
}

// asks reports whether servers are asked at all.
func (q *probe) asks() bool { return len(q.models) > 0 || q.path != "" }

// answers are what a server has answered to a probe.
type answers struct {
	facts engine.Facts
	// err is why there is no list of models.
	err error
	// found is nil if the server was not asked what it is.
	found *identity
	// asked reports whether the server was asked for the path of requests, and told whether it has answered. refused is
	// its error if it refuses all requests.
	asked, told bool
	refused     *refusedError
}

// probe asks a server which models it serves and, once after each of its starts, what it is and whether it serves the
// path of requests. It updates its state.
func (w *Watcher) probe(ctx context.Context, m *member) {
	w.mu.Lock()
	roots, known, due := w.roots[m.probe.caFile].valid, m.identified, m.pathDue()
	w.mu.Unlock()
	c := newClient(m.Endpoint, m.Address, m.probe.authorization, roots)
	var a answers
	if len(m.probe.models) > 0 {
		a.facts, a.err = c.models(ctx, m.probe.modelsPath)
		if a.err == nil && !known.is(&a.facts) {
			due = true
			if len(missingModels(m.probe.models, a.facts.Models)) == 0 {
				a.found = c.identify(ctx, a.facts, m.probe)
			}
		}
		// A proxy may have this path and not the one of the list.
		due = a.err == nil && due || isRefusal(a.err)
	}
	if due && m.probe.path != "" {
		a.asked = true
		a.told, a.refused = c.refusal(ctx, m.probe)
	}
	if ctx.Err() != nil {
		return // the probe may have ended because ctx ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !m.removed {
		if len(m.probe.models) > 0 {
			w.updateIdentity(m, a.found, &a.facts, a.err)
			m.listed(&a)
		}
		w.updateRefusal(m, &a)
		w.update(m, &a)
		w.askAbilities(m)
	}
}

// update updates a server's state after a probe. Only a list of models, or an answer on the path of requests, makes a
// server [Ready] or [NotReady]. After any other answer, or none, a server that was ready stays so, because Envoys may
// still reach it. One that was not becomes [Unknown].
func (w *Watcher) update(m *member, a *answers) {
	state, reason := Ready, ""
	missing := missingModels(m.probe.models, a.facts.Models)
	switch {
	case m.Refusal != "":
		state, reason = NotReady, m.refusedBecause
	case a.err != nil:
		reason = Cause(a.err, "it answers, but not in HTTP")
		if m.State != Ready {
			state = Unknown
		}
	case len(missing) > 0:
		state, reason = NotReady, "does not serve "+Quoted(missing)+"; it serves "+Quoted(a.facts.Models)
	case m.Vocabulary == OtherVocabulary:
		state, reason = NotReady, "other vocabulary: "+m.VocabularyExample
	case len(m.probe.models) == 0:
		state = Unknown // it has not been asked what it serves
	}
	before, first, silent := m.State, m.Reason == NotAsked, m.Silent
	m.Reason = reason
	if answered := a.err == nil || Answered(a.err); answered {
		m.Silent = time.Time{}
	} else if silent.IsZero() {
		m.Silent = time.Now()
	}
	if first || silent != m.Silent {
		notify(w.changed)
	}
	if state == before {
		return
	}
	m.State, m.Since = state, time.Now()
	notify(w.changed)
	log := w.log.Info
	if state == NotReady {
		log = w.log.Warn
	} else if before == Unknown {
		log = w.log.Debug // the usual change, and that of every server at the start
	}
	log("a server's readiness has changed", "pool", m.probe.pool, "server", m.Endpoint.String(), "address", m.Address,
		"state", state, "reason", reason)
}

func missingModels(models, served []string) []string {
	var missing []string
	for _, m := range models {
		if !slices.Contains(served, m) {
			missing = append(missing, m)
		}
	}
	return missing
}

const (
	maxQuoted     = 4  // names
	maxQuotedName = 96 // bytes
)

// Quoted returns up to four names of a list, quoted and shortened, and how many more there are. The list may be long,
// and its names may have any bytes.
func Quoted(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	var shown []string
	for _, n := range names[:min(len(names), maxQuoted)] {
		if len(n) > maxQuotedName {
			n = n[:maxQuotedName] + "…"
		}
		shown = append(shown, strconv.Quote(n))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
