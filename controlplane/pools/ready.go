package pools

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	answerTimeout = 3 * time.Second
	maxAnswer     = 1 << 20
)

// question is what the servers of a pool are asked, and what answer is wanted.
type question struct {
	pool          string
	models        []string
	authorization string
	caFile        string
}

func questionOf(p Pool) *question {
	return &question{pool: p.Name, models: p.Models, authorization: p.Authorization, caFile: p.CAFile}
}

func (q *question) equal(other *question) bool {
	return slices.Equal(q.models, other.models) && q.authorization == other.authorization && q.caFile == other.caFile
}

// ask asks a server which models it serves.
func (w *Watcher) ask(ctx context.Context, m *member) {
	w.mu.Lock()
	roots := w.roots[m.question.caFile].good
	w.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	served, err := list(limited, m, roots)
	if ctx.Err() != nil {
		return // the question may have ended for that
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !m.gone {
		w.judge(m, served, err)
	}
}

// judge changes a server's state only on evidence. A server that says what it serves is Ready or NotReady for that, until it
// says otherwise. One that says nothing may be reached by others and stays Ready; but its being NotReady is no longer known.
func (w *Watcher) judge(m *member, served []string, err error) {
	state, reason := Ready, ""
	if err != nil {
		reason = why(err, "it answers, but not in HTTP")
		if m.State != Ready {
			state = Unknown
		}
	} else if missing := without(m.question.models, served); len(missing) > 0 {
		state, reason = NotReady, "does not serve "+quoted(missing)+"; it serves "+quoted(served)
	}
	before, first := m.State, m.Reason == NotAsked
	m.Reason = reason
	if first {
		tell(w.changed)
	}
	if state == before {
		return
	}
	m.State, m.Since = state, time.Now()
	tell(w.changed)
	log := w.log.Info
	if state == NotReady {
		log = w.log.Warn
	} else if before == Unknown {
		log = w.log.Debug // as it should be, and of every server at the start
	}
	log("a server's readiness has changed", "pool", m.question.pool, "server", m.Endpoint.String(), "address", m.Address, "state", state, "reason", reason)
}

// list is the names that a server knows, by GET /v1/models.
func list(ctx context.Context, m *member, roots *x509.CertPool) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.Endpoint.String()+"/v1/models", nil)
	if err != nil {
		return nil, err
	}
	if m.Endpoint.TLS || m.Endpoint.Port == 80 { // as Envoy asks it
		request.Host = strings.TrimSuffix(request.URL.Host, ":"+request.URL.Port())
	}
	if m.question.authorization != "" {
		request.Header.Set("Authorization", m.question.authorization)
	}
	// A transport for each question, since the address is no part of what a transport tells connections apart by. It keeps
	// none, follows no redirect and knows no proxy.
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", m.Address.String())
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, odd(fmt.Sprintf("answers %d to GET /v1/models", response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, odd("answers more than 1 MiB to GET /v1/models")
	}
	var models struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &models) != nil || models.Data == nil {
		return nil, odd("answers no list of models to GET /v1/models")
	}
	ids := make([]string, len(*models.Data))
	for i, model := range *models.Data {
		ids[i] = model.ID
	}
	return ids, nil
}

// odd is an answer that says nothing of models.
type odd string

func (o odd) Error() string { return string(o) }

// without are the models that are not served.
func without(models, served []string) []string {
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

// quoted shows some names of a list that may be long and may hold anything.
func quoted(names []string) string {
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
