//go:build e2e

package soak

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/bodytest"
)

// toolLabel is the operator's server of tools, and toolMembers begin a request to Messages that uses it.
const (
	toolLabel   = "t"
	toolMembers = `"model":"m","max_tokens":500,"tools":[{"type":"mcp_toolset","mcp_server_name":"` + toolLabel + `"}],`
)

// TestSoakServiceMessages attacks the responses service's own Messages, as TestSoakService does its other paths. When
// all clients have left, no request may hold memory.
func TestSoakServiceMessages(t *testing.T) {
	for name, attack := range map[string]func(*serviceUnderAttack){
		"bodies":  (*serviceUnderAttack).messageBodies,
		"values":  (*serviceUnderAttack).manyValues,
		"readers": (*serviceUnderAttack).messageReaders,
	} {
		t.Run(name, func(t *testing.T) {
			s := startServiceWith(t, "  tools: { servers: [{ label: "+toolLabel+", url: "+
				strconv.Quote(toolservers.Rude(t, toolservers.Hangs).Streamable())+" }] }\nbody_limit: 24MiB\n"+
				"memory_limit: 448MiB\n")
			attack(s)
			s.returnsMemory()
		})
	}
	for _, manner := range []toolservers.Manner{toolservers.Floods, toolservers.ManyTools, toolservers.ListsForever,
		toolservers.Dies, toolservers.HangsListing} {
		t.Run("tools/"+string(manner), func(t *testing.T) {
			server := toolservers.Rude(t, manner)
			s := startServiceWith(t, "  tools: { time: 5s, call_time: 2s, servers: [{ label: "+toolLabel+", url: "+
				strconv.Quote(server.Streamable())+" }] }\n")
			s.calls = true
			s.peakOf(string(manner), func() { s.manyMessages(sized(20, 200), `"stream":true`) })
			s.returnsMemory()
		})
	}
}

// messageBodies sends each family of bodies, each many times at once: as long as a body may be by default.
func (s *serviceUnderAttack) messageBodies() {
	few := sized(1, 0) == 1
	for name, body := range bodytest.Bodies(toolMembers, "messages", attackSize) {
		if !few || name == "numbers" || name == "text parts" || name == "one message" {
			s.peakOf(name, func() { s.bodies(lab.MessagesPath, body) })
		}
	}
}

// manyValues sends ten million values in a body.
func (s *serviceUnderAttack) manyValues() {
	body := `{` + toolMembers + `"messages":[` + strings.Repeat("1,", 10_000_000) + `1]}`
	// The service leaves it to the gateway to refuse it: it does not read so many values.
	s.peakOf("ten million values", func() { s.post(lab.MessagesPath, body) })
	blocks := `{` + toolMembers + `"messages":[{"role":"user","content":[` +
		strings.Repeat(`{"type":"text","text":""},`, 800_000) + `{"type":"text","text":""}]}]}`
	s.peakOf("800,000 blocks", func() { s.post(lab.MessagesPath, blocks) })
}

// messageReaders asks for long answers and reads nothing of them but their heads.
func (s *serviceUnderAttack) messageReaders() {
	attack := func(many int, stream string) {
		s.peakOf(fmt.Sprintf("%d that do not read a message, stream:%s", many, stream), func() {
			s.text = strings.Repeat("x", 6<<20)
			s.t.Logf("statuses: %v", s.stalled(http.MethodPost, lab.MessagesPath, `{"stream":`+stream+`,`+toolMembers+
				`"messages":[{"role":"user","content":"Hi"}]}`, many))
			s.text = "Hello."
		})
	}
	attack(100, "true")
	attack(sized(5, 100), "false")
}

// manyMessages asks many times at once, and wants an answer of the API each time.
func (s *serviceUnderAttack) manyMessages(many int, members string) {
	body := `{` + toolMembers + members + `,"messages":[{"role":"user","content":"Hi"}]}`
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			response, err := http.Post(s.url+lab.MessagesPath, "application/json", strings.NewReader(body))
			if err != nil {
				s.t.Error(err)
				return
			}
			defer response.Body.Close()
			said, err := io.ReadAll(response.Body)
			if got := lab.Read(string(said)); err != nil || !got.Last || got.Text != s.text && got.Failure == "" {
				s.t.Errorf("%d %v %.500s", response.StatusCode, err, said)
			}
		})
	}
	all.Wait()
}

// returnsMemory waits until no request holds memory of the service.
func (s *serviceUnderAttack) returnsMemory() {
	s.t.Helper()
	const gauge = "\nharmony_responses_memory_bytes "
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text := lab.Do(http.DefaultClient, http.MethodGet, s.status+"/metrics", nil, nil).Body
		_, value, found := strings.Cut(text, gauge)
		value, _, _ = strings.Cut(value, "\n")
		if value == "0" {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("requests hold %q bytes (%t)", value, found)
		}
	}
}
