package store

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/services/responses/egress"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// FuzzToolPlaces checks that the service takes every place and every server that the file may name.
func FuzzToolPlaces(f *testing.F) {
	for _, seed := range []struct{ url, place string }{
		{"http://127.0.0.1:8001/mcp", "mcp.example.com"}, {"https://h/@scope/mcp?key=1", "*.Example.org"},
		{"http://[::1]:1", "http://10.0.0.5:8001"}, {"http://h/\\", "10.0.0.0/8"}, {"HTTP://H", "HTTPS://[fd00::1]"},
		{"http://h:65536", "*"}, {"http://0x7f.1", "h.0x7f"}, {"http://h/a b", "::ffff:10.0.0.1"}, {"http://h", "::1"},
	} {
		f.Add(seed.url, seed.place)
	}
	f.Fuzz(func(t *testing.T, url, place string) {
		c := config.Default()
		c.Models = []config.Model{config.DefaultModel("m", "vllm=http://h:1")}
		c.ResponsesService.Store = "r.db"
		c.ResponsesService.Tools = config.Tools{Allow: []string{place}, Servers: []config.ToolServer{{Label: "a", URL: url}}}
		if c.Validate() != nil {
			return
		}
		o, err := toolOptions(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := egress.NewGuard(o.Allow); err != nil {
			t.Errorf("the place %q: %v", place, err)
		}
		if err := (&toolserver.Server{Label: "a", URL: o.Servers[0].URL}).Validate(); err != nil {
			t.Errorf("the URL %q: %v", url, err)
		}
	})
}
