package record

import (
	"maps"
	"time"
)

// Summary is a record in short, for lists.
type Summary struct {
	ID    string    `json:"id"`
	Time  time.Time `json:"time"`
	Path  string    `json:"path,omitempty"`
	API   string    `json:"api,omitempty"`
	Model string    `json:"model,omitempty"`
	// Server is the kind of the servers.
	Server string `json:"server,omitempty"`
	Pool   string `json:"pool,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Route is the pool that was chosen among several of the model's, and why. Client is the client's name, and Upstream
	// the address of the server.
	Route    string `json:"route,omitempty"`
	Client   string `json:"client,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	// Class is the request's class in the pool's queue, and QueuedMS how long it has waited there, in milliseconds.
	Class    string `json:"class,omitempty"`
	QueuedMS int64  `json:"queued_ms,omitempty"`
	// Status is what the client got, or 0 as long as it got nothing.
	Status           int `json:"status,omitempty"`
	PromptTokens     int `json:"prompt_tokens,omitempty"`
	CompletionTokens int `json:"completion_tokens,omitempty"`
	// FirstTokenMS is the time to the first token, in milliseconds, or -1 if none has come.
	FirstTokenMS int64 `json:"first_token_ms"`
	DurationMS   int64 `json:"duration_ms"`
	// TokensPerSecond counts the tokens after the first one. It is 0 if there are none.
	TokensPerSecond float64           `json:"tokens_per_second,omitempty"`
	Finish          string            `json:"finish,omitempty"`
	Cut             string            `json:"cut,omitempty"`
	EarlyEnd        string            `json:"early_end,omitempty"`
	Recoveries      map[string]uint64 `json:"recoveries,omitempty"`
	// CacheMissed is why the server could not read all from its cache that it could have, and ComputedAgain how many
	// tokens it computed again. It is empty if nothing was missed, or nothing is known of an earlier prompt.
	CacheMissed   string `json:"cache_missed,omitempty"`
	ComputedAgain int    `json:"computed_again,omitempty"`
	// Broken says why the record does not go from the request's beginning to its end. Empty: it does.
	Broken string `json:"broken,omitempty"`
	// Whole reports whether the request is recorded wholly, and not its beginning and end alone.
	Whole   bool `json:"whole"`
	Running bool `json:"running"`
}

// clone returns a copy that shares nothing.
func (s *Summary) clone() Summary {
	c := *s
	c.Recoveries = maps.Clone(s.Recoveries)
	return c
}

// setRate computes the tokens per second of the time after the first token.
func (s *Summary) setRate() {
	s.TokensPerSecond = 0
	if ms := s.DurationMS - s.FirstTokenMS; s.FirstTokenMS >= 0 && ms > 0 && s.CompletionTokens > 1 {
		s.TokensPerSecond = float64(s.CompletionTokens-1) * 1000 / float64(ms)
	}
}
