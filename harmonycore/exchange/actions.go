package exchange

import (
	"cmp"
)

// Host holds what the host knows at the time of a call.
type Host struct {
	// Now is the time in milliseconds since 1970.
	Now int64
	// Clock returns the time later in the exchange, in the same form. The exchange asks it a few times in an answer, and
	// not for each chunk, because a proxy's clock is costly. With a nil Clock the time is the one that the last call
	// named.
	Clock func() int64
	// ID is unique to the request: at least 24 letters and digits. The ids of the answer are derived from it.
	ID string
	// Admit reserves memory, and reports whether the host has that many bytes to spare. The gateway calls it once for each
	// request that it reads, before it reads it. For a request that is not admitted see [RequestAction.Full]. A nil Admit
	// admits every request.
	Admit func(bytes int) bool
	// Scratch is memory that the exchanges of a host share if it makes one call at a time. The result of
	// [Exchange.Request] or [Exchange.ResponseBody] lies in it, or in the exchange, and is valid until the next
	// call. With a nil Scratch each exchange allocates its own.
	Scratch *Scratch
	// Bootstrap chooses one of the servers that could read the prompt of the request, by its index, and draws the number
	// of the room where it meets the one that writes the answer. Nobody can guess the number, and no other request has it.
	// A host that makes no calls of its own has a nil Bootstrap: requests that need one are refused.
	Bootstrap func(servers []string) (at int, room uint64)
}

// RequestHead is the decision on a request's headers before the body has come.
type RequestHead struct {
	// Hold keeps the headers back until [Exchange.Request] has decided. Otherwise they are sent on at once, changed as the
	// other fields say.
	Hold bool
	// Reply answers the client at once. The host does not wait for the body.
	Reply *Reply
	// Path is the server's path, and Pool the value for [contract.PoolHeader]. If both are empty the headers are sent on
	// unchanged. If only Pool is set, the request is sent to that pool unchanged.
	Path, Pool string
	// Without is the name of a header, in lower case, that the server must not get from a client, or empty.
	Without string
	// Rewritten reports whether the gateway will replace the body. The new body's length is not known yet.
	Rewritten bool
	// Internal are further internal headers for the proxy's routes. The servers must not get them.
	Internal []Header
}

// Header is a header that the host sets.
type Header struct{ Name, Value string }

// RequestAction is the decision on a request whose body has been read. At most one field is set, apart from Prefill. If
// none is, the request is sent on unchanged.
type RequestAction struct {
	Forward *Forward
	// Prefill is a call that the host makes before it sends Forward, or beside it.
	Prefill *Prefill
	// Render is a call that the host makes before there is anything to forward. The host keeps the request until
	// [Exchange.Rendered] has decided.
	Render *Render
	Reply  *Reply
	// Hold keeps the body back for good: the server has answered without it.
	Hold bool
	// Full reports that [Host.Admit] has not admitted the request, and nothing was decided or changed. The host makes room
	// and calls [Exchange.Request] again, or answers with [Exchange.Overloaded].
	Full bool
}

// Forward is a request rewritten for an inference server.
type Forward struct {
	// Path is the server's path, and Pool the value for [contract.PoolHeader]. Both are empty if the headers have already
	// been sent on. If only Pool is set, the request is sent to that pool unchanged.
	Path, Pool string
	// Without is the name of a header, in lower case, that the server must not get from a client, or empty.
	Without string
	// Body replaces the client's body. If it is nil, the host sends the body as it came, and not what [Exchange.Request]
	// has left of it.
	Body []byte
	// Readable asks for an uncompressed response that is no stream of the model's tokens: the client gets the server's
	// own, or one that is made of it.
	Readable bool
	// Internal are further internal headers for the proxy's routes. The servers must not get them.
	Internal []Header
	// Attempt is the value of [contract.AttemptState] for the host. If it is empty, there is none.
	Attempt string
}

// Reply is an answer of the gateway itself.
type Reply struct {
	Status int
	// ContentType is the body's media type. Empty: application/json.
	ContentType string
	// RetryAfter is the value of the header retry-after, or empty. Upgrade is the value of the header upgrade, or empty.
	// With an Upgrade the connection ends after the answer.
	RetryAfter, Upgrade string
	// Headers are further headers.
	Headers []Header
	Body    []byte
}

// MediaType returns the body's media type.
func (r *Reply) MediaType() string { return cmp.Or(r.ContentType, contentTypeJSON) }

// ResponseHead holds the fields of the response's headers.
type ResponseHead struct {
	Status      int
	ContentType string
	RetryAfter  string
	// Limits are the headers x-ratelimit-… of a response with status 429. The memory of their texts is the Exchange's.
	Limits []Header
	// Local reports whether the proxy itself made the response, without a server. GivenUp reports whether it did so
	// because servers have broken off, or were silent, and no further one is asked. Full reports whether it did so because
	// it, or the pool, had no room for the request.
	Local, GivenUp, Full bool
	// Received is how much of the request's body had come before the response, in bytes.
	Received int
	// End reports whether the response has no body.
	End bool
}

// failed reports whether the response is not the answer of a server that has accepted the request.
func (h *ResponseHead) failed() bool { return h.Local || h.Status < 200 || h.Status > 299 }

// ResponseAction is the decision on the part of a response that was just handed over.
type ResponseAction struct {
	// Pass leaves everything unchanged.
	Pass bool
	// Hold keeps the headers back. Body is then empty.
	Hold bool
	// Head changes the held headers before they are sent.
	Head *Head
	// Body replaces the chunk. See [Host.Scratch] for how long it is valid.
	Body []byte
	// Reply replaces the response, whose headers were held until now.
	Reply *Reply
	// Reset cuts the stream. The client has an unfinished answer, and nothing more can be written to it.
	Reset bool
	// ResetAfter asks for a reset as soon as Body has been sent. The exchange resets the stream at the host's next call,
	// and is [Exchange.Overdue] until then. A host for which the response has ended with this call resets it now, and Body
	// is lost.
	ResetAfter bool
	// Late reports whether the failure would have been a status if the host could hold headers.
	Late bool
}

// Head holds the response headers that the client receives.
type Head struct {
	Status      int
	ContentType string
	// RetryAfter is the value of the header retry-after, or empty if that stays as it is.
	RetryAfter string
}
