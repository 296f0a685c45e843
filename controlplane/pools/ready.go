package pools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// probe is what the servers of a pool are asked, and which models their answers must have.
type probe struct {
	pool          string
	models        []string
	authorization string
	name          string // the operator's name for the authorization
	caFile        string
	modelsPath    string
	ids           bool
	kind          string
	loadInterval  time.Duration // 0: the servers are not asked for their load
}

func probeOf(p Pool) *probe {
	m := contract.Model{APIPath: p.APIPath}
	return &probe{pool: p.Name, models: p.Models, authorization: p.Authorization, name: p.AuthorizationName,
		caFile: p.CAFile, modelsPath: m.ServerPath(contract.ModelsPath), ids: p.TokenIDs,
		kind: p.Kind, loadInterval: p.LoadInterval}
}

func (q *probe) equal(other *probe) bool {
	return slices.Equal(q.models, other.models) && q.authorization == other.authorization && q.name == other.name &&
		q.caFile == other.caFile && q.modelsPath == other.modelsPath && q.ids == other.ids &&
		q.kind == other.kind && q.loadInterval == other.loadInterval
}

// probe asks a server which models it serves and, once after each of its starts, what it is. It updates its state.
func (w *Watcher) probe(ctx context.Context, m *member) {
	w.mu.Lock()
	roots, known := w.roots[m.probe.caFile].valid, m.identified
	w.mu.Unlock()
	c := newClient(m.Endpoint, m.Address, m.probe.authorization, roots)
	facts, err := c.models(ctx, m.probe.modelsPath)
	var found *identity
	if err == nil && !known.is(&facts) && len(missingModels(m.probe.models, facts.Models)) == 0 {
		found = c.identify(ctx, facts, m.probe)
	}
	if ctx.Err() != nil {
		return // the probe may have ended because ctx ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !m.removed {
		w.updateIdentity(m, found, &facts, err)
		w.update(m, facts.Models, err)
	}
}

// update updates a server's state after a probe. Only a list of models makes a server [Ready] or [NotReady]. After
// any other answer, or none, a server that was ready stays so, because Envoys may still reach it. One that was not
// becomes [Unknown].
func (w *Watcher) update(m *member, served []string, err error) {
	refuses := w.updateAuthorization(m, err)
	state, reason := Ready, ""
	missing := missingModels(m.probe.models, served)
	switch {
	case err != nil:
		reason = Cause(err, "it answers, but not in HTTP")
		if refuses {
			reason += ": it refuses the authorization " + strconv.Quote(m.probe.name)
		}
		if m.State != Ready {
			state = Unknown
		}
	case len(missing) > 0:
		state, reason = NotReady, "does not serve "+Quoted(missing)+"; it serves "+Quoted(served)
	case m.Vocabulary == OtherVocabulary:
		state, reason = NotReady, "other vocabulary: "+m.VocabularyExample
	}
	before, first, silent := m.State, m.Reason == NotAsked, m.Silent
	m.Reason = reason
	if answered := err == nil || Answered(err); answered {
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

// updateAuthorization reports whether this answer refuses the pool's authorization. It logs when a server begins and
// when it ceases to refuse it. Without that log line nothing would show that a token was rotated in only one of the two
// places: every request fails, and the server stays [Ready].
func (w *Watcher) updateAuthorization(m *member, err error) (refuses bool) {
	var status statusError
	refuses = m.probe.authorization != "" && errors.As(err, &status) &&
		(status.code == http.StatusUnauthorized || status.code == http.StatusForbidden)
	if m.Refuses == refuses || !refuses && err != nil {
		return refuses // another error does not show whether the authorization is accepted
	}
	m.Refuses = refuses
	notify(w.changed)
	log, message := w.log.Info, "a server accepts its pool's authorization again"
	if refuses {
		log, message = w.log.Warn, "a server refuses its pool's authorization"
	}
	log(message, "pool", m.probe.pool, "server", m.Endpoint.String(), "address", m.Address, "authorization",
		m.probe.name)
	return refuses
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
