package responses

import (
	"errors"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// copies is how many copies of a text there may be at once: as it was read, as items, as they are stored, and as they
// are sent.
const copies = 6

// share is what one request has of the memory for requests: [copies] of each text, and what the values of its body take
// ([weigh]). What a request takes beside those is small, and [Settings.InFlight] limits it.
type share struct {
	of     *quota
	tenant store.Tenant
	taken  int64
	// insists reports whether nothing is refused: the model has been asked, and its client waits elsewhere.
	insists bool
}

// errNoMemory means that other requests have taken what there is.
var errNoMemory = errors.New("no memory is left for another request")

// take takes memory for a text of a size, before it is read.
func (s *share) take(size int64) error { return s.hold(copies * size) }

// give gives back the memory of a text that has turned out to be smaller.
func (s *share) give(size int64) { s.drop(copies * size) }

// hold takes bytes of memory.
func (s *share) hold(bytes int64) error {
	if s == nil {
		return nil
	}
	if s.insists {
		s.holdAnyway(bytes)
		return nil
	}
	if s.of.take(s.tenant, bytes) != granted {
		return errNoMemory
	}
	s.taken += bytes
	return nil
}

// drop gives bytes of memory back.
func (s *share) drop(bytes int64) {
	if s == nil {
		return
	}
	s.of.give(s.tenant, bytes)
	s.taken -= bytes
}

// keep gives back what a request has taken beside so many bytes, which are all that is left of it.
func (s *share) keep(bytes int64) {
	if s.taken > bytes {
		s.drop(s.taken - bytes)
	}
}

// weigh takes the memory for the values of a body, before anything of it is decoded.
func (s *share) weigh(body []byte) *openai.Error {
	bytes, failure := weigh(body)
	if failure == nil && s.hold(bytes) != nil {
		failure = errOverloaded("no memory for another request now")
	}
	return failure
}

// release gives back everything.
func (s *share) release() {
	s.of.give(s.tenant, s.taken)
	s.taken = 0
}

// holdAnyway takes bytes of memory, also if there are none left: for what is there already.
func (s *share) holdAnyway(bytes int64) {
	s.of.give(s.tenant, -bytes)
	s.taken += bytes
}

// within returns a limit of what is read from the store for a request: it may not be larger than a request's body, and
// there must be memory for it.
func (c *caller) within() store.Limit {
	atMost := store.AtMost(c.settings.BodyLimit)
	return func(bytes int64) error {
		if err := atMost(bytes); err != nil {
			return err
		}
		return c.share.take(bytes)
	}
}

func errOverloaded(what string) *openai.Error {
	return &openai.Error{Status: http.StatusServiceUnavailable, Type: contract.ServerErrorType, Code: codeServiceOverloaded,
		Message: "The responses service has " + what + ". Try again."}
}
