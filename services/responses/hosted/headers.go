package hosted

import (
	"fmt"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// headersOf checks the headers that a request has for a server.
func headersOf(at string, f *members) (http.Header, *openai.Error) {
	headers := http.Header{}
	size := len(f.Authorization)
	if size > maxToolHeaders {
		return nil, refusal.Bad(contract.CodeInvalidValue, at+".authorization", fmt.Sprintf("Invalid '%s.authorization': "+
			"more than %d bytes.", at, maxToolHeaders))
	}
	for name, value := range f.Headers {
		if size += len(name) + len(value); size > maxToolHeaders {
			return nil, refusal.Bad(contract.CodeInvalidValue, at+".headers",
				fmt.Sprintf("Invalid '%s.headers': more than %d "+
					"bytes.", at, maxToolHeaders))
		}
		if toolserver.CheckHeader(name, value) != nil {
			return nil, refusal.Bad(contract.CodeInvalidValue, at+".headers",
				"Invalid '"+at+".headers': "+refusal.Quote(name)+
					" is no header that a request can set.")
		}
		headers.Set(name, value)
	}
	if f.Authorization == "" {
		return headers, nil
	}
	if headers.Get("Authorization") != "" {
		return nil, refusal.Bad(contract.CodeInvalidValue, at+".authorization",
			"Invalid '"+at+".authorization': the headers "+
				"have an Authorization too. Write one of them.")
	}
	if toolserver.CheckHeader("Authorization", f.Authorization) != nil {
		return nil, refusal.Bad(contract.CodeInvalidValue, at+".authorization",
			"Invalid '"+at+".authorization': it is no value "+
				"of a header.")
	}
	headers.Set("Authorization", "Bearer "+f.Authorization)
	return headers, nil
}

// maxToolHeaders is how large the headers for a server may be together, in bytes.
const maxToolHeaders = 16 << 10
