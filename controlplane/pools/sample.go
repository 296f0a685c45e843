package pools

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	maxSamples    = 128         // questions for a load at once
	sampleTimeout = time.Second // of one question; a load that comes later is not worth more
	maxMetrics    = 4 << 20     // bytes of an answer
	// maxSampleRate is how many questions there are in a second. With more servers than that allows for, each is asked
	// less often than its pool says.
	maxSampleRate = 2000
	// maxKept is how many servers a connection is kept to. With more servers none is: a process may have 1,024 files, and
	// a new connection is a small part of the work.
	maxKept = 512
	// slowestSample is the longest interval between two questions to a server that does not answer them. Each failure
	// doubles it.
	slowestSample = 30 * time.Second
)

// interval returns how long after a question for its load a server is asked again.
func (s *sampler) interval(m *member) time.Duration {
	interval := cmp.Or(time.Duration(m.asked.Load()), m.probe.loadInterval)
	asked := time.Duration(float64(interval) * max(float64(s.rate.Load())/maxSampleRate, 1))
	d := asked
	for range min(m.unanswered.Load(), 8) {
		d = min(2*d, max(slowestSample, asked))
	}
	return d
}

// setServers sets the servers that are asked.
func (s *sampler) setServers(all []*member) {
	rate := 0.0
	for _, m := range all {
		m.asked.Store(int64(m.loadInterval()))
		rate += 1 / m.loadInterval().Seconds()
	}
	s.rate.Store(int64(rate))
	s.closes.Store(len(all) > maxKept)
}

// sample asks a server for its load.
func (w *Watcher) sample(ctx context.Context, m *member) {
	w.mu.Lock()
	roots, gauges := w.roots[m.probe.caFile].valid, m.gauges()
	w.mu.Unlock()
	var told engine.Load
	var err error = answerError("its kind is not known to tell its load")
	if gauges != nil {
		told, err = w.sampler.read(ctx, m, gauges, roots)
	}
	if ctx.Err() != nil {
		return // the question may have ended because ctx ended
	}
	at := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && told.Known() {
		w.sampler.told.Add(1)
	} else {
		w.sampler.failed.Add(1)
	}
	switch {
	case err != nil:
		m.unanswered.Add(1)
		m.meter.Fail(Cause(err, "it answers, but not in HTTP"))
	case !told.Known():
		m.unanswered.Add(1)
		m.meter.Fail("does not tell its load at " + gauges.Path)
	default:
		m.unanswered.Store(0)
		m.meter.Add(at, told)
	}
	if !m.removed {
		m.Load = m.meter.Load()
	}
}

// Samples returns how many questions for a load were answered with one, and how many were not.
func (w *Watcher) Samples() (told, failed uint64) {
	return w.sampler.told.Load(), w.sampler.failed.Load()
}

// gauges returns the names of the gauges of a server's load, or nil if they are not known. The server's own word on
// what it is counts more than the operator's.
func (m *member) gauges() *engine.Gauges {
	for _, e := range []*engine.Engine{m.Engine, engine.Serving(m.probe.kind)} {
		if e != nil && e.Load.Path != "" {
			return &e.Load
		}
	}
	return nil
}

// keepMeter makes a member go on with the samples of the one that it replaces.
func (m *member) keepMeter(old *member) {
	if m.loadInterval() > 0 && old != nil && old.Endpoint == m.Endpoint {
		m.meter = old.meter
	}
	m.Load = m.meter.Load()
}

// sampler asks servers for their loads. Unlike a [client] it keeps its connections, unless there are too
// many.
type sampler struct {
	transport *http.Transport
	// told and failed count the questions.
	told, failed atomic.Uint64
	// rate is how many questions there would be in a second if each server were asked as often as its pool says.
	rate atomic.Int64
	// closes reports whether each question has a connection of its own.
	closes atomic.Bool
}

func newSampler() *sampler {
	s := &sampler{transport: &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10, WriteBufferSize: 512,
		MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}}
	s.transport.DialTLSContext = dialTLS
	return s
}

// tlsTarget says how TLS is spoken with the server of a request. It is a value of the request's context, because the
// URL has the server's address: names may have many, and the transport tells connections apart by the URL.
type tlsTarget struct {
	name  string
	roots *x509.CertPool
}

type tlsTargetKey struct{}

func dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	target, _ := ctx.Value(tlsTargetKey{}).(tlsTarget)
	d := tls.Dialer{Config: &tls.Config{ServerName: target.name, RootCAs: target.roots}}
	return d.DialContext(ctx, network, address)
}

// read asks a server for its metrics, and returns the load that they tell.
func (s *sampler) read(ctx context.Context, m *member, gauges *engine.Gauges, roots *x509.CertPool) (
	engine.Load, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	ctx = context.WithValue(ctx, tlsTargetKey{}, tlsTarget{m.Endpoint.Host, roots})
	request := (&http.Request{
		Method: http.MethodGet, Header: http.Header{}, ProtoMajor: 1, ProtoMinor: 1,
		URL: addressURL(m.Endpoint, m.Address, gauges.Path), Host: m.Endpoint.Authority(),
		Close: s.closes.Load(),
	}).WithContext(ctx)
	if m.probe.authorization != "" {
		request.Header.Set("Authorization", m.probe.authorization)
	}
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return engine.Load{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return engine.Load{}, statusError{code: response.StatusCode, asked: "GET " + gauges.Path}
	}
	body := &io.LimitedReader{R: response.Body, N: maxMetrics}
	told, err := gauges.ReadPage(body)
	if err == nil && body.N == 0 {
		err = answerError("answers more than 4 MiB to GET " + gauges.Path)
	}
	return told, err
}

// addressURL returns the URL of a path at the address of a server.
func addressURL(e config.Endpoint, address netip.AddrPort, path string) *url.URL {
	scheme, _, _ := strings.Cut(e.String(), ":")
	return &url.URL{Scheme: scheme, Host: address.String(), Path: path}
}
