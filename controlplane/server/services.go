package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// The names of the services beside the inference servers, in the status, the log and the metrics.
const (
	LimitsService    = "limits"
	ResponsesService = "responses"
)

// ServiceStatus is the state of a replica of a service that Envoys need beside the inference servers.
type ServiceStatus struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Problem is why the service does not work. It is empty if it does, or has not been asked.
	Problem string `json:"problem,omitempty"`
	// ClearStore says that what the responses service stores is not encrypted.
	ClearStore bool `json:"clear_store,omitempty"`
	// Since is when Problem last began or ended. It is zero before the first answer.
	Since time.Time `json:"since,omitzero"`
}

const (
	serviceInterval = 5 * time.Second
	serviceTimeout  = 3 * time.Second
	// serviceRetry is the time after which a service that has failed once is asked again. It may be starting, and is only
	// reported if it fails again.
	serviceRetry = time.Second
	// serviceFailures is how many failures in a row are reported.
	serviceFailures = 2
)

// serviceKey identifies a replica of a service.
type serviceKey struct {
	name     string
	endpoint config.Endpoint
}

// followed is what is known of a replica of a service.
type followed struct {
	ServiceStatus
	failures int
}

// services follows the services beside the inference servers.
type services struct {
	mu    sync.Mutex
	known map[serviceKey]*followed
	// changed holds a value when the configuration may name other services.
	changed chan struct{}
}

func newServices() services {
	return services{known: map[serviceKey]*followed{}, changed: make(chan struct{}, 1)}
}

// notify makes the services of a new configuration be asked at once.
func (s *services) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// status returns the state of all replicas, with the replicas of one service together.
func (s *services) status() []ServiceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ServiceStatus
	for _, f := range s.known {
		all = append(all, f.ServiceStatus)
	}
	slices.SortFunc(all, func(a, b ServiceStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL))
	})
	return all
}

// servicesOf returns the services that Envoys need for a configuration.
func servicesOf(c *config.Resolved) []serviceKey {
	var all []serviceKey
	for _, e := range c.Limits {
		all = append(all, serviceKey{LimitsService, e})
	}
	if c.Service != (config.Endpoint{}) {
		all = append(all, serviceKey{ResponsesService, c.Service})
	}
	return all
}

// followServices asks the services of the configuration in force whether they work, until ctx ends.
func (s *Server) followServices(ctx context.Context) error {
	interval := cmp.Or(s.options.Pools.ReadyInterval, serviceInterval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.beside.changed:
		case <-timer.C:
		}
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		wait := interval
		if current != nil && s.askServices(ctx, current.Resolved) {
			wait = min(interval, serviceRetry)
		}
		timer.Reset(wait)
	}
}

// askServices asks all services of a configuration. It reports whether one has failed that is to be asked again soon.
func (s *Server) askServices(ctx context.Context, c *config.Resolved) (again bool) {
	wanted := servicesOf(c)
	said := make([]serviceAnswer, len(wanted))
	var asking sync.WaitGroup
	for i, key := range wanted {
		asking.Go(func() { said[i] = askService(ctx, key, c.Config.CAFile) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return false
	}
	s.beside.mu.Lock()
	defer s.beside.mu.Unlock()
	for key := range s.beside.known {
		if !slices.Contains(wanted, key) {
			delete(s.beside.known, key)
		}
	}
	for i, key := range wanted {
		again = s.noteService(key, said[i]) || again
	}
	return again
}

// noteService notes the answer of a service. It reports whether the service is to be asked again soon. The caller holds
// the lock of s.beside.
func (s *Server) noteService(key serviceKey, said serviceAnswer) (again bool) {
	problem := said.problem
	f := s.beside.known[key]
	if f == nil {
		f = &followed{ServiceStatus: ServiceStatus{Name: key.name, URL: key.endpoint.String()}}
		s.beside.known[key] = f
	}
	f.failures++
	if problem == "" {
		f.failures, f.ClearStore = 0, said.clearStore
	} else if f.failures < serviceFailures && f.Problem == "" {
		return true
	}
	was := f.Problem
	f.Problem = problem
	if (was == "") == (problem == "") && !f.Since.IsZero() {
		return false
	}
	first := f.Since.IsZero()
	f.Since = time.Now()
	switch {
	case problem != "":
		s.log.Warn("a service does not work", "service", key.name, "url", f.URL, "problem", problem)
	case !first:
		s.log.Info("a service works again", "service", key.name, "url", f.URL)
	}
	return false
}

// serviceAnswer is what a service has answered. problem is why it does not work, or "" if it does.
type serviceAnswer struct {
	problem    string
	clearStore bool
}

// askService asks a service whether it works.
func askService(ctx context.Context, key serviceKey, caFile string) (said serviceAnswer) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	var secure *tls.Config
	if key.endpoint.TLS {
		var err error
		if secure, err = trusting(key.endpoint.Host, caFile); err != nil {
			return serviceAnswer{problem: err.Error()}
		}
	}
	if key.name == LimitsService {
		said.problem = askLimits(ctx, key.endpoint, secure)
	} else {
		said.problem, said.clearStore = askResponses(ctx, key.endpoint, secure)
	}
	return said
}

// trusting returns the settings for TLS to a server of this name. Without a file the system's authorities count.
func trusting(name, caFile string) (*tls.Config, error) {
	c := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if caFile == "" {
		return c, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New(caFile + " has no certificates")
	}
	return c, nil
}

// askLimits asks a rate limit service of ours for its ledger. One of another program need not know the question.
func askLimits(ctx context.Context, e config.Endpoint, secure *tls.Config) string {
	how := insecure.NewCredentials()
	if secure != nil {
		how = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))),
		grpc.WithTransportCredentials(how), grpc.WithNoProxy())
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: contract.LedgerHealth})
	switch code := status.Code(err); {
	case err == nil && answer.Status == grpc_health_v1.HealthCheckResponse_NOT_SERVING:
		return "its ledger does not answer"
	case code == codes.DeadlineExceeded:
		return "no answer in time"
	case code != codes.Unavailable:
		return ""
	}
	return pools.Cause(dialError(ctx, e), "it cannot be reached")
}

// dialError returns why no connection is made, or nil. gRPC's own error does not tell it in a few words.
func dialError(ctx context.Context, e config.Endpoint) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err == nil {
		_ = conn.Close()
		return errors.New("no gRPC")
	}
	return err
}

// askResponses asks the responses service for its store. One that is older does not know the question.
func askResponses(ctx context.Context, e config.Endpoint, secure *tls.Config) (problem string, clearStore bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.String()+contract.ServiceReadyPath, nil)
	if err != nil {
		return err.Error(), false
	}
	transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return pools.Cause(err, "it does not answer"), false
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable {
		return "its store does not answer", false
	}
	return "", answer.Header.Get(contract.StoreHeader) == contract.ClearStore
}
