//go:build !tinygo

package chatserver

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRewrittenBounds checks that the largest requests are copied once, and that nothing is kept for each message.
func TestRewrittenBounds(t *testing.T) {
	const mib = 1 << 20
	c := &Changes{
		Model: "M", Stream: true, TokenIDs: true, ExtraBody: `{"top_k":5}`,
		Chat: &contract.ChatServers{TemplateKwargs: `{"a":1}`},
	}
	for name, body := range map[string]string{
		"text":     `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat(`a\n`, 5*mib) + `"}]}`,
		"messages": `{"model":"m","messages":[` + strings.Repeat(`{"role":"developer","content":"d"},`, 200_000) + `1]}`,
		"members":  `{` + strings.Repeat(`"x":1,`, mib/4) + `"model":"m"}`,
		"roles":    `{"model":"m","messages":[{` + strings.Repeat(`"role":"developer",`, 200_000) + `"x":1}]}`,
		"template": `{"model":"m","chat_template_kwargs":{` + strings.Repeat(`"x":1,`, mib/4) + `"b":1}}`,
	} {
		in := []byte(body)
		var out []byte
		allocations := testing.AllocsPerRun(1, func() { out, _ = AppendRewritten(nil, in, c) })
		if allocations > 20 || len(out) > len(in)+512 || cap(out) > len(in)+1024 {
			t.Errorf("%s: %v allocations for %d bytes, which become %d in %d", name, allocations, len(in), len(out), cap(out))
		}
	}
}
