package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Options are the settings of [Server].
type Options struct {
	// URL is the server's, without a path, such as http://127.0.0.1:8000.
	URL string
	// APIPath is the path of the server's API. "" is /v1. With another one it may only be a server of a kind that hosted
	// APIs are of.
	APIPath string
	// Model is the name that the server knows the model by. Empty: the server's first model, or its first whose name
	// contains gpt-oss.
	Model string
	// Choose chooses one of the server's models where Model is empty. It may return "". If it is nil, no choice is an error.
	Choose func(models []string) (string, error)
	// Authorization is the value of the header authorization. Empty: none is sent.
	Authorization string
	// Brief leaves out what a gateway does not need to begin: other kinds than the first that it can use, most of the
	// texts, the metrics and the cache.
	Brief bool
	// Transport sends the requests. It must be set.
	Transport http.RoundTripper
}

// Report is what a server has answered.
type Report struct {
	// Facts are what the server tells about itself.
	engine.Facts
	// Model is the one of its models that was asked for completions.
	Model string
	// Kinds are the kinds of servers that this one was asked as.
	Kinds []Kind
	// Chat is what the server can do as one that takes conversations. It is nil if the gateway uses it otherwise.
	Chat *Chat
	// Render is what the server's template makes of conversations. It is nil if the gateway does not have it render any.
	Render *Render
	// Texts compares the server's tokenizer with ours.
	Texts engine.Texts
	// Cache is what the server keeps of an answer. It is nil of other programs than vLLM.
	Cache *Cache
	// Metrics is the number of metrics that the server has, and Load is what they tell of its load, if there are any.
	Metrics int
	Load    engine.Load
	// Requests are the requests in their order.
	Requests []Request
}

// Request is one request and its outcome.
type Request struct {
	Method, Path string
	// Status is the answer's, or 0 if there was none.
	Status int
	// Error is why the answer was of no use. It is "" for an answer with a status that is not 200.
	Error string
}

// ErrUnauthorized means that the server requires a key, or refuses the one that it got.
var ErrUnauthorized = errors.New("it refuses requests without a valid key")

// questionTimeout is for one request about the server. A completion may have to wait for other requests.
const (
	questionTimeout   = 5 * time.Second
	completionTimeout = time.Minute
)

// Server asks a server. It returns an error if the server cannot be reached, or refuses the authorization.
func Server(ctx context.Context, o Options) (*Report, error) {
	s := &session{options: o, report: &Report{}}
	if err := s.askModels(ctx); err != nil {
		return nil, err
	}
	r := s.report
	if r.isGateway() {
		return r, nil
	}
	// Where the API has another path, there is nothing else that is a program's.
	own := cmp.Or(o.APIPath, contract.DefaultAPIPath) == contract.DefaultAPIPath
	if own {
		r.Ask(func(path string, v any) bool { return s.get(ctx, path, v) })
	}
	if err := s.choose(); err != nil {
		return nil, err
	}
	if own && o.Brief {
		s.compareTexts(ctx, engine.FewTexts())
	}
	for _, name := range kindsFor(r.Engine) {
		if own || contract.KindNamed(name).TakesAPIPath() {
			s.askKind(ctx, name)
		}
		if o.Brief && r.fits() {
			break
		}
	}
	if own && !o.Brief {
		s.compareTexts(ctx, engine.AllTexts())
		s.readMetrics(ctx)
		s.tryCache(ctx)
	}
	switch k := r.Kind(); {
	case k == nil || !k.Conversations:
	case k.Name == contract.VLLMRender:
		s.askRender(ctx)
	default:
		s.askChat(ctx, s.greeting)
	}
	return r, ctx.Err()
}

// choose says which of the server's models is asked.
func (s *session) choose() error {
	name := s.options.Model
	if name == "" && s.options.Choose != nil {
		var err error
		if name, err = s.options.Choose(s.report.Models); err != nil {
			return err
		}
	}
	s.report.Model = cmp.Or(name, likelyModel(s.report.Models))
	return nil
}

// Likely reports whether a model's name contains gpt-oss.
func Likely(model string) bool {
	name := strings.ToLower(model)
	return strings.Contains(name, "gpt-oss") || strings.Contains(name, "gpt_oss")
}

// likelyModel returns the first model whose name contains gpt-oss, else the first one.
func likelyModel(models []string) string {
	for _, m := range models {
		if Likely(m) {
			return m
		}
	}
	if len(models) > 0 {
		return models[0]
	}
	return ""
}

// kindsFor returns all kinds of servers, beginning with the program's kinds. A server that renders conversations comes
// before one that only takes them: what a gateway knows of its requests is exact.
func kindsFor(e *engine.Engine) []string {
	kinds := contract.ServerKinds()
	if chat, render := slices.Index(kinds, contract.Chat), slices.Index(kinds, contract.VLLMRender); chat < render {
		kinds = slices.Insert(slices.Delete(kinds, render, render+1), chat, contract.VLLMRender)
	}
	slices.SortStableFunc(kinds, func(a, b string) int {
		switch ofA, ofB := e != nil && e.Serves(a), e != nil && e.Serves(b); {
		case ofA == ofB:
			return 0
		case ofA:
			return -1
		}
		return 1
	})
	return kinds
}

// isGateway reports whether the server is a gateway like this one.
func (r *Report) isGateway() bool { return r.Engine != nil && r.Engine.ID == engine.Gateway }

// Kind returns the kind that the gateway can use this server as, or nil if there is none. It is the first one that
// works. If the model does not seem to be gpt-oss, it is one that takes conversations.
func (r *Report) Kind() *Kind {
	var first *Kind
	for i := range r.Kinds {
		k := &r.Kinds[i]
		switch {
		case !k.Works():
		case r.fitsAs(k):
			return k
		case first == nil:
			first = k
		}
	}
	return first
}

// fitsAs reports whether the server answers as servers of a kind that works do.
func (r *Report) fitsAs(k *Kind) bool { return k.Conversations || k.Expected() && !r.otherModel() }

// fits reports whether the kind that was asked last is the one to use.
func (r *Report) fits() bool {
	k := r.Kind()
	return k != nil && r.fitsAs(k)
}

// otherModel reports whether the server says that its model is not gpt-oss.
func (r *Report) otherModel() bool {
	return r.ModelType != "" && r.ModelType != engine.ModelType || r.Texts.Other > 0
}

// Problem returns why the gateway cannot use the server, and what to do. It is "" if the gateway can.
func (r *Report) Problem() string {
	switch k := r.Kind(); {
	case r.isGateway():
		return "it is a Harmony Edge gateway and not an inference server; name one of the servers behind it"
	case k != nil && k.Conversations:
		return ""
	case r.ModelType != "" && r.ModelType != engine.ModelType:
		return fmt.Sprintf("its model is of the type %q and not %q; start it with a gpt-oss model", r.ModelType,
			engine.ModelType)
	case r.Texts.Other > 0:
		return fmt.Sprintf("its vocabulary is another: %s. Start it with a gpt-oss model and that model's own tokenizer",
			r.Texts.Example)
	case r.Kind() != nil:
		return ""
	case r.Model == "":
		return "it lists no model; start it with a gpt-oss model, or name one with --server-model"
	}
	problem := "it answers no request for a completion"
	for _, k := range r.Kinds {
		problem += fmt.Sprintf("; as %s: %s", k.Name, k.Problem)
	}
	return problem + ". See docs/probe.md for what to do"
}
