package ads

import (
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// turnLimit is how long an Envoy may take to answer before the next one gets its turn. It is less than Envoy's default
// for how long a listener waits for its configuration, so one that starts behind others that hang still gets its own.
const turnLimit = 3 * time.Second

// mustWait reports whether a response of this type has to wait for another Envoy's answer. If it need not, the turn is
// this stream's until the Envoy has answered.
func (st *stream) mustWait(t resource.Type) bool {
	s := st.server
	if t != resource.ExtensionConfigType || s.maxTurns == 0 || s.turns[st] != nil {
		return false
	}
	if len(s.turns) >= s.maxTurns {
		return true
	}
	var timer *time.Timer
	timer = time.AfterFunc(turnLimit, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turns[st] == timer {
			s.endTurn(st)
		}
	})
	s.turns[st] = timer
	return false
}

// endTurn ends a stream's turn, if it has one, and sends to streams that have waited for it.
func (s *Server) endTurn(st *stream) {
	timer := s.turns[st]
	if timer == nil {
		return
	}
	timer.Stop()
	delete(s.turns, st)
	for other := range s.streams {
		if other != st && len(s.turns) < s.maxTurns {
			other.push()
		}
	}
}
