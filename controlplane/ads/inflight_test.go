package ads

import (
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
)

// extensionResources returns the resources of a test with an extension.
func extensionResources(t *testing.T, content string) Resources {
	r := testResources(t, 1, "a")
	r[resource.ExtensionConfigType] = append(r[resource.ExtensionConfigType], extensionWith(t, content))
	return r
}

// serveOneAtOnce returns a server that sends one extension at once, and its address.
func serveOneAtOnce(t *testing.T, adjust func(*Server)) (*Server, string) {
	t.Helper()
	s := New(Options{MaxInFlight: 1})
	if adjust != nil {
		adjust(s)
	}
	set(t, s, extensionResources(t, "one"))
	return s, serve(t, s)
}

// TestInFlight checks that an Envoy waits while as many as are allowed have not answered. A slot is free again after an
// answer, accepting or refusing, and after the end of the connection.
func TestInFlight(t *testing.T) {
	for name, end := range map[string]func(first *client){
		"accepted": func(first *client) { first.ack(first.receive(resource.ExtensionConfigType)) },
		"refused":  func(first *client) { first.nack(first.receive(resource.ExtensionConfigType), "no") },
		"gone":     func(first *client) { first.close() },
	} {
		t.Run(name, func(t *testing.T) {
			s, address := serveOneAtOnce(t, func(s *Server) { s.slotTime, s.answerTimeout = time.Hour, 2*time.Hour })
			first, second := connect(t, address, "first"), connect(t, address, "second")
			first.subscribe(resource.ExtensionConfigType, "filter")
			eventually(t, s, "the first has the slot", func(all []Envoy) bool { return len(all) == 1 })
			second.subscribe(resource.ExtensionConfigType, "filter")
			second.expectNothing()
			end(first)
			second.expectAndAck(resource.ExtensionConfigType, "filter")
		})
	}
}

// TestFirstComeFirstServed checks that those that wait get their slots in the order in which they came.
func TestFirstComeFirstServed(t *testing.T) {
	s, address := serveOneAtOnce(t, func(s *Server) { s.slotTime, s.answerTimeout = time.Hour, 2*time.Hour })
	var all []*client
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		c := connect(t, address, id)
		c.subscribe(resource.ExtensionConfigType, "filter")
		eventually(t, s, "connected", func(all []Envoy) bool { return len(all) == i+1 })
		all = append(all, c)
	}
	for _, c := range all {
		c.expectAndAck(resource.ExtensionConfigType, "filter") // the others have nothing before this answer
	}
}

// TestSlotOfOneThatHangs checks that an Envoy that does not answer keeps the others waiting for a while alone, and loses
// its stream after a longer while.
func TestSlotOfOneThatHangs(t *testing.T) {
	s, address := serveOneAtOnce(t, func(s *Server) { s.slotTime, s.answerTimeout = 300*time.Millisecond, 3*time.Second })
	hangs, waits := connect(t, address, "hangs"), connect(t, address, "waits")
	began := time.Now()
	hangs.subscribe(resource.ExtensionConfigType, "filter")
	hangs.receive(resource.ExtensionConfigType)
	waits.subscribe(resource.ExtensionConfigType, "filter")
	waits.expectAndAck(resource.ExtensionConfigType, "filter")
	if waited := time.Since(began); waited < s.slotTime {
		t.Errorf("it waited for %s, want at least %s", waited, s.slotTime)
	}
	hangs.expectRefusal(codes.DeadlineExceeded, "no answer to an extension's configuration within 3s")
	eventually(t, s, "one is left", func(all []Envoy) bool { return len(all) == 1 && all[0].ID == "waits" })
}

// TestLateAnswer checks that an Envoy may answer after its slot was given to another.
func TestLateAnswer(t *testing.T) {
	s, address := serveOneAtOnce(t, func(s *Server) { s.slotTime = 10 * time.Millisecond })
	late, other := connect(t, address, "late"), connect(t, address, "other")
	late.subscribe(resource.ExtensionConfigType, "filter")
	r := late.receive(resource.ExtensionConfigType)
	other.subscribe(resource.ExtensionConfigType, "filter")
	other.expectAndAck(resource.ExtensionConfigType, "filter")
	late.ack(r)
	eventually(t, s, "both hold it", func(all []Envoy) bool {
		return len(all) == 2 && all[0].Types["extensions"].Current && all[1].Types["extensions"].Current
	})
}

// TestAskingAgainAndAgain checks that a peer that asks again before it has answered gets nothing more, and that one that
// answers and asks again at once does not get everything as fast as it asks.
func TestAskingAgainAndAgain(t *testing.T) {
	s, address := serveOneAtOnce(t, nil)
	c := connect(t, address, "rude")
	for range 200 {
		c.subscribe(resource.ExtensionConfigType, "filter")
	}
	r := c.receive(resource.ExtensionConfigType)
	c.expectNothing()
	if sent := s.Counts()["extensions"].Sent; sent != 1 {
		t.Errorf("%d responses were sent, want 1", sent)
	}
	began := time.Now()
	for range 3 {
		c.ack(r)
		c.subscribe(resource.ExtensionConfigType, "filter")
		r = c.receive(resource.ExtensionConfigType)
	}
	if took := time.Since(began); took < 2*sendInterval {
		t.Errorf("3 responses took %s, want at least %s", took, 2*sendInterval)
	}
}

// TestUnansweredContentIsNotKept checks that the server keeps nothing of the content of a response that it has sent.
func TestUnansweredContentIsNotKept(t *testing.T) {
	s, address := serveOneAtOnce(t, nil)
	c := connect(t, address, "reads")
	c.subscribe(resource.ExtensionConfigType, "filter")
	if r := c.receive(resource.ExtensionConfigType); len(r.GetResources()) != 1 {
		t.Fatalf("got %v", names(r))
	}
	c.subscribe(resource.ListenerType) // its answer is sent after the first was dropped
	c.receive(resource.ListenerType)
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		for _, f := range st.types[resource.ExtensionConfigType].unanswered {
			if len(f.response.GetResources()) != 0 {
				t.Error("the content is kept")
			}
		}
	}
}
