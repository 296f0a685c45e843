package clients

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Anonymous is the name of requests without a key where keys are not required. A client of this name in the file has
// the limits of all of them together, and no hash.
const Anonymous = contract.AnonymousClient

// Service is the name of the responses service of a program that makes its key by itself.
const Service = "responses-service"

// File is what a keys file says. It does not change once it is read.
type File struct {
	// Defaults are the limits of every client that has no limits of its own.
	Defaults Limits `yaml:"defaults"`
	// Clients are the known clients.
	Clients []Client `yaml:"clients"`

	byName map[string]*Client
}

// Client is a client and its limits.
type Client struct {
	// Name is what log, metrics and limits call the client.
	Name string `yaml:"name"`
	// Hashes are the hashes of its keys: each key is as good as the others.
	Hashes []Hash `yaml:"hashes"`
	// Deputy reports whether it may send requests of other clients, whose names it tells. The responses service does.
	Deputy bool `yaml:"deputy"`
	// Limits are its limits over all models. If it is nil, they are [File.Defaults].
	Limits *Limits `yaml:"limits"`
	// Models are limits for single models. Each applies beside Limits, not in its place.
	Models []ModelLimits `yaml:"models"`
	// Class is the name of its class, which the configuration has (clients.classes). Empty: the default class.
	Class string `yaml:"class"`
	// Weight is its part of what its class gets where requests wait, in relation to other clients' weights. 0 is 1.
	Weight int `yaml:"weight"`
}

// ModelLimits are the limits of a client's requests for one model.
type ModelLimits struct {
	// Name is the model's name in the configuration, not an alias.
	Name   string `yaml:"name"`
	Limits `yaml:",inline"`
}

// Limits say how much a client may use. 0 means that there is no limit.
type Limits struct {
	// RequestsPerMinute and RequestsPerDay count requests that were let through.
	RequestsPerMinute int `yaml:"requests_per_minute"`
	RequestsPerDay    int `yaml:"requests_per_day"`
	// TokensPerMinute and TokensPerDay count the tokens of prompts and answers.
	TokensPerMinute int `yaml:"tokens_per_minute"`
	TokensPerDay    int `yaml:"tokens_per_day"`
	// Concurrency is how many requests may be under way at once.
	Concurrency int `yaml:"concurrency"`
	// Context is the most tokens that one request may have, prompt and answer together.
	Context int `yaml:"context"`
}

// MaxWeight is the largest [Client.Weight].
const MaxWeight = 1000

// MaxLimit is the greatest value of a limit, but for Context: that is [contract.MaxClientContext].
const MaxLimit = 1_000_000_000_000

// Counted reports whether a rate limit service has something to count: any limit but Context, which the filter holds
// requests to.
func (l *Limits) Counted() bool { return *l != Limits{Context: l.Context} }

// Client returns the client with this name, or nil.
func (f *File) Client(name string) *Client { return f.byName[name] }

// Limits returns the limits of a client over all models, and the limits of its requests for one model. A name that is
// not in the file has the defaults.
func (f *File) Limits(client, model string) (all, ofModel Limits) {
	c := f.Client(client)
	if c == nil {
		return f.Defaults, Limits{}
	}
	all = f.Defaults
	if c.Limits != nil {
		all = *c.Limits
	}
	for i := range c.Models {
		if c.Models[i].Name == model {
			ofModel = c.Models[i].Limits
		}
	}
	return all, ofModel
}
