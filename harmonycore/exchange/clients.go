package exchange

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// maxKey is the greatest length of a client's key, in bytes. Longer ones are not hashed.
const maxKey = 512

// keyHeaders are the headers in which clients show a key. The first one with a known key counts.
var keyHeaders = [...]string{"authorization", "api-key", "x-api-key"}

// caller is what the headers of a request tell about its client.
type caller struct {
	// known is the client of the known key, by [keyHeaders], and hidden are the headers that no server gets.
	known  [len(keyHeaders)]string
	hidden []string
	// shown reports whether the request has any key.
	shown bool
	// named is what the header of [contract.Clients.Header] says, and behalf what [contract.BehalfHeader] says.
	named, behalf string
	// refused reports whether the client is not known, or is not allowed to name another.
	refused *openai.Error
	// decided reports whether name is decided. name is the client, or empty where clients are not told apart.
	decided bool
	name    string
}

// noteCaller notes a header that tells who the client is.
func (e *Exchange) noteCaller(name, value string) {
	c, by := &e.gateway.options.Clients, &e.caller
	switch {
	case c.By == "":
		return
	case c.By == contract.ClientsByHeader:
		if name == c.Header {
			by.hide(name)
			if by.named != "" && by.named != value {
				value = " " // of two names neither is believed
			}
			by.named = strings.Clone(value)
		}
		return
	case name == contract.BehalfHeader:
		by.hide(name)
		by.behalf = strings.Clone(value)
		return
	}
	i := slices.Index(keyHeaders[:], name)
	if i < 0 {
		return
	}
	key := keyOf(value)
	by.shown = by.shown || key != ""
	if key == "" || len(key) > maxKey {
		return
	}
	hash := hashOf(key)
	if client := c.Client(string(hash[:])); client != "" && by.known[i] == "" {
		by.known[i] = client
	}
	by.hide(name)
}

func (c *caller) hide(name string) {
	if !slices.Contains(c.hidden, name) {
		c.hidden = append(c.hidden, strings.Clone(name))
	}
}

// identify decides which client sends the request, when all headers have come. It returns an error for a client that is
// not known and must be.
func (e *Exchange) identify() *openai.Error {
	c, by := &e.gateway.options.Clients, &e.caller
	if c.By == "" || by.decided {
		return by.refused
	}
	by.decided = true
	name := by.named
	if c.By == contract.ClientsByKey {
		for i := len(by.known) - 1; i >= 0; i-- {
			if by.known[i] != "" {
				name = by.known[i]
			}
		}
		if by.behalf != "" && slices.Contains(c.Deputies, name) {
			name = by.behalf
		}
		if name == "" && !c.Required {
			by.hidden = nil // a key that is not ours may be the servers'
		}
	}
	switch {
	case name == "" && c.Required, name != "" && !contract.ValidClient(name):
		by.refused = errNoClient(c, by.shown)
	case name == "":
		by.name = contract.AnonymousClient
	default:
		by.name = name
	}
	if by.refused == nil {
		e.report.Client = by.name
		e.options.tenant = contract.Tenant(by.name, e.options.tenant)
	}
	return by.refused
}

func errNoClient(c *contract.Clients, shown bool) *openai.Error {
	text := "You didn't provide an API key. Send it in an Authorization header, as Bearer and your key."
	switch {
	case c.By == contract.ClientsByHeader:
		text = "The request does not tell its client. Connect to the gateway by way of what is in front of it."
	case shown:
		text = "Incorrect API key provided. Ask the gateway's operator for one."
	}
	return &openai.Error{
		Status: 401, Type: contract.InvalidRequestError, Code: contract.CodeInvalidAPIKey, Message: text,
	}
}

// guarded is the endpoint of a request that the gateway does not handle, on a path on which clients must be known.
type guarded struct{ x *Exchange }

func (g *guarded) head() RequestHead {
	g.x.passThrough()
	return RequestHead{}
}

func (g *guarded) request([]byte, Host) RequestAction { return g.x.passThrough() }

func (*guarded) early() response { return nil }

// beginGuarded begins the exchange of a request that the gateway does not handle, if its client must be known.
func (g *Gateway) beginGuarded(path string) *Exchange {
	if g.options.Clients.By == "" {
		return nil
	}
	read := resolved(path)
	if !isUnder(read, apiRoots) && !isUnder(read, g.guardedPaths) {
		return nil
	}
	x := g.newExchange(apiOther)
	x.endpoint = &guarded{x: x}
	return x
}

// guardedPaths returns the paths on which clients must be known, in the form of [resolved].
func guardedPaths(c *contract.Clients) []string {
	var paths []string
	for _, p := range c.Paths {
		if p = resolved(p); p == "/" {
			p = "" // everything is below it
		}
		paths = append(paths, p)
	}
	return paths
}

// Hidden returns the names of the request's headers that no server may get. They are known after
// [Exchange.RequestHeaders] or [Exchange.Request].
func (e *Exchange) Hidden() []string { return e.caller.hidden }

// marks returns the internal headers of the request.
func (e *Exchange) marks() []Header {
	if e.caller.name != "" {
		e.tell(contract.ClientHeader, e.caller.name)
	}
	return e.internal
}
