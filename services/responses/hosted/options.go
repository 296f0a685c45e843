package hosted

import (
	"cmp"
	"net/http"
	"time"
)

// The defaults of [Options].
const (
	// DefaultRounds is how often the model is asked for one response.
	DefaultRounds = 32
	// DefaultTime is how long one response may take with its tools.
	DefaultTime = 10 * time.Minute
	// DefaultCallTime is how long one call may take.
	DefaultCallTime = time.Minute
	// DefaultResult is how much of a call's result the model is shown, in bytes.
	DefaultResult = 64 << 10
	// DefaultParallel is how many calls of one response run at once.
	DefaultParallel = 8
)

// Options say which tools the service runs, and within which limits. The zero value: none.
type Options struct {
	// Servers are the configured MCP servers. Their labels differ.
	Servers []ToolServer
	// Allow are the places that server_url of a request may be at, in lower case: a host, *.host, scheme://host:port, an
	// address, a range of addresses, or * for every public host. Empty: none.
	Allow []string
	// Browser, Python and Container are the labels of the servers of gpt-oss's own tools. Empty: the tool is not served.
	Browser, Python, Container string
	// RefuseOthers reports whether a request with a hosted tool that no server runs is refused. Otherwise the model is not
	// told of the tool.
	RefuseOthers bool
	// Searches reports whether deferred tools are found by a search of the service's. Otherwise all are shown.
	Searches bool
	// BrowserCursors reports whether a page that is not known is shown as cursor:3.
	BrowserCursors bool
	// Rounds is how often the model is asked for one response.
	Rounds int
	// Time is how long one response may take, and CallTime how long one call may.
	Time, CallTime time.Duration
	// ResultLimit is how much of a call's result the model is shown, in bytes.
	ResultLimit int64
	// Parallel is how many calls of one response run at once.
	Parallel int
}

// ToolServer is a configured MCP server.
type ToolServer struct {
	Label string
	// URL is where it is. Transport is "streamable_http", "sse", or empty to try the first and then the second.
	URL, Transport string
	// Command is the program to start in place of a URL, with its arguments, and Environment its variables as NAME=value.
	Command, Environment []string
	// Headers are sent with each request to URL. They may hold secrets.
	Headers http.Header
	// AllowedTools are the tools that may be called. Empty: all.
	AllowedTools []string
	// RequireApproval is "always", "never", or empty if the request decides.
	RequireApproval string
}

// Server returns the configured server with a label, or nil.
func (o *Options) Server(label string) *ToolServer {
	for i := range o.Servers {
		if o.Servers[i].Label == label {
			return &o.Servers[i]
		}
	}
	return nil
}

// OrDefaults returns the options with defaults in place of zeros.
func (o Options) OrDefaults() Options {
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	o.Time = cmp.Or(o.Time, DefaultTime)
	o.CallTime = cmp.Or(o.CallTime, DefaultCallTime)
	o.ResultLimit = cmp.Or(o.ResultLimit, DefaultResult)
	o.Parallel = cmp.Or(o.Parallel, DefaultParallel)
	return o
}
