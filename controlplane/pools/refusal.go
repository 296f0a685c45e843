package pools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Refusal is why a server refuses all requests of its pool.
type Refusal string

// The refusals. A server that refuses is faster than every server that answers, so least_request would send it nearly
// all requests (RATIONALE.md#58).
const (
	// RefusesKey means that the server refuses the pool's authorization, or wants one where the pool has none.
	RefusesKey Refusal = "credentials"
	// LacksPath means that the server does not serve the path of the pool's kind.
	LacksPath Refusal = "path"
)

// pathInterval is the time after which a server is asked again, where it may refuse requests without a restart that is
// seen: in a pool with an authorization, and where servers are not asked for their models.
const pathInterval = time.Minute

// refusedError is the error of an answer that refuses a request for the path of requests, whatever its body.
type refusedError struct {
	statusError
	why Refusal
	// because is what an operator is told.
	because string
}

// isRefusal reports whether an answer may come from a server that refuses all requests. nil is no such answer.
func isRefusal(err error) bool {
	var status statusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// refusal asks for the path of requests with an empty body, which no server can answer with a completion. It reports
// whether the server has answered, and its error if it refuses all requests.
func (c *client) refusal(ctx context.Context, q *probe) (told bool, refused *refusedError) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := c.send(ctx, q.path, []byte{})
	var status statusError
	if err != nil && !errors.As(err, &status) {
		return false, nil
	}
	if !isRefusal(err) {
		return true, nil
	}
	refused = &refusedError{statusError: status}
	switch key := status.code == http.StatusUnauthorized || status.code == http.StatusForbidden; {
	case q.kind == contract.VLLMGenerate && status.code == http.StatusForbidden: // for a wrong key vLLM answers 401
		refused.why, refused.because = LacksPath, "vLLM serves it only with --enable-scale-out"
	case key && q.clientsKeys:
		return true, nil
	case key && q.authorization == "":
		refused.why, refused.because = RefusesKey, "it wants a key, and its pool has no authorization"
	case key:
		refused.why, refused.because = RefusesKey, "it refuses the authorization "+strconv.Quote(q.name)
	case backend.ReadError(status.code, status.body).NamesPath(q.path):
		refused.why, refused.because = LacksPath, fmt.Sprintf("the kind %s may be wrong; ask harmony probe %s", q.kind,
			c.endpoint)
	default:
		return true, nil
	}
	return true, refused
}

// pathDue reports whether the server must be asked for the path of requests although nothing shows that it was
// restarted. The caller holds the watcher's lock.
func (m *member) pathDue() bool {
	return m.Refusal != "" && m.Refusal != RefusesIDs || m.pathAsked.IsZero() ||
		(m.probe.authorization != "" || len(m.probe.models) == 0) && time.Since(m.pathAsked) >= pathInterval
}

// updateRefusal updates whether a server refuses all requests, and logs when it begins and when it ceases to refuse the
// pool's authorization.
func (w *Watcher) updateRefusal(m *member, a *answers) {
	before := m.Refusal
	switch {
	case a.told:
		m.refuseIDs()
		m.pathAsked = time.Now()
		if a.refused != nil {
			m.Refusal, m.refusedBecause = a.refused.why, a.refused.Error()+": "+a.refused.because
		}
	case a.err != nil, a.asked && len(m.probe.models) == 0:
		// It may have been restarted. Until it answers, nothing is known.
		m.Refusal, m.refusedBecause, m.pathAsked, m.asking.lacksIDs = "", "", time.Time{}, ""
		return
	}
	if before == m.Refusal {
		return
	}
	notify(w.changed)
	log, message := w.log.Info, "a server accepts its pool's authorization again"
	switch {
	case m.Refusal == RefusesKey:
		log, message = w.log.Warn, "a server refuses its pool's authorization"
	case before != RefusesKey:
		return // the change of the state is logged
	}
	log(message, "pool", m.probe.pool, "server", m.Endpoint.String(), "address", m.Address, "authorization",
		m.probe.name)
}
