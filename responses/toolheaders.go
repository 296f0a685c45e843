package responses

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// headersOf checks the headers that a request has for a server.
func headersOf(at string, f *toolFields) (http.Header, *openai.Error) {
	headers := http.Header{}
	size := len(f.Authorization)
	for name, value := range f.Headers {
		if size += len(name) + len(value); size > maxToolHeaders {
			return nil, badRequest(contract.CodeInvalidValue, at+".headers", fmt.Sprintf("Invalid '%s.headers': more than %d "+
				"bytes.", at, maxToolHeaders))
		}
		if !validHeader(name, value) {
			return nil, badRequest(contract.CodeInvalidValue, at+".headers", "Invalid '"+at+".headers': "+quote(name)+
				" is no header that a request can set.")
		}
		headers.Set(name, value)
	}
	if f.Authorization == "" {
		return headers, nil
	}
	if headers.Get("Authorization") != "" {
		return nil, badRequest(contract.CodeInvalidValue, at+".authorization", "Invalid '"+at+".authorization': the headers "+
			"have an Authorization too. Write one of them.")
	}
	if !validHeader("Authorization", f.Authorization) {
		return nil, badRequest(contract.CodeInvalidValue, at+".authorization", "Invalid '"+at+".authorization': it is no value "+
			"of a header.")
	}
	headers.Set("Authorization", "Bearer "+f.Authorization)
	return headers, nil
}

// maxToolHeaders is how large the headers for a server may be together, in bytes.
const maxToolHeaders = 16 << 10

// validHeader reports whether a request may set a header for a tool's server. The transport has the others.
func validHeader(name, value string) bool {
	token := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
	if !token || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
		return false
	}
	lower := strings.ToLower(name)
	return !strings.HasPrefix(lower, "mcp-") && !strings.HasPrefix(lower, "proxy-") && !slices.Contains([]string{"host",
		"connection", "content-length", "content-type", "content-encoding", "accept", "accept-encoding", "transfer-encoding",
		"te", "trailer", "upgrade", "keep-alive", "expect", "last-event-id"}, lower)
}
