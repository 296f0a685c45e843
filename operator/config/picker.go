package config

import (
	"fmt"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Picker determines who chooses the server of a request, for [PolicyPicker] (docs/routing.md).
type Picker struct {
	// URL is the address of an endpoint picker that speaks the Inference Extension's protocol over gRPC, such as
	// http://10.0.0.5:9002 (harmony picker). Empty: whoever is in front of this gateway sets the header
	// x-gateway-destination-endpoint, and removes it from clients' requests.
	URL string `yaml:"url"`
	// Send is "headers" or "bodies": what the picker gets of a request. Empty: headers.
	Send string `yaml:"send"`
	// Timeout is how long a request waits for the picker. All pools have the same. 0 is the default.
	Timeout Duration `yaml:"timeout"`
	// OnFailure is "fallback" or "refuse": what becomes of a request for which the picker names no server of the pool.
	// Empty: fallback, or refuse with send: bodies.
	OnFailure string `yaml:"on_failure"`
	// Fallback is the policy that chooses then: "least_request", "round_robin" or "prefix". Empty: least_request.
	Fallback string `yaml:"fallback"`
	// Blocks is how many of a prompt's first blocks the picker is told, as hashes. 0 is the default.
	Blocks int `yaml:"blocks"`
}

// Values of [Picker].
const (
	SendHeaders       = "headers"
	SendBodies        = "bodies"
	OnFailureFallback = "fallback"
	OnFailureRefuse   = "refuse"
)

// DefaultPickerTimeout is the default of [Picker.Timeout].
const DefaultPickerTimeout = 200 * time.Millisecond

// DefaultPickerBlocks is the default of [Picker.Blocks]: 8,192 tokens, and 9 kB of headers.
const DefaultPickerBlocks = 512

// Asked reports whether Envoy asks a picker for the pool's requests.
func (p *Pool) Asked() bool { return p.Policy == PolicyPicker && p.Picker.URL != "" }

// byAffinity reports whether a policy of the pool goes by what prompts have in common.
func (p *Pool) byAffinity() bool {
	return p.Policy == PolicyPrefix || p.Policy == PolicyPicker && p.Picker.Fallback == PolicyPrefix
}

// PickedInFront reports whether the header with the chosen servers comes from whoever is in front of this gateway.
func (p *Pool) PickedInFront() bool { return p.Policy == PolicyPicker && p.Picker.URL == "" }

// withDefaults returns the picker with defaults for its absent settings.
func (p Picker) withDefaults() Picker {
	if p.OnFailure == "" && p.Send == SendBodies {
		p.OnFailure = OnFailureRefuse
	}
	fillZeros(p.fields())
	return p
}

// check checks the settings of a pool with this policy, in this mode of the filter.
func (p *Picker) check(policy, mode string) (field, reason string) {
	if policy != PolicyPicker {
		if *p != (Picker{}) {
			return ".picker", "is for the policy picker; write policy: picker, or leave it out"
		}
		return "", ""
	}
	if p.URL == "" && p.Timeout != 0 {
		return ".picker.timeout", "is for a picker with a url: without one nobody is asked; leave it out"
	}
	if p.URL == "" && p.Send != "" {
		return ".picker.send", "is for a picker with a url: without one nobody is asked; leave it out"
	}
	if p.URL == "" && p.Blocks != 0 {
		return ".picker.blocks", "is for a picker with a url: without one nobody is asked; leave it out"
	}
	if p.URL != "" {
		if _, err := ParseURL(p.URL); err != nil {
			return ".picker.url", err.Error()
		}
	}
	if p.Send == SendBodies && mode == contract.ModeReduced {
		return ".picker.send", "cannot be bodies in mode reduced, which does not hold requests; write headers"
	}
	if p.Send == SendBodies && p.OnFailure == OnFailureFallback {
		return ".picker.on_failure", "cannot be fallback with send: bodies: a request whose body a picker has begun to read " +
			"cannot go on without it; write refuse"
	}
	if p.withDefaults().OnFailure == OnFailureRefuse && p.Fallback != "" {
		return ".picker.fallback", "chooses nothing with on_failure: refuse; leave one of them out"
	}
	return "", ""
}

// checkPickers checks what the pools' pickers have in common: Envoy waits for all of them equally long, and a server of
// a model is no picker.
func (c *Config) checkPickers(r *Resolved, problems *problems) {
	first := -1
	for i := range r.Pools {
		p := &r.Pools[i]
		if !p.Asked() {
			continue
		}
		fail := problems.under(fmt.Sprintf("pools[%d].picker.", i))
		e, err := ParseURL(p.Picker.URL)
		if err != nil {
			continue // refused already
		}
		p.PickerEndpoint = e
		if owner, ok := r.owners[e.withoutScheme()]; ok {
			fail("url", "%s is a server of %s; write the URL of a picker", p.Picker.URL, owner)
		}
		if first < 0 {
			first = i
		} else if a := &r.Pools[first]; a.Picker.Timeout != p.Picker.Timeout {
			fail("timeout", "%s differs from the %s of %s; Envoy waits for all pickers equally long, so write one time in "+
				"all pools", time.Duration(p.Picker.Timeout), time.Duration(a.Picker.Timeout), a.Name)
		}
	}
}
