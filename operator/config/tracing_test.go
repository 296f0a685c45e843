package config

import (
	"strings"
	"testing"
)

func TestTracing(t *testing.T) {
	const model = "\nmodels: [{name: a, servers: ['vllm=http://10.0.0.1:8000']}]"
	for text, want := range map[string]struct {
		path       string
		millionths uint32
	}{
		"{url: 'http://collector:4317'}":                          {"", 1_000_000},
		"{url: 'http://collector:4317/', share: 0%}":              {"", 0},
		"{url: 'http://collector:4318/v1/traces', share: 0.5%}":   {"/v1/traces", 5_000},
		"{url: 'https://c.example:443/otlp/traces', share: 100%}": {"/otlp/traces", 1_000_000},
		"{url: 'http://[::1]:4317', share: 0.0001%}":              {"", 1},
	} {
		c, err := Parse("h.yaml", []byte("tracing: "+text+model))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if r.Collector.Path != want.path || c.Tracing.Share.Millionths() != want.millionths ||
			!strings.Contains(string(r.FilterJSON), `"tracing":true`) {
			t.Errorf("%s: %+v, %d millionths, the filter gets %s", text, r.Collector, c.Tracing.Share.Millionths(), r.FilterJSON)
		}
	}
	for text, want := range map[string]string{
		"{url: 'http://collector:4318'}":                          `h.yaml:1: tracing.url: "http://collector:4318" has the port of OTLP over HTTP`,
		"{url: 'http://collector:4317/v1/traces'}":                `whose URLs have no path; write http://collector:4317`,
		"{url: 'http://collector'}":                               `has no port; write http://host:4317`,
		"{url: collector:4317}":                                   `is not a URL`,
		"{url: 'http://collector:4317?key=secret'}":               `has a query`,
		"{url: 'http://u:secret@collector:4317'}":                 `has a user name`,
		"{url: 'grpc://collector:4317'}":                          `has the scheme grpc`,
		"{share: 10%}":                                            `tracing: has a share and no url`,
		"{url: 'http://10.0.0.1:8000'}":                           `is a server of a; write the URL of a collector`,
		"{url: 'http://c:4317', share: 101%}":                     `"101%" is not a share`,
		"{url: 'http://c:4317', share: 10}":                       `"10" is not a share`,
		"{url: 'http://c:4317', share: 0.00001%}":                 `is not a share; write 0% to 100%`,
		"{url: 'http://c:4317', share: -1%}":                      `is not a share`,
		"{url: 'http://c:4317', share: NaN%}":                     `is not a share`,
		"{url: 'http://c:4317', share: 1e1%}":                     `is not a share`,
		"{url: 'http://c:4317', shares: 1%}":                      `did you mean share?`,
		"{url: 'http://c:4318/" + strings.Repeat("a", 300) + "'}": `has a path that is too long`,
	} {
		_, err := Parse("h.yaml", []byte("tracing: "+text+model))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		} else if strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error shows a password: %v", text, err)
		}
	}
}
