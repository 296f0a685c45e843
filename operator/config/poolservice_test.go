package config

import "testing"

// TestPoolService has pools with a Service alone, and with servers that decide its scheme.
func TestPoolService(t *testing.T) {
	for settings, want := range map[string]struct {
		port ServicePort
		tls  bool
	}{
		"service: {name: vllm, port: http}":                  {"http", false},
		"service: {name: vllm, port: 8000, scheme: http}":    {"8000", false},
		"service: {name: vllm, scheme: https}":               {"", true},
		"servers: ['https://h'], service: {name: vllm}":      {"", true},
		"servers: ['http://h'], service: {name: 1-digit-is}": {"", false},
		"inference_pool: {name: vllm.v1, namespace: models}": {"", false},
	} {
		c, err := Parse("test", []byte("models: [{name: m, pool: p}]\npools: [{name: p, "+settings+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Pool("p"); p.Service.Port != want.port || p.TLS != want.tls {
			t.Errorf("%s: the port %q, TLS %v", settings, p.Service.Port, p.TLS)
		}
	}
}
