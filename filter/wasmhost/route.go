package wasmhost

import "time"

// Route is where a request goes: to a cluster, or straight back.
type Route struct {
	Name string
	// VirtualHost is the name of the host that the route is of.
	VirtualHost string
	Cluster     string
	// Direct answers in place of a cluster.
	Direct *DirectResponse
	// BodyLimit is request_body_buffer_limit, in bytes; 0 leaves the stream's own limit.
	BodyLimit int
	// Timeout is how long a server may take for its whole answer, from the end of the request; 0 is for ever.
	Timeout time.Duration
	// RemoveRequestHeaders are taken off before the request goes to the cluster.
	RemoveRequestHeaders []string
	// SetResponseHeaders are set on every response, direct ones as well.
	SetResponseHeaders []Field
	// HostRewrite calls a server by its own name instead of the client's: auto_host_rewrite.
	HostRewrite bool
}

// DirectResponse is a route's own answer.
type DirectResponse struct {
	Status int
	Body   string
}

// Router chooses routes and knows which clusters there are.
type Router interface {
	// Route is the route of a request with these headers, nil if there is none. It is asked again when the filter has
	// changed a header, as Envoy does.
	Route(request *Headers) *Route
	// HasCluster reports whether a cluster exists.
	HasCluster(name string) bool
}

// LocalReply is an answer that comes from no server: the host's own, the filter's or a route's.
type LocalReply struct {
	Status int
	// Details is what the property response.code_details says about it. It is empty for the filter's own.
	Details string
	Body    []byte
	// ContentType is the body's.
	ContentType string
	// Headers are further headers of it.
	Headers [][2]string
}
