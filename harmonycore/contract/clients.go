package contract

import (
	"slices"
	"strconv"
	"strings"
)

// Clients determines how the filter learns which client sends a request. With the zero value it does not ask.
type Clients struct {
	// By is [ClientsByKey] or [ClientsByHeader].
	By string
	// Header is the name, in lower case, of the header that names the client. The proxy in front sets it.
	Header string
	// Required reports whether requests of no known client are refused. Otherwise they are [AnonymousClient]'s.
	Required bool
	// Keys are the hashes of the clients' keys in ascending order: each is a SHA-256 in hexadecimal digits, a space, and
	// the name of the client.
	Keys []string
	// Deputies are clients that may name another one in [BehalfHeader], such as the responses service.
	Deputies []string
	// Context is the most tokens that one request may have, prompt and answer together. 0 is no limit. Contexts are for
	// single clients, in ascending order: NAME TOKENS instead of Context, and
	// NAME TOKENS MODEL beside it, for one model.
	Context  int
	Contexts []string
	// Classes are the classes of clients, in ascending order: each is NAME CLASS. DefaultClass is all others' class.
	Classes      []string
	DefaultClass string
	// Counted are the clients with metrics of their own.
	Counted []string
	// Paths are the beginnings of the paths, besides the API's, on which clients must be known.
	Paths []string
	// Reserve reports whether requests reserve tokens at the proxy's rate limit filter.
	Reserve bool
	// ExpectedAnswer is the most tokens that a request reserves for an answer whose length it does not say, where the
	// gateway counts the answer's tokens.
	ExpectedAnswer int
}

// The values of [Clients.By].
const (
	ClientsByKey    = "key"
	ClientsByHeader = "header"
)

// BehalfHeader is the header in which a deputy names the client whose request it sends.
const BehalfHeader = "x-harmony-on-behalf-of"

// MaxClientContext is the greatest value of [Clients.Context]. The filter's numbers have 32 bits.
const MaxClientContext = 1 << 30

// MaxCountedClients is how many clients have metrics of their own. The others are counted together.
const MaxCountedClients = 100

// Fields returns the settings of the block.
func (c *Clients) Fields() []Field {
	by := word("by", &c.By, "", ClientsByKey, ClientsByHeader)
	header := text("header", &c.Header, "")
	header.Valid, header.Must = isLower, "must be in lower case"
	return []Field{
		by.required(), header,
		flag("required", &c.Required, true),
		texts("keys", &c.Keys, validKey, "must be 64 hexadecimal digits, a space and a client's name"),
		texts("deputies", &c.Deputies, ValidClient, "must be a client's name"),
		number("context", &c.Context, 0, 0, MaxClientContext),
		texts("contexts", &c.Contexts, validContext, "must be a client's name, a space and a number of tokens"),
		texts("classes", &c.Classes, validClassOf, "must be a client's name, a space and the name of a class"),
		valid(text("default_class", &c.DefaultClass, ""), ValidClass, "must be the name of a class"),
		texts("counted", &c.Counted, ValidClient, "must be a client's name"),
		texts("paths", &c.Paths, func(s string) bool { return strings.HasPrefix(s, "/") }, "must begin with a slash"),
		flag("reserve", &c.Reserve, false),
		number("expected_answer", &c.ExpectedAnswer, DefaultExpectedAnswer, 1, MaxContextLength),
	}
}

// hashDigits is the length of a key's hash.
const hashDigits = 64

func validKey(s string) bool {
	if len(s) <= hashDigits || s[hashDigits] != ' ' {
		return false
	}
	for i := range hashDigits {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return ValidClient(s[hashDigits+1:])
}

func validContext(s string) bool {
	name, rest, _ := strings.Cut(s, " ")
	tokens, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(tokens)
	return ValidClient(name) && err == nil && n >= 0 && n <= MaxClientContext
}

func validClassOf(s string) bool {
	name, class, _ := strings.Cut(s, " ")
	return ValidClient(name) && ValidClient(class)
}

// Unsorted reports whether the keys, the contexts or the classes are not in ascending order.
func (c *Clients) Unsorted() bool {
	return !slices.IsSorted(c.Keys) || !slices.IsSorted(c.Contexts) || !slices.IsSorted(c.Classes)
}

// ClassOf returns the class of a client, or "" if it has none.
func (c *Clients) ClassOf(client string) string {
	i, _ := slices.BinarySearch(c.Classes, client+" ") // the entry is longer, so it comes right after this
	if i < len(c.Classes) {
		if class, ok := strings.CutPrefix(c.Classes[i], client+" "); ok {
			return class
		}
	}
	return c.DefaultClass
}

// Client returns the client whose key has this hash, in hexadecimal digits, or an empty text.
func (c *Clients) Client(hash string) string {
	i, _ := slices.BinarySearch(c.Keys, hash) // the entry is longer, so it comes right after the hash
	if i < len(c.Keys) {
		if rest, ok := strings.CutPrefix(c.Keys[i], hash); ok {
			return rest[1:]
		}
	}
	return ""
}

// ContextOf returns the most tokens that a request of a client for a model may have, or 0.
func (c *Clients) ContextOf(client, model string) int {
	limit, own := 0, false
	prefix := client + " "
	i, _ := slices.BinarySearch(c.Contexts, prefix)
	for ; i < len(c.Contexts); i++ {
		rest, ok := strings.CutPrefix(c.Contexts[i], prefix)
		if !ok {
			break
		}
		tokens, of, single := strings.Cut(rest, " ")
		own = own || !single
		n, _ := strconv.Atoi(tokens)
		if (!single || of == model) && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	if !own && c.Context > 0 && (limit == 0 || c.Context < limit) {
		limit = c.Context
	}
	return limit
}

// Tenant returns what separates the tenant of a client from all others. value is the value of [Seal.TenantHeader]. The
// name of a client begins after a space, with which no header's value begins.
func Tenant(client, value string) string {
	switch {
	case client == "" || client == AnonymousClient:
		return value
	case value == "":
		return " " + client
	}
	return " " + client + " " + value
}

// AnonymousClient is the name of the clients whose requests have no key, where keys are not required. They are counted
// together.
const AnonymousClient = "anonymous"

// MaxClientName is the greatest length of a client's name, in bytes.
const MaxClientName = 64

// ValidClient reports whether s can be a client's name: it is a header's value and stands in logs and metrics.
func ValidClient(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '.', c == '_', c == '-', c == '@', c == ':', c == '/', c == '+':
		default:
			return false
		}
	}
	return s != "" && len(s) <= MaxClientName
}
