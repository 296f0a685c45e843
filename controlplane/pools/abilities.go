package pools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
)

// Tags is what a server does with a structural tag.
type Tags string

// The outcomes of the question for a tag (RATIONALE.md#224).
const (
	// TagsNotAsked is the outcome if the server has not been asked, or has not answered yet.
	TagsNotAsked Tags = "not asked"
	// TagsHeld means that the answer had the form of the tag.
	TagsHeld Tags = "held"
	// TagsDropped means that the server answered as if there were no tag.
	TagsDropped Tags = "dropped"
	// TagsRefused means that the server answered with an error to the tag, and not without it.
	TagsRefused Tags = "refused"
)

// Lost reports whether the server does not hold answers to tags.
func (t Tags) Lost() bool { return t == TagsDropped || t == TagsRefused }

// RefusesIDs is the [Refusal] of a server that does not take prompts as token ids on the path of its kind, or does not
// return token ids. Routers may be such servers.
const RefusesIDs Refusal = "ids"

const (
	maxAbilities     = 8 // servers that are asked for their abilities at once
	abilitiesTimeout = 30 * time.Second
	// A server that lacks an ability is asked again after lackingInterval, because a router in front of it can be replaced
	// without an absence that is seen. Another one is asked again after ableInterval.
	lackingInterval = time.Minute
	ableInterval    = 10 * time.Minute
	// The wait after a question without an answer doubles from the first to the last of these.
	firstAbilitiesRetry = 5 * time.Second
	lastAbilitiesRetry  = 5 * time.Minute
)

// maxTagTokens is enough for the only text that the tag allows, however the model spells it.
const maxTagTokens = 32

// abilities are what a server was found to be able to do. lacksIDs is why it cannot be sent token ids, or "".
type abilities struct {
	tags     Tags
	lacksIDs string
}

// lacking reports whether the server lacks an ability.
func (a *abilities) lacking() bool { return a.lacksIDs != "" || a.tags.Lost() }

// asking is when a member is asked for its abilities.
type asking struct {
	now bool // it is being asked, or waits for its turn
	// of is the identity that was asked, and again is when it is asked again. Another identity is asked at once.
	of    *identity
	again time.Time
	// failures counts the questions since the last one that was answered.
	failures int
	// lacksIDs is why the server cannot be sent token ids, or "".
	lacksIDs string
}

// asksAbilities reports whether servers are asked for their abilities.
func (q *probe) asksAbilities() bool {
	return q.path != "" && len(q.models) > 0 && (q.asksIDs || q.asksTags)
}

// abilitiesDue reports whether a server is to be asked for its abilities. The caller holds the watcher's lock.
func (m *member) abilitiesDue(now time.Time) bool {
	if !m.probe.asksAbilities() || m.asking.now || m.identity() == nil {
		return false
	}
	if m.Refusal == RefusesKey || m.Refusal == LacksPath || m.Vocabulary == OtherVocabulary {
		return false // the answer would say the same
	}
	return m.asking.of != m.identity() && m.asking.failures == 0 || !now.Before(m.asking.again)
}

// identity returns which start of the server is asked: the one that was identified or, where servers get requests
// although they do not list the models, the one that lists others. It is nil if there is none.
func (m *member) identity() *identity {
	if m.identified == nil && m.probe.anyModels {
		return m.stranger
	}
	return m.identified
}

// listed notes the list of models of a server that does not list all of the pool's.
func (m *member) listed(a *answers) {
	switch {
	case a.err != nil || len(missingModels(m.probe.models, a.facts.Models)) == 0:
		m.stranger = nil
	case m.stranger == nil || !slices.Equal(m.stranger.facts.Models, a.facts.Models):
		m.stranger = &identity{facts: a.facts}
	}
}

// askAbilities begins to ask a server for its abilities if that is due. It does not wait, because the server may be
// busy. The caller holds the watcher's lock.
func (w *Watcher) askAbilities(m *member) {
	if m.removed || !m.abilitiesDue(time.Now()) {
		return
	}
	m.asking.now = true
	of, roots := m.identity(), w.roots[m.probe.caFile].valid
	w.running.Go(func() {
		select {
		case w.turns <- struct{}{}:
			defer func() { <-w.turns }()
		case <-w.ctx.Done():
			return
		}
		c := newClient(m.Endpoint, m.Address, m.probe.authorization, roots)
		ctx, cancel := context.WithTimeout(w.ctx, abilitiesTimeout)
		defer cancel()
		found, told := c.abilities(ctx, m.probe)
		w.mu.Lock()
		defer w.mu.Unlock()
		m.asking.now = false
		if w.ctx.Err() == nil && !m.removed {
			w.updateAbilities(m, of, found, told)
		}
	})
}

// updateAbilities updates what is known of a server's abilities after a question. of is its identity when it was asked.
func (w *Watcher) updateAbilities(m *member, of *identity, found abilities, told bool) {
	if m.identity() != of {
		m.asking.of = nil // it may have been restarted meanwhile
		return
	}
	now := time.Now()
	if m.asking.of = of; !told {
		wait := firstAbilitiesRetry << min(m.asking.failures, 10)
		m.asking.failures++
		m.asking.again = now.Add(min(wait, lastAbilitiesRetry))
		return
	}
	m.asking.failures = 0
	m.asking.again = now.Add(ableInterval)
	if found.lacking() {
		m.asking.again = now.Add(lackingInterval)
	}
	m.asking.lacksIDs = found.lacksIDs
	if before := m.Tags; found.tags != before && found.lacksIDs == "" {
		m.Tags = found.tags
		notify(w.changed)
		if found.tags.Lost() {
			w.log.Warn("a server does not hold answers to structural tags", "pool", m.probe.pool, "server",
				m.Endpoint.String(), "address", m.Address, "tags", found.tags, "see", RoutersPage)
		} else if before.Lost() {
			w.log.Info("a server holds answers to structural tags again", "pool", m.probe.pool, "server",
				m.Endpoint.String(), "address", m.Address)
		}
	}
	if m.Refusal == "" || m.Refusal == RefusesIDs {
		m.refuseIDs()
		w.update(m, &answers{facts: of.facts})
	}
}

// refuseIDs sets the refusal of a server that refuses nothing else.
func (m *member) refuseIDs() {
	m.Refusal, m.refusedBecause = "", m.asking.lacksIDs
	if m.asking.lacksIDs != "" {
		m.Refusal = RefusesIDs
	}
}

// RoutersPage is the page about servers behind routers.
const RoutersPage = "docs/routers.md"

// abilities asks whether a server takes and returns token ids on the path of its kind, and what it does with a
// structural tag. told is false if it has not said so: it is busy, or wants another key.
func (c *client) abilities(ctx context.Context, q *probe) (found abilities, told bool) {
	kind, ok := backend.Named(q.kind)
	if !ok {
		return found, false
	}
	found.tags = TagsNotAsked
	if q.asksTags {
		text, ids, err := c.complete(ctx, kind, q, maxTagTokens, engine.FixedTag())
		switch {
		case err == nil && ids && strings.HasPrefix(text, engine.FixedText):
			found.tags = TagsHeld
		case err == nil && ids:
			found.tags = TagsDropped
		case err == nil:
			found.lacksIDs = "its answer to " + http.MethodPost + " " + q.path + " has no token ids; see " + RoutersPage
		case !isMistake(err):
			return found, false
		}
		if err == nil {
			return found, true
		}
	}
	_, ids, err := c.complete(ctx, kind, q, 1, nil)
	switch {
	case err == nil && ids && q.asksTags:
		found.tags = TagsRefused
	case err == nil && !ids:
		found.lacksIDs = "its answer to " + http.MethodPost + " " + q.path + " has no token ids; see " + RoutersPage
	case err != nil && isMistake(err):
		found.lacksIDs = fmt.Sprintf("%s with a prompt of token ids; see %s", err, RoutersPage)
	case err != nil:
		return found, false
	}
	return found, true
}

// isMistake reports whether an error says that the request is wrong.
func isMistake(err error) bool {
	var status statusError
	if !errors.As(err, &status) {
		return false
	}
	return status.code == http.StatusBadRequest || status.code == http.StatusUnprocessableEntity ||
		status.code == http.StatusNotImplemented
}

// complete asks for a completion with the request that the filter would send. It returns the text of the answer's
// tokens, and whether there were any.
func (c *client) complete(ctx context.Context, kind backend.Kind, q *probe, most int, tag []byte) (text string, ids bool,
	err error) {
	prompt, stops := engine.Greeting()
	r := backend.Request{Model: q.models[0], Prompt: prompt, MaxTokens: most, Choices: 1, StopTokens: stops,
		StructuralTag: tag}
	answer, err := c.send(ctx, q.path, kind.AppendRequest(nil, &r))
	if err != nil {
		return "", false, err
	}
	tokens, failure := readTokens(kind, answer)
	if failure != nil {
		// vLLM answers a stream's request with 200, and refuses its tag in an event.
		return "", false, statusError{code: failure.Status, asked: http.MethodPost + " " + q.path}
	}
	return engine.Spelling(tokens), len(tokens) > 0, nil
}

// readTokens reads the token ids of an answer with the status 200: none if it is not as the kind's answers are. failure
// is the answer's own error, or an error without a status if the answer is not complete.
func readTokens(kind backend.Kind, answer []byte) (tokens []uint32, failure *backend.Error) {
	if failure := backend.BodyError(answer); failure != nil {
		return nil, failure
	}
	reader, ended := kind.NewReader(), false
	reader.Write(answer)
	for {
		var e backend.Event
		switch reader.Next(&e) {
		case backend.Read:
		case backend.Drained:
			if !ended {
				return nil, &backend.Error{}
			}
			return tokens, nil
		default:
			return nil, nil
		}
		if e.Error != nil && e.Error.LacksTokenIDs() {
			return nil, nil
		} else if e.Error != nil {
			return nil, e.Error
		}
		tokens = append(tokens, e.Tokens...)
		ended = ended || e.Done || e.Finish != backend.Running
	}
}
