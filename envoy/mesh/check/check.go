package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Result is how a check went.
type Result string

// The results of checks. A gateway with a warning serves; one with a failure does not, or is not safe.
const (
	OK   Result = "ok"
	Warn Result = "warning"
	Fail Result = "FAILED"
	// Unknown is a check that could not be made.
	Unknown Result = "unknown"
)

// Check is one thing that was checked.
type Check struct {
	Result Result
	// Name is what was checked. Detail is what was seen, and for anything but OK what to do.
	Name, Detail string
}

// Options select the gateway.
type Options struct {
	// URL is where clients reach it, without a path.
	URL string
	// Admin is the URL of its Envoy's admin interface, or empty.
	Admin string
	// Host is the Host header of requests. Empty: the one of URL.
	Host string
	// Model is the model that is asked for one token. Empty: the first that the gateway lists.
	Model string
	// Authorization is the header's value for all requests to the gateway, or empty.
	Authorization string
	// Transport sends the requests. nil: net/http's.
	Transport *http.Transport
	// Timeout is how long one request may take. 0: 20 seconds, in which the filter finds out that no body is shown.
	Timeout time.Duration
}

const (
	defaultTimeout = 20 * time.Second
	// continueWait is how long the answer 100 is waited for.
	continueWait = 3 * time.Second
	maxAnswer    = 4 << 20
	maxDump      = 64 << 20
)

// Gateway checks a gateway. It sends a handful of requests, and one of them makes a model write one token. An error
// means that there was no answer at all.
func Gateway(ctx context.Context, o Options) ([]Check, error) {
	c := &checker{options: o, transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	if o.Transport != nil {
		c.transport = o.Transport.Clone()
	}
	c.transport.ExpectContinueTimeout = continueWait
	defer c.transport.CloseIdleConnections()
	if c.options.Timeout == 0 {
		c.options.Timeout = defaultTimeout
	}
	if err := c.filter(ctx); err != nil {
		return nil, err
	}
	c.internalHeader(ctx)
	c.model(ctx)
	c.expect(ctx)
	c.otherPaths(ctx)
	if o.Admin == "" {
		c.add(Unknown, "Envoy's configuration", "not read; name Envoy's admin interface by --admin, in Kubernetes after "+
			"kubectl port-forward of the gateway's pod")
		return c.checks, nil
	}
	c.admin(ctx)
	return c.checks, nil
}

type checker struct {
	options   Options
	transport *http.Transport
	checks    []Check
	models    []string
}

func (c *checker) add(r Result, name, format string, args ...any) {
	c.checks = append(c.checks, Check{r, printable(name), printable(fmt.Sprintf(format, args...))})
}

// printable removes from a text what a gateway could do with a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// answer is what the gateway answers.
type answer struct {
	status int
	body   []byte
	code   string
	// got100 reports whether the gateway said 100 before it had the body.
	got100 bool
}

// String describes an answer in a line.
func (a *answer) String() string {
	text := fmt.Sprint(a.status)
	if a.code != "" {
		text += " " + a.code
	}
	return text
}

// ask sends a request. An empty body is none.
func (c *checker) ask(ctx context.Context, method, path, body string, header http.Header) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	a := &answer{}
	sent := &watched{Reader: strings.NewReader(body)}
	var got100 atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Behind the body it comes too late to be of use.
		Got100Continue: func() { got100.Store(!sent.begun.Load()) }})
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.options.URL, "/")+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Body, request.ContentLength = io.NopCloser(sent), int64(len(body))
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if c.options.Host != "" {
		request.Host = c.options.Host
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.options.Authorization != "" {
		request.Header.Set("Authorization", c.options.Authorization)
	}
	// A transport follows no redirect: another server would answer.
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return nil, err
	}
	a.status, a.got100 = response.StatusCode, got100.Load()
	var failure struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &failure) == nil {
		a.code = failure.Error.Code
	}
	return a, nil
}

// watched is a body that says whether it has begun to be sent.
type watched struct {
	io.Reader
	begun atomic.Bool
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	w.begun.Store(true)
	return w.Reader.Read(p)
}

// twice is a body with a key that comes twice. Only the filter refuses it.
const twice = `{"model":"harmony-mesh-check","model":"harmony-mesh-check","messages":[]}`

// filter checks that the filter is there and is shown bodies.
func (c *checker) filter(ctx context.Context) error {
	const name = "the filter is there, and is shown bodies"
	a, err := c.ask(ctx, http.MethodPost, contract.ChatPath, twice, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.add(Fail, name, "no answer to a request with a body in %s: the proxy keeps bodies to itself. "+
			"allow_on_headers_stop_iteration is not in force: is the mesh too old for it? Use reduced mode there",
			c.options.Timeout)
		return nil
	case err != nil:
		return err
	case a.status == http.StatusBadRequest && a.code == contract.CodeDuplicateKey:
		c.add(OK, name, "it refuses a request by itself: %s", a)
	case a.code == contract.CodeGatewayMisconfigured && strings.Contains(string(a.body), "allow_on_headers_stop_iteration"):
		c.add(Fail, name, "%s: allow_on_headers_stop_iteration is not in force. The mesh's control plane may have dropped "+
			"it without a word; use reduced mode there", a)
	case a.code == contract.CodeGatewayMisconfigured:
		c.add(Fail, name, "%s: the filter is there, and its configuration is wrong; the gateway's log says where", a)
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		c.add(Unknown, name, "%s: the gateway wants a key; put it into a variable, and name that by --key-env", a)
	default:
		c.add(Fail, name, "%s is not the filter's answer: it is not in this listener, or %s is not routed to it", a,
			contract.ChatPath)
	}
	return nil
}

// internalHeader checks that a client cannot choose a pool by the header of the filter. With a method that the filter
// leaves to others, only the route decides.
func (c *checker) internalHeader(ctx context.Context) {
	const name = "clients' internal headers are removed"
	c.listModels(ctx)
	plain, err := c.ask(ctx, http.MethodOptions, contract.CompletionsPath, "", nil)
	for _, model := range c.pools() {
		if err != nil {
			break
		}
		var forged *answer
		forged, err = c.ask(ctx, http.MethodOptions, contract.CompletionsPath, "",
			http.Header{contract.PoolHeader: {model}})
		if err == nil && (forged.status != plain.status || string(forged.body) != string(plain.body)) {
			c.add(Fail, name, "OPTIONS %s is %s with %s: %s, and %s without: servers are in reach of clients. Remove the prefix %s "+
				"by an early header mutation", contract.CompletionsPath, forged, contract.PoolHeader, model, plain,
				contract.InternalHeaderPrefix)
			return
		}
	}
	if err != nil {
		c.add(Unknown, name, "no answer: %v", err)
		return
	}
	c.add(OK, name, "with %s the answer is the same: %s", contract.PoolHeader, plain)
}

// pools returns the values that the internal header may have.
func (c *checker) pools() []string {
	if len(c.models) == 0 {
		return []string{"harmony-mesh-check"}
	}
	return c.models
}

func (c *checker) listModels(ctx context.Context) {
	const name = "models are listed"
	a, err := c.ask(ctx, http.MethodGet, contract.ModelsPath, "", nil)
	if err != nil {
		c.add(Fail, name, "no answer: %v", err)
		return
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if a.status != http.StatusOK || json.Unmarshal(a.body, &list) != nil || len(list.Data) == 0 {
		c.add(Fail, name, "GET %s is %s, and no list of models", contract.ModelsPath, a)
		return
	}
	for _, m := range list.Data {
		c.models = append(c.models, m.ID)
	}
	c.add(OK, name, "%s", strings.Join(c.models, ", "))
}

// body returns a request for one token.
func (c *checker) body() (model, body string) {
	if model = c.options.Model; model == "" && len(c.models) > 0 {
		model = c.models[0]
	}
	text, err := json.Marshal(map[string]any{"model": model, "max_completion_tokens": 1,
		"messages": []map[string]string{{"role": "user", "content": "Hi"}}})
	if err != nil {
		return "", "" // cannot happen: strings and a number
	}
	return model, string(text)
}

// model checks that a model answers.
func (c *checker) model(ctx context.Context) {
	model, body := c.body()
	if model == "" {
		c.add(Unknown, "a model answers", "none is known; name one by --model")
		return
	}
	name := model + " answers"
	switch a, err := c.ask(ctx, http.MethodPost, contract.ChatPath, body, nil); {
	case err != nil:
		c.add(Fail, name, "no answer: %v", err)
	case a.status == http.StatusOK:
		c.add(OK, name, "one token, %s", a)
	default:
		c.add(Fail, name, "%s: %.200s", a, a.body)
	}
}

// expect checks that a client that waits for 100 before it sends a body gets it. No model answers the body.
func (c *checker) expect(ctx context.Context) {
	const name = "Expect: 100-continue gets its 100"
	switch a, err := c.ask(ctx, http.MethodPost, contract.ChatPath, twice, http.Header{"Expect": {"100-continue"}}); {
	case err != nil:
		c.add(Fail, name, "no answer: %v", err)
	case a.got100:
		c.add(OK, name, "100, then %s", a)
	default:
		c.add(Warn, name, "none in %s, then %s: clients that wait for it are slow, and strict ones hang. In Istio set "+
			"ENABLE_100_CONTINUE_HEADERS=false at istiod", continueWait, a)
	}
}
