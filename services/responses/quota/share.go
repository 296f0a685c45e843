package quota

import (
	"errors"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Copies is how many copies of a text there may be at once: as it was read, as items, as they are stored, and as they
// are sent.
const Copies = 6

// Share is what one request has of the memory for requests: [Copies] of each text, and what the values of its body take
// (the package items weighs them). The rest of a request is small, and the number of requests limits it.
type Share struct {
	Of     *Pool
	Tenant store.Tenant
	taken  int64
	// Insists reports whether nothing is refused: the model has been asked, and its client waits elsewhere.
	Insists bool
}

// ErrNoMemory means that other requests have taken what there is.
var ErrNoMemory = errors.New("no memory is left for another request")

// Take takes memory for a text of a size, before it is read.
func (s *Share) Take(size int64) error { return s.Hold(Copies * size) }

// Give gives back the memory of a text that has turned out to be smaller.
func (s *Share) Give(size int64) { s.Drop(Copies * size) }

// Hold takes bytes of memory.
func (s *Share) Hold(bytes int64) error {
	if s == nil {
		return nil
	}
	if s.Insists {
		s.HoldAnyway(bytes)
		return nil
	}
	if s.Of.Take(s.Tenant, bytes) != Granted {
		return ErrNoMemory
	}
	s.taken += bytes
	return nil
}

// Drop gives bytes of memory back.
func (s *Share) Drop(bytes int64) {
	if s == nil {
		return
	}
	s.Of.Give(s.Tenant, bytes)
	s.taken -= bytes
}

// Keep gives back what a request has taken beside so many bytes, which are all that is left of it.
func (s *Share) Keep(bytes int64) {
	if s.taken > bytes {
		s.Drop(s.taken - bytes)
	}
}

// Release gives back everything.
func (s *Share) Release() {
	s.Of.Give(s.Tenant, s.taken)
	s.taken = 0
}

// HoldAnyway takes bytes of memory, also if there are none left: for what is there already.
func (s *Share) HoldAnyway(bytes int64) {
	s.Of.Give(s.Tenant, -bytes)
	s.taken += bytes
}
