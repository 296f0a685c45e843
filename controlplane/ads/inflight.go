package ads

import (
	"slices"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Configurations of extensions may be large, because the filter's own code can be in them. These limits bound what they
// take of the server while Envoys have not answered. They apply where [Options.MaxInFlight] is set.
const (
	// slotTime is how long an Envoy may take to answer before the next one gets its slot.
	slotTime = 3 * time.Second
	// answerTimeout is how long an Envoy may take to answer before its stream ends. Until then gRPC may hold what the
	// Envoy has not read.
	answerTimeout = 30 * time.Second
	// sendInterval is the shortest time between two responses to one stream. Responses that an Envoy asks for again at
	// once would otherwise be made as fast as it asks.
	sendInterval = 250 * time.Millisecond
)

// flight is what a stream has to do with the slots for configurations of extensions.
type flight struct {
	sent    time.Time   // when the last response was sent; zero if there was none
	slot    *time.Timer // ends the slot, then the stream; nil if nothing is in flight
	retry   *time.Timer // sends what had to wait for sendInterval; nil if nothing has
	waiting bool        // the stream is in Server.waiting
	counted bool        // the slot counts in Server.inFlight
}

// mustWait reports whether a response of this type has to wait. If it need not, it takes a slot, which is this stream's
// until the Envoy has answered or slotTime is over.
func (st *stream) mustWait(t resource.Type) bool {
	s, f := st.server, &st.flight
	if t != resource.ExtensionConfigType || s.maxInFlight == 0 {
		return false
	}
	if f.slot != nil || f.retry != nil || f.waiting {
		return true // the answer, the timer or a free slot sends it
	}
	if early := sendInterval - time.Since(f.sent); early > 0 {
		f.retry = time.AfterFunc(early, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			f.retry = nil
			if _, connected := s.streams[st]; connected {
				st.push()
			}
		})
		return true
	}
	if s.inFlight >= s.maxInFlight {
		f.waiting = true
		s.waiting = append(s.waiting, st)
		return true
	}
	s.inFlight++
	f.sent = time.Now()
	sent := f.sent
	f.slot = time.AfterFunc(s.slotTime, func() { st.passSlot(sent) })
	f.counted = true
	return false
}

// passSlot gives the slot of an Envoy that has not answered to the next one, and ends its stream if it does not answer
// later either.
func (st *stream) passSlot(sent time.Time) {
	s := st.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.flight.slot == nil || st.flight.sent != sent {
		return // it has answered meanwhile
	}
	st.flight.slot = time.AfterFunc(s.answerTimeout-s.slotTime, func() {
		st.end(status.Errorf(codes.DeadlineExceeded, "ads: no answer to an extension's configuration within %s",
			s.answerTimeout))
	})
	st.freeSlot()
}

// landed notes that the Envoy has answered everything.
func (st *stream) landed() {
	if st.flight.slot != nil {
		st.flight.slot.Stop()
		st.flight.slot = nil
	}
	st.freeSlot()
}

// leave gives back what a stream that ends has of the slots.
func (st *stream) leave() {
	f := &st.flight
	if f.retry != nil {
		f.retry.Stop()
	}
	st.server.waiting = slices.DeleteFunc(st.server.waiting, func(other *stream) bool { return other == st })
	st.landed()
}

// freeSlot ends the stream's slot, if it has one, and sends to those that have waited longest.
func (st *stream) freeSlot() {
	s := st.server
	if !st.flight.counted {
		return
	}
	st.flight.counted = false
	s.inFlight--
	for s.inFlight < s.maxInFlight && len(s.waiting) > 0 {
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		next.flight.waiting = false
		next.push()
	}
}
