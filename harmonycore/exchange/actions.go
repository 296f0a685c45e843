package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/openai"

// Host is what the proxy knows about the moment.
type Host struct {
	// Now is the time in milliseconds since 1970.
	Now int64
	// ID is unique to the request, at least 24 letters and digits. The answer's ids are made of it.
	ID string
	// Admit takes room for so many bytes of memory, and reports whether the host has them to spare. A request that it does
	// not admit is refused for now, before it is read. It is asked once for each request that is read; nil admits all.
	Admit func(bytes int) bool
	// Scratch is reused from request to request by a host that handles one at a time; nil is fresh memory. What
	// [Exchange.Request] returns then lies in it.
	Scratch *Scratch
}

// RequestHead is what to do with a request's headers while its body is still to come.
type RequestHead struct {
	// Hold keeps them until [Exchange.Request] has decided. Without it they go on at once, changed as the rest says.
	Hold bool
	// Reply answers at once, and the host does not wait for the body.
	Reply *Reply
	// Path is the server's, and Pool the value for [contract.PoolHeader]; both are empty where the headers go on as they
	// came. With Pool alone the request goes there as it came.
	Path, Pool string
	// Rewritten reports whether the body will be the gateway's, whose length is not known yet.
	Rewritten bool
}

// RequestAction is what to do with a request whose body has been read: one of its fields is set, or none, and then the
// request goes on as it came.
type RequestAction struct {
	Forward *Forward
	Reply   *Reply
	// Hold keeps the body for good: the server has answered without it.
	Hold bool
}

// Forward is a request rewritten for an inference server.
type Forward struct {
	// Path is the server's, and Pool the value for [contract.PoolHeader]; both are empty where the headers have gone on
	// already. With Pool alone the request goes there as it came.
	Path, Pool string
	// Body replaces the client's body; nil leaves it as it came.
	Body []byte
	// Readable wants a response that is not compressed, to a request that is otherwise left as it came.
	Readable bool
}

// Reply is an answer that the gateway gives by itself, always JSON.
type Reply struct {
	Status int
	// RetryAfter is the header's value, or empty. Upgrade is that of the header upgrade; with one, the connection ends
	// after the answer.
	RetryAfter, Upgrade string
	Body                []byte
}

func replyWith(e *openai.Error) *Reply {
	return &Reply{Status: e.Status, Body: e.AppendJSON(nil)}
}

// ResponseHead is what the response's headers say.
type ResponseHead struct {
	Status      int
	ContentType string
	RetryAfter  string
	// Local reports whether the proxy itself made the response: no server has sent it.
	Local bool
	// Received is how much of the request's body had come by then, in bytes.
	Received int
	// End reports whether the response has no body.
	End bool
}

// ResponseAction is what to do with the part of a response just given.
type ResponseAction struct {
	// Pass leaves everything as it came.
	Pass bool
	// Hold keeps the headers back; Body is then empty.
	Hold bool
	// Head changes the held headers before they go.
	Head *Head
	// Body replaces the chunk.
	Body []byte
	// Reply answers in place of the response, whose headers were held until now.
	Reply *Reply
	// Reset cuts the stream: the client has an unfinished answer, and nothing more can be written to it.
	Reset bool
	// Late reports whether this is a failure that would have been a status, had the host been able to hold the headers.
	Late bool
}

// Head is what the client's response headers become.
type Head struct {
	Status      int
	ContentType string
}
