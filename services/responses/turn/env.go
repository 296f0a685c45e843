package turn

import (
	"log/slog"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Env is what turns need of the service around them.
type Env struct {
	Log *slog.Logger
	Now func() time.Time
	// Gateway is where models are asked, and Tools calls servers of tools.
	Gateway *upstream.Client
	Tools   *toolserver.Pool
	Spans   spans.Maker
	Metrics Metrics
	// Stored returns the store, or the error for one that has not answered yet.
	Stored func() (*store.Store, *openai.Error)
	// Encrypted reports whether the store encrypts what it keeps.
	Encrypted bool
}

// Metrics count what turns do.
type Metrics interface {
	// Continued counts what a request continues.
	Continued(past *store.Past)
	// CalledTool counts a call, and ListedTools a list of tools.
	CalledTool(server, outcome string, took time.Duration)
	ListedTools(server, outcome string)
	// Rounded counts the rounds of a response.
	Rounded(rounds int)
	// Finished counts a response that has ended.
	Finished(status string)
	// KeptAlive counts a sign of life that a quiet stream was given.
	KeptAlive()
	// Resumed counts an answer that was cut, by what became of it.
	Resumed(outcome string)
}

// NewReader returns a reader of items that follow others.
func (e *Env) NewReader(c *input.Caller, bound *seal.Bound, past []store.Item) *input.Reader {
	return input.NewReader(&input.Source{Stored: e.Stored, Log: e.Log}, c, bound, past)
}

// failure returns the error that a client gets for an error of the store.
func (e *Env) failure(err error, param string, missing *openai.Error) *openai.Error {
	return refusal.OfStore(e.Log, err, param, missing)
}
