package config

import (
	"net/netip"
	"strings"
	"testing"
)

// TestDrain: what is drained is a server of the pool, as far as the configuration names them all.
func TestDrain(t *testing.T) {
	for pool, want := range map[string]string{
		"servers: ['http://10.0.0.7:8000', 'http://10.0.0.8:8000'], drain: ['http://10.0.0.8:8000']": "",
		"servers: ['http://10.0.0.7:8000'], drain: ['http://10.0.0.8:8000']": "pools[0].drain[0]: http://10.0.0.8:8000 is " +
			"no server of the pool; write it as servers has it",
		"servers: ['http://gpus:8000'], drain: ['http://10.0.0.8:8000']":                             "",
		"servers_file: list.yaml, drain: ['http://gpu7:8000']":                                       "",
		"servers: ['http://10.0.0.7:8000'], drain: ['10.0.0.7:8000']":                                "pools[0].drain[0]: ",
		"servers: ['http://10.0.0.7:8000'], drain: ['http://10.0.0.7:8000', 'http://10.0.0.7:8000']": "pools[0].drain[1]: http://10.0.0.7:8000 is listed twice",
	} {
		c, err := Parse("h.yaml", []byte("models: [{ name: m, pool: p }]\npools: [{ name: p, "+pool+" }]\n"))
		var r *Resolved
		if err == nil {
			r, err = c.Resolve()
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", pool, got, want)
		}
		if err == nil && len(r.Pools[0].Drained) != 1 {
			t.Errorf("%s: %v", pool, r.Pools[0].Drained)
		}
	}
}

// TestIsDrained: a server is drained by its name, with all its addresses, or by one of them.
func TestIsDrained(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.7:8000")
	name := Endpoint{Host: "gpus", Port: 8000}
	for text, want := range map[string]bool{"http://gpus:8000": true, "http://10.0.0.7:8000": true, "http://gpus:8001": false,
		"http://10.0.0.8:8000": false, "http://10.0.0.7:8001": false, "https://gpus:8000": false} {
		e, err := ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsDrained([]Endpoint{{Host: "other", Port: 1}, e}, name, at); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
