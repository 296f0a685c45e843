//go:build e2e

package agents_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestMemoryGivesWay: a VM whose heap is full of prefixes refuses no request that it would take without them, and is not
// ended for them. They are given up first.
func TestMemoryGivesWay(t *testing.T) {
	const body, memory, streams = 256 << 10, 32 << 20, 250
	c := settings("http://127.0.0.1:1", memory)
	c.BodyLimit, c.MemoryLimit = body, config.Size(contract.MinMemoryLimit(body))
	c.Models[0].ContextLength = contract.MaxContextLength
	host := filtertest.New(t, lab.Tool(t, "HARMONY_WASM"), string(filterconfig.AppendJSON(nil, c.Filter())))
	send := func(text string) *filtertest.Exchange {
		return host.Request(http.MethodPost, contract.ChatPath, `{"model":"`+lab.Model+`","messages":[{"role":"user",`+text+
			`}]}`, "content-type", "application/json")
	}
	taken := func(x *filtertest.Exchange) bool { return x.Server().State != filtertest.Nothing }
	session := 0
	fill := func() {
		t.Helper()
		for range 70 {
			session++
			x := send(fmt.Sprintf(`"content":"%d%s"},{"role":"user","content":"?"`, session, strings.Repeat(" a", 120_000)))
			if !taken(x) {
				t.Fatalf("session %d: %s", session, x.Client())
			}
			x.ClientLeaves()
		}
	}
	remembered := func() uint64 {
		host.Advance(time.Second)
		return host.Metrics()["harmony_prefix_memory_bytes"]
	}
	fill()
	if n := remembered(); n < memory*3/4 {
		t.Fatalf("%d bytes are remembered", n)
	}
	large := `"content":"U","x":[0` + strings.Repeat(",0", 120_000) + `]`
	if x := send(large); !taken(x) {
		t.Errorf("a large request is refused: %s", x.Client())
	} else {
		x.ClientLeaves()
	}
	if n := remembered(); n > memory/4 {
		t.Errorf("%d bytes are still remembered", n)
	}
	// A VM that refuses a request while it has many streams is full again of prefixes when it has none.
	var open []*filtertest.Exchange
	for range streams {
		x := send(`"content":"U"`)
		x.BeginResponse(http.StatusOK, "content-type", "text/event-stream")
		x.SendResponse("data: " + strings.Repeat("x", 100_000)) // an event that has not ended
		open = append(open, x)
	}
	if x := send(large); taken(x) {
		t.Fatalf("%d streams leave room", streams)
	}
	for _, x := range open {
		x.ClientLeaves()
	}
	fill()
	host.Advance(time.Second)
	if s := host.Stats(); s.Failed || s.Reloads > 0 {
		t.Errorf("the VM was ended: %+v, %v", s, host.Logs())
	}
}
