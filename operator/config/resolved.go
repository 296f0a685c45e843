package config

import (
	"slices"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Resolved is a complete configuration with its texts parsed, each once. Neither it nor its [Config] changes.
type Resolved struct {
	Config *Config
	// Pools are the pools in the file, and after them one for each model that names its servers itself.
	Pools []ResolvedPool
	// Passthrough and Service are the servers of [Config.Passthrough] and [ResponsesService.URL]. They are zero if there
	// are none.
	Passthrough, Service Endpoint
	// Tap is the recorder of [Config.Tap], or zero.
	Tap Endpoint
	// Limits is the rate limit service of [Config.Limits], or zero.
	Limits []Endpoint
	// Collector comes from [Config.Tracing]. It is zero if there is none.
	Collector Collector
	// FilterJSON is the filter's part, in the form that the filter reads. It lacks the addresses and the clients that
	// [Resolved.FilterJSONWith] adds.
	FilterJSON []byte

	// owners holds the names of the models and pools that name servers, by [Endpoint.withoutScheme].
	owners map[Endpoint]string
}

// ResolvedPool is a pool with its defaults, its servers and its models.
type ResolvedPool struct {
	Pool
	// Endpoints are the servers that the configuration lists.
	Endpoints []Endpoint
	// Drained are the servers in Drain.
	Drained []Endpoint
	// TLS reports whether the servers use https, as the first listed server or the Service does. A pool that has only a
	// file uses http.
	TLS bool
	// APIPath is the path of the servers' API ([contract.Model.APIPath]), which ends the URLs of the listed servers.
	APIPath string
	// PickerEndpoint is the address in [Picker.URL]. It is zero if there is none.
	PickerEndpoint Endpoint
	// Models are the models whose servers these are.
	Models []*Model
	// Short reports whether a model names the servers itself.
	Short bool
	// PrefillFor are the names of the pools for which the servers read prompts.
	PrefillFor []string
	// RenderFor are the names of the other pools for which the servers render conversations.
	RenderFor []string
	// wrong reports whether the kind or a server is refused.
	wrong bool
}

// Resolve parses the texts in c. It returns what is wrong with c as [Config.Validate] does.
func (c *Config) Resolve() (*Resolved, error) {
	r, problems := c.check()
	if len(c.Models) == 0 {
		problems.add("models", "no model is configured; name at least one, with its servers")
	}
	for i := range c.Models {
		m := &c.Models[i]
		if m.Pool == "" && len(m.Servers) == 0 {
			problems.add(modelPath(i)+"servers", "no server is given for %s; write for example vllm=http://127.0.0.1:8000, or "+
				"name a pool", m.Name)
		}
		for _, one := range m.Places() {
			if p := r.Pool(one.PoolName()); p != nil {
				p.Models = append(p.Models, one)
			}
		}
	}
	c.checkServicePresent(problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	r.FilterJSON = appendFilterJSON(c.Filter())
	// The filter's own parser has the final word.
	if _, err := filterconfig.Parse(r.FilterJSON); err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	return r, nil
}

func appendFilterJSON(f *contract.Config) []byte { return filterconfig.AppendJSON(nil, f) }

// Pool returns the pool with this name, or nil.
func (r *Resolved) Pool(name string) *ResolvedPool {
	if i := slices.IndexFunc(r.Pools, func(p ResolvedPool) bool { return p.Name == name }); i >= 0 {
		return &r.Pools[i]
	}
	return nil
}

// Misfit is the reason why a server may not be in a pool.
type Misfit uint8

const (
	// Fits is a server that may be in the pool.
	Fits Misfit = iota
	// OtherScheme is an https server in an http pool, or an http server in an https pool.
	OtherScheme
	// Untranslated is a server that gets requests unchanged, as passthrough or as the responses service. Untranslated
	// requests would reach a Harmony model.
	Untranslated
)

// Misfit returns the reason why a server may not be in a pool.
func (r *Resolved) Misfit(p *ResolvedPool, server Endpoint) Misfit {
	switch place := server.withoutScheme(); {
	case server.TLS != p.TLS:
		return OtherScheme
	case r.Config.Passthrough != "" && place == r.Passthrough.withoutScheme(),
		r.Config.ResponsesService.Address() != "" && place == r.Service.withoutScheme():
		return Untranslated
	default:
		return Fits
	}
}

// withoutScheme returns the endpoint as an http endpoint. Servers at the same address are the same, whatever their
// scheme.
func (e Endpoint) withoutScheme() Endpoint {
	e.TLS = false
	return e
}
