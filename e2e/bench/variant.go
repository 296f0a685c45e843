package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	model = "gpt-oss-120b"
	// other is the server under a name that is not configured: the filter ignores raw prompts for it.
	other = "other"
)

// server is the simulated GPU server. It gives a short answer to "first", and a long one to everything else.
type server struct {
	sim *sim.Server
	url string
}

func newServer(o options) (*server, error) {
	short := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>Hi<|return|>")
	text := "<|channel|>analysis<|message|>" + strings.Repeat(" thought", o.tokens/3) +
		"<|end|><|start|>assistant<|channel|>final<|message|>" + strings.Repeat(" word", o.tokens-o.tokens/3-10) +
		"<|return|>"
	long := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	s := sim.New(sim.Options{
		Models: []string{model, other}, TokensPerSecond: o.rate, Keep: 1,
		Script: sim.NewScript(sim.Line{Match: "first", Tokens: short}, sim.Line{Match: "stream", Tokens: long}),
	})
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &server{sim: s, url: url}, nil
}

func (s *server) close() { s.sim.Close() }

// variant is one Envoy under test and the requests for it.
type variant struct {
	name          string
	host          *hosts.Host
	path          string
	first, stream []byte
}

// startVariants starts an Envoy for each variant. The variants without the filter get the requests as the filter would
// translate them, so that the servers' work is the same for all.
func startVariants(o options, s *server) ([]*variant, error) {
	setup := hosts.Setup{Config: config.Default()}
	setup.Config.Listen, setup.Config.Envoy.Concurrency = "127.0.0.1:0", 1
	setup.Config.Passthrough = strings.Replace(s.url, "127.0.0.1", "localhost", 1)
	setup.Config.Models = []config.Model{config.DefaultModel(model, "vllm="+s.url)}

	host, err := hosts.Envoy(setup)
	if err != nil {
		return nil, err
	}
	filter := &variant{
		name: "the filter", host: host, path: "/v1/chat/completions",
		first:  []byte(`{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"first"}]}`),
		stream: []byte(`{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"stream"}]}`),
	}
	first, err := s.rendered(filter, filter.first)
	if err != nil {
		return nil, err
	}
	stream, err := s.rendered(filter, filter.stream)
	if err != nil {
		return nil, err
	}
	variants := []*variant{}
	for _, name := range []string{"no filter", "an empty one"} {
		r, err := hosts.Resources(setup)
		if err != nil {
			return nil, err
		}
		module := ""
		if name != "no filter" {
			module = o.empty
		}
		if err := replaceFilter(r, setup.Config, module); err != nil {
			return nil, err
		}
		host, err := hosts.EnvoyWith(setup, r)
		if err != nil {
			return nil, err
		}
		variants = append(variants, &variant{name: name, host: host, path: "/v1/completions", first: first, stream: stream})
	}
	variants = append(variants, filter)
	if o.beside == "" {
		return variants, nil
	}
	resolved, err := setup.Config.Resolve()
	if err != nil {
		return nil, err
	}
	r, err := xds.Build(resolved, xds.Options{ModulePath: o.beside})
	if err != nil {
		return nil, err
	}
	if host, err = hosts.EnvoyWith(setup, r); err != nil {
		return nil, err
	}
	beside := *filter
	beside.name, beside.host = "another one", host
	return append(variants, &beside), nil
}

// rendered returns the body that reaches the server for a request through the filter, with the name that is not
// configured.
func (s *server) rendered(v *variant, body []byte) ([]byte, error) {
	if _, err := v.firstByte(body); err != nil {
		return nil, err
	}
	requests := s.sim.Requests()
	if len(requests) == 0 {
		return nil, errors.New("no request reached the server")
	}
	last := requests[len(requests)-1].Body
	return bytes.Replace(last, []byte(`"model":"`+model+`"`), []byte(`"model":"`+other+`"`), 1), nil
}

// replaceFilter removes the filter from the resources, or puts another module in its place.
func replaceFilter(r *xds.Resources, c *config.Config, module string) error {
	with, err := r.ConnectionManager()
	if err != nil {
		return err
	}
	if module != "" {
		resolved, err := c.Resolve()
		if err != nil {
			return err
		}
		replaced, err := xds.Build(resolved, xds.Options{ModulePath: module})
		if err != nil {
			return err
		}
		r.Listeners = replaced.Listeners
		return nil
	}
	with.HttpFilters = slices.DeleteFunc(with.HttpFilters,
		func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
	packed, err := anypb.New(with)
	if err != nil {
		return err
	}
	r.Listeners[0].FilterChains[0].Filters[0].GetTypedConfig().Value = packed.Value
	return nil
}

// measure takes one round of measurements of a variant.
func (v *variant) measure(o options, out *result) error {
	for range o.requests {
		d, err := v.firstByte(v.first)
		if err != nil {
			return err
		}
		out.firstByte = append(out.firstByte, d)
	}
	before, err := hosts.CPUSeconds(v.host.Process.PID())
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	failures := make(chan error, o.streams)
	for range o.streams {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if _, err := v.firstByte(v.stream); err != nil {
				failures <- err
			}
		}()
	}
	wait.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	after, err := hosts.CPUSeconds(v.host.Process.PID())
	if err != nil {
		return err
	}
	out.cpu = append(out.cpu, (after-before)*1e6/float64(o.streams*o.tokens))
	return nil
}

// firstByte sends a request, reads the whole answer, and returns the time to the body's first byte.
func (v *variant) firstByte(body []byte) (time.Duration, error) {
	start := time.Now()
	response, err := http.Post(v.host.URL+v.path, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var one [1]byte
	if _, err := io.ReadFull(response.Body, one[:]); err != nil {
		return 0, err
	}
	first := time.Since(start)
	rest, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK || !bytes.HasSuffix(bytes.TrimSpace(rest), []byte("data: [DONE]")) {
		return 0, fmt.Errorf("status %d, ends with %.200q", response.StatusCode, rest)
	}
	return first, nil
}
