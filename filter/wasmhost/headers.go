package wasmhost

import (
	"iter"
	"slices"
	"strings"
)

// Field is one header.
type Field struct{ Name, Value string }

// Headers is a header map with Envoy's behaviour: names are in lower case, pseudo-headers come first, and a name may
// occur several times. The nil map is empty and must not be written to.
type Headers struct {
	fields []Field
}

// NewHeaders makes a map from alternating names and values. An odd last name gets the empty value.
func NewHeaders(pairs ...string) *Headers {
	h := &Headers{}
	for i := 0; i < len(pairs); i += 2 {
		value := ""
		if i+1 < len(pairs) {
			value = pairs[i+1]
		}
		h.Add(pairs[i], value)
	}
	return h
}

// Len returns the number of fields.
func (h *Headers) Len() int {
	if h == nil {
		return 0
	}
	return len(h.fields)
}

// Bytes returns the total length of all names and values.
func (h *Headers) Bytes() int {
	n := 0
	for _, f := range h.All() {
		n += len(f.Name) + len(f.Value)
	}
	return n
}

// All returns an iterator over the fields, in order.
func (h *Headers) All() iter.Seq2[int, Field] {
	if h == nil {
		return func(func(int, Field) bool) {}
	}
	return slices.All(h.fields)
}

// Get returns the first value of a name, or an empty string.
func (h *Headers) Get(name string) string {
	v, _ := h.Lookup(name)
	return v
}

// Lookup returns the first value of a name and reports whether there is one.
func (h *Headers) Lookup(name string) (string, bool) {
	name = canonical(name)
	for _, f := range h.All() {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// Values returns all values of a name.
func (h *Headers) Values(name string) []string {
	name = canonical(name)
	var out []string
	for _, f := range h.All() {
		if f.Name == name {
			out = append(out, f.Value)
		}
	}
	return out
}

// canonical returns a name as the map stores it: in lower case, and :authority for host.
func canonical(name string) string {
	name = strings.ToLower(name)
	if name == "host" {
		return ":authority"
	}
	return name
}

// joined are the headers that Envoy's map stores as one field: adding another value appends it after a comma.
var joined = map[string]bool{
	"accept": true, ":authority": true, ":method": true, ":path": true, ":protocol": true, ":scheme": true,
	":status":         true,
	"accept-encoding": true, "cache-control": true, "connection": true, "content-encoding": true, "content-length": true,
	"content-type": true, "date": true, "etag": true, "expect": true, "grpc-accept-encoding": true, "grpc-message": true,
	"grpc-status": true, "grpc-timeout": true, "keep-alive": true, "location": true, "proxy-connection": true,
	"proxy-status": true, "server": true, "te": true, "transfer-encoding": true, "upgrade": true, "user-agent": true,
	"vary": true, "via": true, "x-forwarded-for": true, "x-forwarded-host": true, "x-forwarded-port": true,
	"x-forwarded-proto": true, "x-request-id": true,
}

// Add adds a field, or appends the value to a field that may occur only once.
func (h *Headers) Add(name, value string) {
	name = canonical(name)
	if joined[name] {
		for i := range h.fields {
			if h.fields[i].Name == name {
				if value != "" {
					h.fields[i].Value += "," + value
				}
				return
			}
		}
	}
	h.insert(Field{name, value})
}

func (h *Headers) insert(f Field) {
	at := len(h.fields)
	if strings.HasPrefix(f.Name, ":") {
		at = 0
		for at < len(h.fields) && strings.HasPrefix(h.fields[at].Name, ":") {
			at++
		}
	}
	h.fields = slices.Insert(h.fields, at, f)
}

// Set replaces all values of a name by one. A name that occurs once keeps its place; one that occurs several times
// moves to the end.
func (h *Headers) Set(name, value string) {
	name = canonical(name)
	if len(h.Values(name)) == 1 {
		at := slices.IndexFunc(h.fields, func(f Field) bool { return f.Name == name })
		h.fields[at].Value = value
		return
	}
	h.Remove(name)
	h.insert(Field{name, value})
}

// Remove removes all values of a name.
func (h *Headers) Remove(name string) {
	name = canonical(name)
	h.fields = slices.DeleteFunc(slices.Clone(h.fields), func(f Field) bool { return f.Name == name })
}

// RemovePrefix removes all fields whose names begin with prefix.
func (h *Headers) RemovePrefix(prefix string) {
	prefix = strings.ToLower(prefix)
	h.fields = slices.DeleteFunc(slices.Clone(h.fields), func(f Field) bool { return strings.HasPrefix(f.Name, prefix) })
}

// Clone returns a copy that shares nothing with h.
func (h *Headers) Clone() *Headers {
	if h == nil {
		return &Headers{}
	}
	return &Headers{fields: slices.Clone(h.fields)}
}

func (h *Headers) replaceAll(fields []Field) {
	h.fields = nil
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
}

// fault returns what Envoy rejects in a map before it sends it on, or an empty string: a missing required header, or a
// name or value that is not legal in HTTP.
func (h *Headers) fault(required string) string {
	if h.Get(required) == "" {
		return "missing required header: " + required
	}
	for _, f := range h.All() {
		switch {
		case !validName(f.Name):
			return "invalid header name: " + f.Name
		case strings.ContainsAny(f.Value, "\x00\r\n"):
			return "invalid header value for: " + f.Name
		}
	}
	return ""
}

// validName reports whether a name is an HTTP token, or a pseudo-header's name.
func validName(name string) bool {
	name = strings.TrimPrefix(name, ":")
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return name != ""
}
