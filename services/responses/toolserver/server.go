package toolserver

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// Transport is how a server is talked to.
type Transport string

// The values of [Transport].
const (
	// Any is [StreamableHTTP], and then [SSE]; for a command it is [Stdio].
	Any            Transport = ""
	StreamableHTTP Transport = "streamable_http"
	SSE            Transport = "sse"
	Stdio          Transport = "stdio"
)

// Server is an MCP server, configured or named in a request.
type Server struct {
	// Label is its name in logs.
	Label string
	// URL is one of http or https, in the form that [egress.Guard.Check] or [egress.ParseURL] returns.
	URL string
	// Command is a program and its arguments, in place of a URL. Environment is what it has in its environment
	// ("NAME=value") beside PATH, HOME and the like. Only the operator names commands.
	Command, Environment []string
	Transport            Transport
	// Headers are sent with each request, to the URL's scheme, host and port only. They are secret.
	Headers http.Header
	// Private reports whether the server may have any address: the operator has named it.
	Private bool

	// base is the key of the operator's server that this one is with more headers, or nil.
	base *key
}

// With returns the server with the headers of a request beside its own, which are not replaced.
func (s *Server) With(headers http.Header) *Server {
	c, base := s.clone(), s.origin()
	c.base = &base
	for name, values := range headers {
		if c.Headers.Get(name) != "" {
			continue
		}
		if c.Headers == nil {
			c.Headers = http.Header{}
		}
		c.Headers[name] = values
	}
	return c
}

// origin returns the key of the server without the headers of a request.
func (s *Server) origin() key {
	if s.base != nil {
		return *s.base
	}
	return s.session("")
}

// isProcess reports whether a session with the server has a process of its own.
func (s *Server) isProcess() bool { return len(s.Command) > 0 }

// clone returns a copy that the caller of this package cannot change.
func (s *Server) clone() *Server {
	c := *s
	c.Command, c.Environment, c.Headers = slices.Clone(s.Command), slices.Clone(s.Environment), s.Headers.Clone()
	return &c
}

// Validate returns a [*ServerError] if the server cannot be asked as it is described.
func (s *Server) Validate() error {
	if s.isProcess() {
		return s.validateCommand()
	}
	if _, err := egress.ParseURL(s.URL); err != nil {
		var b *egress.BlockedError
		if errors.As(err, &b) {
			return &ServerError{"url", b.Reason}
		}
		return err
	}
	switch s.Transport {
	case Any, StreamableHTTP, SSE:
	default:
		return &ServerError{"transport", "it is not streamable_http or sse"}
	}
	for name, values := range s.Headers {
		if err := CheckHeader(name, values...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) validateCommand() error {
	switch {
	case s.URL != "" || len(s.Headers) > 0:
		return &ServerError{"command", "a command has no URL and no headers"}
	case s.Transport != Any && s.Transport != Stdio:
		return &ServerError{"transport", "a command's is stdio"}
	case s.Command[0] == "":
		return &ServerError{"command", "it has no program"}
	case strings.Contains(strings.Join(s.Command, ""), "\x00"):
		return &ServerError{"command", "it has a character that arguments cannot have"}
	}
	for _, e := range s.Environment {
		if name, _, found := strings.Cut(e, "="); !found || name == "" || strings.Contains(e, "\x00") {
			return &ServerError{"environment", "an entry is not NAME=value"}
		}
	}
	return nil
}

// reserved are headers that the connection, the form of messages, or MCP itself need.
var reserved = []string{"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Expect", "Host", "Keep-Alive", "Last-Event-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// CheckHeader returns a [*ServerError] for a header that cannot be sent to a server: it is not HTTP, or the client sets
// it itself.
func CheckHeader(name string, values ...string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return &ServerError{"headers", "a name is not one of HTTP"}
	case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, "Mcp-") || strings.HasPrefix(canonical,
		"Proxy-"):
		return &ServerError{"headers", "'" + canonical + "' cannot be set"}
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return &ServerError{"headers", "the value of '" + canonical + "' is not one of HTTP"}
		}
	}
	return nil
}

// transports returns what is tried, in this order.
func (s *Server) transports() []Transport {
	switch {
	case s.isProcess():
		return []Transport{Stdio}
	case s.Transport == Any:
		return []Transport{StreamableHTTP, SSE}
	}
	return []Transport{s.Transport}
}

// key names a session or a server. It is a hash, so that no credential is a key of a map.
type key [sha256.Size]byte

// place returns the key of the server itself, whoever asks it.
func (s *Server) place() key { return s.hash(nil, "") }

// session returns the key of what one tenant asks with these credentials.
func (s *Server) session(tenant string) key { return s.hash(s.Headers, tenant) }

func (s *Server) hash(headers http.Header, tenant string) key {
	h := sha256.New()
	private := "public"
	if s.Private {
		private = "private"
	}
	add(h, string(s.Transport), s.URL, private, tenant)
	add(h, s.Command...)
	add(h, s.Environment...)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		add(h, name)
		add(h, headers[name]...)
	}
	return key(h.Sum(nil))
}

// add adds a list to a hash, so that no other list gives the same bytes.
func add(h hash.Hash, list ...string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(list))))
	for _, text := range list {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
}
