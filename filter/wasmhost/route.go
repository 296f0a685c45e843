package wasmhost

import "time"

// Route is where a request goes: to a cluster, or to a direct response.
type Route struct {
	Name string
	// VirtualHost is the name of the virtual host that contains the route.
	VirtualHost string
	Cluster     string
	// Direct is the response that the route itself gives, in place of a cluster.
	Direct *DirectResponse
	// BodyLimit is request_body_buffer_limit, in bytes; 0 keeps the stream's own limit.
	BodyLimit int
	// Timeout limits the server's whole response, counted from the end of the request; 0 means no limit.
	Timeout time.Duration
	// IdleTimeout limits how long nothing may move on the stream; 0 keeps the proxy's limit.
	IdleTimeout time.Duration
	// WebSocket reports whether requests may upgrade to WebSocket: upgrade_configs.
	WebSocket bool
	// RemoveRequestHeaders are removed before the request goes to the cluster.
	RemoveRequestHeaders []string
	// HashHeader is the name of the header by whose value a server is chosen, also where the route removes it. Empty: none.
	HashHeader string
	// RetryStatuses are the statuses of answers after which another server is asked: retriable_status_codes.
	RetryStatuses []int
	// HoldState is the name of the stream's property by whose value an attempt's answer is held until it is known whether
	// another server is asked: retry_on: reset. Empty: no answer is held.
	HoldState string
	// TryIdleTimeout is how long a server may be silent while its answer is held: per_try_idle_timeout. 0 is no limit.
	TryIdleTimeout time.Duration
	// SetResponseHeaders are set on every response, direct ones included.
	SetResponseHeaders []Field
	// HostRewrite sends a server its own name as host in place of the client's: auto_host_rewrite.
	HostRewrite bool
	// ForwardHost then appends the client's to x-forwarded-host: append_x_forwarded_host.
	ForwardHost bool
}

// DirectResponse is a response that the route itself gives.
type DirectResponse struct {
	Status int
	Body   string
}

// Router chooses routes and knows which clusters exist.
type Router interface {
	// Route returns the route of a request with these headers, or nil if there is none. As in Envoy, it is called again
	// after the filter has changed a header.
	Route(request *Headers) *Route
	// HasCluster reports whether a cluster exists.
	HasCluster(name string) bool
}

// LocalReply is a response that does not come from a server: the host's own, the filter's or a route's.
type LocalReply struct {
	Status int
	// Details is the property response.code_details. It is empty for a reply of the filter.
	Details string
	// Cluster is the cluster of the request's route. It is empty if there is none.
	Cluster string
	Body    []byte
	// ContentType is the body's type.
	ContentType string
	// Headers are further headers of the reply.
	Headers [][2]string
	// Request are the headers of the request as they are now, or nil. State is the stream's filter state.
	Request *Headers
	State   map[string][]byte
}
