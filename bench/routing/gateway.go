package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/controlplane/picker"
)

const (
	model = "gpt-oss-120b"
	// conversationHeader has the name of a request's conversation. Only the policy session looks at it.
	conversationHeader = "x-conversation"
)

// policy is what a pool of the configuration has.
type policy struct {
	name, settings string
	picker         bool
}

var policies = []policy{
	{name: "round robin", settings: "policy: round_robin"},
	{name: "least request", settings: "policy: least_request"},
	{name: "session", settings: "policy: session\n    session: { header: " + conversationHeader + " }"},
	{name: "prefix", settings: "policy: prefix"},
	{name: "picker", settings: "policy: picker\n    picker: { url: http://%s, fallback: prefix }", picker: true},
}

// start starts new servers and a gateway with a policy.
func (b *bench) start(ctx context.Context, p policy) (*stand.Stand, error) {
	o := stand.Options{Servers: b.options.servers, Server: b.options.server,
		Configuration: func(servers []string, picker string) (string, error) {
			settings := p.settings
			if p.picker {
				settings = fmt.Sprintf(settings, picker)
			}
			return fmt.Sprintf(`models:
  - name: %s
    pool: pool
    system: { date: "%s" }
pools:
  - name: pool
    servers: [%s]
    health: { path: none }
    %s
`, model, workload.Date, strings.Join(servers, ", "), settings), nil
		}}
	if p.picker {
		o.Picker = &picker.Options{BlocksPerServer: b.options.server.CacheBlocks - 1, Balance: b.options.balance}
	}
	return stand.Start(ctx, o)
}
