package responses

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/relay"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// caller returns who sends a request with these headers, which it makes the client's.
func (s *Service) caller(headers http.Header) *input.Caller {
	now, value := s.settings(), ""
	if now.TenantHeader != "" {
		value = headers.Get(now.TenantHeader)
	}
	value = contract.Tenant(now.Adopt(headers), value)
	tenant := store.TenantOf(value)
	return &input.Caller{Settings: now, Tenant: tenant, TenantValue: value, Headers: headers,
		Share: &quota.Share{Of: s.memory, Tenant: tenant}}
}

// handler answers a request. It returns an error if it has written nothing.
type handler func(http.ResponseWriter, *http.Request, *input.Caller) *openai.Error

// storeHandler is a handler of what is stored.
type storeHandler func(http.ResponseWriter, *http.Request, *input.Caller, *store.Store) *openai.Error

// Handler returns the handler of the API's paths.
func (s *Service) Handler() http.Handler {
	const one, conversations = contract.ResponsesPath + "/{id}", contract.ConversationsPath
	mux := http.NewServeMux()
	serve := func(pattern string, handle handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, handle) })
	}
	for pattern, handle := range map[string]handler{
		"POST " + contract.ResponsesPath:   s.createResponse,
		"POST " + contract.CompactPath:     s.createCompaction,
		"POST " + contract.InputTokensPath: s.countInput,
		"POST " + contract.ChatPath:        s.relayed(relay.Chat),
		"POST " + contract.MessagesPath:    s.createMessage,
		"POST " + contract.CountTokensPath: s.countMessage,
		"/":                                unknownURL,
	} {
		serve(pattern, handle)
	}
	for pattern, handle := range map[string]storeHandler{
		"GET " + one:                  s.getResponse,
		"DELETE " + one:               s.deleteResponse,
		"POST " + one + "/cancel":     s.cancelResponse,
		"GET " + one + "/input_items": s.listInputItems,

		"POST " + conversations:                          s.createConversation,
		"GET " + conversations + "/{id}":                 s.getConversation,
		"POST " + conversations + "/{id}":                s.updateConversation,
		"DELETE " + conversations + "/{id}":              s.deleteConversation,
		"GET " + conversations + "/{id}/items":           s.listItems,
		"POST " + conversations + "/{id}/items":          s.addItems,
		"GET " + conversations + "/{id}/items/{item}":    s.getItem,
		"DELETE " + conversations + "/{id}/items/{item}": s.deleteItem,
	} {
		serve(pattern, func(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
			st, failure := s.stored()
			if failure != nil {
				return failure
			}
			return handle(w, r, c, st)
		})
	}
	mux.HandleFunc("GET "+contract.ServiceReadyPath, s.ServeReady)
	mux.HandleFunc("GET "+contract.ResponsesPath, s.connect)
	return mux
}

func unknownURL(_ http.ResponseWriter, r *http.Request, _ *input.Caller) *openai.Error {
	return &openai.Error{Status: http.StatusNotFound, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: "Unknown request URL: " + r.Method + " " + openai.Clip(r.URL.Path, refusal.MaxQuoted) + "."}
}

// serve calls a handler, if there is room for another request.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, handle handler) {
	c := s.caller(r.Header)
	s.watched(w, r, c, func(w http.ResponseWriter, r *http.Request) {
		leave, failure := s.enter(c)
		defer leave()
		if failure == nil {
			failure = handle(w, r, c)
		}
		if failure != nil {
			writeErrorFor(w, r, failure)
		}
	})
}

// enter counts a request until leave is called. It returns an error if there are too many.
func (s *Service) enter(c *input.Caller) (leave func(), failure *openai.Error) {
	switch s.inFlight.Take(c.Tenant, 1) {
	case quota.Exhausted:
		return func() {}, refusal.Overloaded("too many requests now")
	case quota.TenantExhausted:
		return func() {}, refusal.Overloaded("too many requests of yours now")
	}
	return func() {
		c.Share.Release()
		s.inFlight.Give(c.Tenant, 1)
	}, nil
}

// bodyTimeout is how long a body may take to arrive. The gateway has held most of them until they were whole.
const bodyTimeout = time.Minute

// body reads the body of a request, if there is memory for it and for what its values take.
func (s *Service) body(w http.ResponseWriter, r *http.Request, c *input.Caller) ([]byte, *openai.Error) {
	body, failure := s.readBody(w, r, c, quota.Copies)
	if failure == nil && len(body) > 0 { // a request about a conversation may have none
		failure = c.PayFor(body)
	}
	return body, failure
}

// readBody reads the body of a request, if there is memory for so many copies of it.
func (s *Service) readBody(w http.ResponseWriter, r *http.Request, c *input.Caller, copies int64) ([]byte,
	*openai.Error) {
	size, limit := r.ContentLength, c.Settings.BodyLimit
	if size > limit {
		return nil, refusal.TooLarge(limit)
	}
	if size < 0 {
		size = limit
	}
	if c.Share.Hold(copies*size) != nil {
		return nil, refusal.Overloaded("no memory for another request now")
	}
	// A body that comes slowly must not keep the memory that waits for it.
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		s.log.Debug("a body has no deadline", "error", err)
	} else {
		defer func() { _ = connection.SetReadDeadline(time.Time{}) }() // else it would end the request while it is answered
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, refusal.TooLarge(limit)
	}
	if err != nil {
		return nil, refusal.Bad(contract.CodeInvalidRequest, "", "The body could not be read.")
	}
	c.Share.Drop(copies * (size - int64(len(body))))
	return body, nil
}

func writeJSON(w http.ResponseWriter, body []byte) *openai.Error {
	w.Header().Set("content-type", "application/json")
	w.Write(body)
	return nil
}

const (
	// writeTimeout is how long a client may take nothing of what is stored.
	writeTimeout = time.Minute
	// writePiece is how much is written at once.
	writePiece = 64 << 10
)

// writeStored writes what was read from the store. It gives back the memory that reading it took.
func writeStored(w http.ResponseWriter, c *input.Caller, body []byte) *openai.Error {
	c.Share.Keep(int64(len(body)))
	w.Header().Set("content-type", "application/json")
	_ = writePieces(w, body)
	return nil
}

// writePieces writes a text for a client that keeps the memory of the text until it has taken it. One that takes
// nothing for too long is cut.
func writePieces(w http.ResponseWriter, text []byte) error {
	connection := http.NewResponseController(w)
	defer func() { _ = connection.SetWriteDeadline(time.Time{}) }()
	for len(text) > 0 {
		now := text[:min(len(text), writePiece)]
		text = text[len(now):]
		_ = connection.SetWriteDeadline(time.Now().Add(writeTimeout)) // without one, Envoy's own timeouts are left
		if _, err := w.Write(now); err != nil {
			return err
		}
	}
	return nil
}

// The limits of lists.
const (
	defaultPage = 20
	maxPage     = 100
)

// pageBytes is the size of the items of a page, unless one item is larger.
const pageBytes = 1 << 20

// page reads the parameters of a list.
func page(q url.Values, c *input.Caller) (store.Page, *openai.Error) {
	p := store.Page{After: q.Get("after"), Limit: defaultPage, MaxBytes: pageBytes, Allow: c.Share.Take}
	if limit := q.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > maxPage {
			return p, refusal.Bad(contract.CodeInvalidValue, "limit", "Invalid 'limit': write a number from 1 to 100.")
		}
		p.Limit = n
	}
	switch order := q.Get("order"); order {
	case "", "desc":
	case "asc":
		p.Ascending = true
	default:
		return p, refusal.Bad(contract.CodeInvalidValue, "order", "Invalid 'order': write asc or desc.")
	}
	return p, nil
}

// includes reads the values of include of a query.
func includes(q url.Values) []string { return append(q["include"], q["include[]"]...) }

// writeList writes a page of items.
func (s *Service) writeList(w http.ResponseWriter, c *input.Caller, list *store.List, bound *seal.Bound,
	include []string) *openai.Error {
	type page struct {
		Object  string  `json:"object"`
		Data    []any   `json:"data"`
		FirstID *string `json:"first_id"`
		LastID  *string `json:"last_id"`
		HasMore bool    `json:"has_more"`
	}
	p := page{Object: "list", Data: []any{}, HasMore: list.More}
	for i := range list.Items {
		item := &list.Items[i]
		p.Data = append(p.Data, c.Settings.Sealer.ForClient(item, bound, include))
		if i == 0 {
			p.FirstID = &item.ID
		}
		p.LastID = &item.ID
	}
	return writeStored(w, c, items.JSON(p))
}
