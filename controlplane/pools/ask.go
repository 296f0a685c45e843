package pools

import (
	"bytes"
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
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	probeTimeout = 3 * time.Second // for a list of models, and for all that tells what a server is
	maxAnswer    = 1 << 20
	maxError     = 16 << 10
)

// Ask asks a server which models it serves and what it is, as a [Watcher] does, but without authorization. The pool has
// one model, which need not be among the server's. See [Answered] for its errors.
func Ask(ctx context.Context, e config.Endpoint, p Pool) (s Server, served []string, err error) {
	var roots *x509.CertPool
	if p.CAFile != "" && e.TLS {
		source := (source[*x509.CertPool]{path: p.CAFile, parse: parseRoots}).reread()
		if source.err != nil {
			return s, nil, source.err
		}
		roots = source.valid
	}
	lookup, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(lookup, "ip", e.Host)
	if err != nil {
		return s, nil, err
	}
	addresses := preferIPv4(found)
	if len(addresses) == 0 {
		return s, nil, answerError("its name has no address")
	}
	c, q := newClient(e, netip.AddrPortFrom(addresses[0], e.Port), "", roots), probeOf(p)
	facts, err := c.models(ctx, q.modelsPath)
	if err != nil {
		return s, nil, err
	}
	if len(missingModels(q.models, facts.Models)) > 0 {
		q.models = facts.Models
	}
	s.set(c.identify(ctx, facts, q))
	return s, facts.Models, nil
}

// Answered reports whether an error of [Ask] is an answer that is not a list of models, or that the host has no
// address.
func Answered(err error) bool { return errors.As(err, new(answerError)) }

// client asks one address of a server.
type client struct {
	endpoint      config.Endpoint
	authorization string
	transport     *http.Transport
}

// newClient returns a client with a transport of its own, because a transport does not tell connections apart by the
// address that they are dialled to. It keeps no connection, follows no redirect and uses no proxy.
func newClient(e config.Endpoint, address netip.AddrPort, authorization string, roots *x509.CertPool) *client {
	return &client{endpoint: e, authorization: authorization, transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address.String())
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// send sends a GET, or a POST with a body of JSON, and returns the body of an answer with the status 200.
func (c *client) send(ctx context.Context, path string, body []byte) ([]byte, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.endpoint.TLS || c.endpoint.Port == 80 { // as Envoy does
		request.Host = strings.TrimSuffix(request.URL.Host, ":"+request.URL.Port())
	}
	if c.authorization != "" {
		request.Header.Set("Authorization", c.authorization)
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		// An error that cannot be read tells its status.
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxError))
		return nil, statusError{code: response.StatusCode, asked: method + " " + path, body: said}
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(answer) > maxAnswer {
		return nil, answerError("answers more than 1 MiB to " + method + " " + path)
	}
	return answer, nil
}

// models returns what a server's model list tells.
func (c *client) models(ctx context.Context, path string) (engine.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := c.send(ctx, path, nil)
	if err != nil {
		return engine.Facts{}, err
	}
	facts, ok := engine.ReadModels(answer)
	if !ok {
		return engine.Facts{}, answerError("does not answer GET " + path + " with a list of models")
	}
	return facts, nil
}

// identify asks what a server is beside its model list. It must serve the models of the probe.
func (c *client) identify(ctx context.Context, facts engine.Facts, q *probe) *identity {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	facts.Ask(func(path string, v any) bool {
		answer, err := c.send(ctx, path, nil)
		return err == nil && json.Unmarshal(answer, v) == nil
	})
	found := &identity{facts: facts}
	if q.ids && len(q.models) > 0 {
		found.texts = facts.Compare(engine.FewTexts(), q.models[0], func(request []byte) ([]byte, bool) {
			answer, err := c.send(ctx, engine.TokenizePath, request)
			return answer, err == nil
		})
	}
	found.complete = ctx.Err() == nil
	return found
}

// answerError is the error of an answer that is not a list of models.
type answerError string

// Error implements error.
func (o answerError) Error() string { return string(o) }

// statusError is the error of an answer with a status other than 200. [errors.As] also finds it as an answerError.
type statusError struct {
	code int
	// asked is the request's method and path.
	asked string
	// body is the beginning of the answer's body.
	body []byte
}

// Error implements error.
func (a statusError) Error() string { return fmt.Sprintf("answers %d to %s", a.code, a.asked) }

// As sets target if it is a pointer to answerError. [errors.As] calls it.
func (a statusError) As(target any) bool {
	o, ok := target.(*answerError)
	if ok {
		*o = answerError(a.Error())
	}
	return ok
}
