package picker

import (
	"errors"
	"io"
	"testing"
	"time"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// queueing serves a picker with a queue.
func queueing(t *testing.T, o QueueOptions, n int) *running {
	t.Helper()
	s := serve(t, map[string][]Server{"p": servers(n)})
	s.picker.SetQueues(map[string]QueueOptions{"p": o})
	return s
}

func costly(client string, more ...string) *procv3.ProcessingRequest {
	return requestOf(headersOf(append([]string{contract.CostHeader, "10 10 100 " + client}, more...)...))
}

func (s *running) queued() (n int) {
	for _, c := range s.picker.status()["p"].queue.Classes {
		n += c.Requests
	}
	return n
}

// TestWaits: over gRPC, a request that waits asks Envoy for more time, and is answered when there is room.
func TestWaits(t *testing.T) {
	s := queueing(t, oneClass(1), 1)
	first := s.open(t, "p")
	if a := exchange(t, first, costly("a")); destinations(t, a) == nil {
		t.Fatalf("got %v", a)
	}
	second := s.open(t, "p")
	if a := exchange(t, second, costly("a")); a.GetResponse() != nil ||
		a.GetOverrideMessageTimeout().AsDuration() != 12*time.Second {
		t.Fatalf("got %v", a)
	}
	if s.queued() != 1 {
		t.Errorf("%d wait", s.queued())
	}
	// A request without a cost is no request for an answer: it does not wait.
	if a := exchange(t, s.open(t, "p"), requestOf(headersOf())); destinations(t, a) == nil {
		t.Errorf("got %v", a)
	}
	if err := first.CloseSend(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other has ended", func() bool { return s.requests("p") <= 2 })
	s.stopOthers(t, second)
}

// stopOthers waits until a request that waits is admitted, after its place has become free.
func (s *running) stopOthers(t *testing.T, waiting procv3.ExternalProcessor_ProcessClient) {
	t.Helper()
	s.picker.SetQueues(map[string]QueueOptions{"p": oneClass(3)})
	a, err := waiting.Recv()
	if err != nil || destinations(t, a) == nil {
		t.Fatalf("got %v, %v", a, err)
	}
	own := a.GetDynamicMetadata().GetFields()[protocol.OwnNamespace].GetStructValue().GetFields()
	if own[protocol.ClassKey].GetStringValue() != "all" || own[protocol.QueuedKey] == nil ||
		own[protocol.ReasonKey] == nil {
		t.Errorf("the metadata has %v", own)
	}
	// It goes on as any other.
	exchange(t, waiting, &procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: headersOf(":status", "200")}})
}

// TestWaitingClientLeaves: Envoy ends the stream of a client that has left, by a reset or by its own end.
func TestWaitingClientLeaves(t *testing.T) {
	s := queueing(t, oneClass(1), 1)
	exchange(t, s.open(t, "p"), costly("a"))
	ended := s.open(t, "p")
	exchange(t, ended, costly("a"))
	if err := ended.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := ended.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the queue is empty", func() bool { return s.queued() == 0 })
	if n := s.picker.status()["p"].queue.Classes[0].Ended["left"]; n != 1 {
		t.Errorf("%d have left", n)
	}
	rude := s.open(t, "p")
	exchange(t, rude, costly("a"))
	if err := rude.Send(costly("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := rude.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
	eventually(t, "the queue is empty", func() bool { return s.queued() == 0 })
	stopped := s.open(t, "p")
	exchange(t, stopped, costly("a"))
	s.stop()
	if _, err := stopped.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestRefusedOverGRPC: what Envoy gets for a request that is refused.
func TestRefusedOverGRPC(t *testing.T) {
	o := oneClass(1)
	o.All, o.Client = queue.Limits{Requests: 2}, queue.Limits{Requests: 1}
	s := queueing(t, o, 1)
	exchange(t, s.open(t, "p"), costly("a"))
	exchange(t, s.open(t, "p"), costly("a"))
	refused := func(a *procv3.ProcessingResponse, code int32, details string) {
		t.Helper()
		r := a.GetImmediateResponse()
		set := r.GetHeaders().GetSetHeaders()
		if int32(r.GetStatus().GetCode()) != code || r.GetDetails() != details || len(set) != 1 ||
			set[0].GetHeader().GetKey() != "retry-after" || len(set[0].GetHeader().GetRawValue()) == 0 {
			t.Errorf("got %v", a)
		}
	}
	refused(exchange(t, s.open(t, "p"), costly("a")), 429, contract.QueueShare)
	exchange(t, s.open(t, "p"), costly("b"))
	refused(exchange(t, s.open(t, "p"), costly("c")), 429, contract.QueueFull)
	late := s.open(t, "p")
	s.picker.SetQueues(map[string]QueueOptions{"p": oneClass(1)})
	if a := exchange(t, late, costly("d", timeoutHeader, "50ms")); a.GetOverrideMessageTimeout() == nil {
		t.Fatalf("got %v", a)
	}
	a, err := late.Recv()
	if err != nil {
		t.Fatal(err)
	}
	refused(a, 429, contract.QueueLate)
	o = oneClass(1)
	o.Hold = 50 * time.Millisecond
	s.picker.SetQueues(map[string]QueueOptions{"p": o})
	s.picker.Set(map[string][]Server{"p": nil})
	none := s.open(t, "p")
	exchange(t, none, costly("e"))
	if a, err = none.Recv(); err != nil {
		t.Fatal(err)
	}
	refused(a, 503, contract.QueueUnserved)
}
