package pools

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	probeTimeout = 3 * time.Second
	maxModelList = 1 << 20
)

// probe is what the servers of a pool are asked, and which models their answers must have.
type probe struct {
	pool          string
	models        []string
	authorization string
	name          string // the operator's name for the authorization
	caFile        string
}

func probeOf(p Pool) *probe {
	return &probe{pool: p.Name, models: p.Models, authorization: p.Authorization, name: p.AuthorizationName,
		caFile: p.CAFile}
}

func (q *probe) equal(other *probe) bool {
	return slices.Equal(q.models, other.models) && q.authorization == other.authorization && q.name == other.name &&
		q.caFile == other.caFile
}

// probe asks a server which models it serves, and updates its state.
func (w *Watcher) probe(ctx context.Context, m *member) {
	w.mu.Lock()
	roots := w.roots[m.probe.caFile].valid
	w.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	served, err := listModels(limited, m.Endpoint, m.Address, m.probe.authorization, roots)
	if ctx.Err() != nil {
		return // the probe may have ended because ctx ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !m.removed {
		w.update(m, served, err)
	}
}

// update updates a server's state after a probe. Only a list of models makes a server [Ready] or [NotReady]. After
// any other answer, or none, a server that was ready stays so, because Envoys may still reach it. One that was not
// becomes [Unknown].
func (w *Watcher) update(m *member, served []string, err error) {
	refuses := w.updateAuthorization(m, err)
	state, reason := Ready, ""
	if err != nil {
		reason = Cause(err, "it answers, but not in HTTP")
		if refuses {
			reason += ": it refuses the authorization " + strconv.Quote(m.probe.name)
		}
		if m.State != Ready {
			state = Unknown
		}
	} else if missing := missingModels(m.probe.models, served); len(missing) > 0 {
		state, reason = NotReady, "does not serve "+Quoted(missing)+"; it serves "+Quoted(served)
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
		(status == http.StatusUnauthorized || status == http.StatusForbidden)
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

// Ask asks a server which models it serves, as a [Watcher] does, but without authorization. caFile is the CAFile of a
// [Pool]. See [Answered] for its errors.
func Ask(ctx context.Context, e config.Endpoint, caFile string) (served []string, err error) {
	var roots *x509.CertPool
	if caFile != "" && e.TLS {
		s := (source[*x509.CertPool]{path: caFile, parse: parseRoots}).reread()
		if s.err != nil {
			return nil, s.err
		}
		roots = s.valid
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.Host)
	if err != nil {
		return nil, err
	}
	addresses := preferIPv4(found)
	if len(addresses) == 0 {
		return nil, answerError("its name has no address")
	}
	return listModels(ctx, e, netip.AddrPortFrom(addresses[0], e.Port), "", roots)
}

// Answered reports whether an error of [Ask] is an answer that is not a list of models, or that the host has no
// address.
func Answered(err error) bool { return errors.As(err, new(answerError)) }

// listModels returns the ids of the models that a server lists at GET /v1/models.
func listModels(ctx context.Context, e config.Endpoint, address netip.AddrPort, authorization string,
	roots *x509.CertPool) (
	[]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.String()+contract.ModelsPath, nil)
	if err != nil {
		return nil, err
	}
	if e.TLS || e.Port == 80 { // as Envoy does
		request.Host = strings.TrimSuffix(request.URL.Host, ":"+request.URL.Port())
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	// Each probe has a transport of its own, because a transport does not tell connections apart by the address that
	// they are dialled to. It keeps no connection, follows no redirect and uses no proxy.
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address.String())
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
		return nil, statusError(response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxModelList+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxModelList {
		return nil, answerError("answers more than 1 MiB to GET /v1/models")
	}
	var models struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &models) != nil || models.Data == nil {
		return nil, answerError("does not answer GET /v1/models with a list of models")
	}
	ids := make([]string, len(*models.Data))
	for i, model := range *models.Data {
		ids[i] = model.ID
	}
	return ids, nil
}

// answerError is the error of an answer that is not a list of models.
type answerError string

// Error implements error.
func (o answerError) Error() string { return string(o) }

// statusError is the error of an answer with a status other than 200. [errors.As] also finds it as an answerError.
type statusError int

// Error implements error.
func (a statusError) Error() string { return fmt.Sprintf("answers %d to GET /v1/models", int(a)) }

// As sets target if it is a pointer to answerError. [errors.As] calls it.
func (a statusError) As(target any) bool {
	o, ok := target.(*answerError)
	if ok {
		*o = answerError(a.Error())
	}
	return ok
}

// missingModels returns the models that are not in served.
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
