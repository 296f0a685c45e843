package hosted

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// readMCPTool reads a tool of the type mcp.
func (s *Operator) readMCPTool(at string, f *members) (*Server, *openai.Error) {
	if f.Label == "" {
		return nil, refusal.Bad(contract.CodeMissingParameter, at+".server_label", "Missing required parameter: '"+at+
			".server_label'.")
	}
	if !validLabel(f.Label) {
		return nil, refusal.Bad(contract.CodeInvalidValue, at+".server_label",
			"Invalid '"+at+".server_label': write a letter, "+
				"and then letters, digits, '-' and '_', 64 at most.")
	}
	for _, field := range []struct{ name, value string }{{"connector_id", f.Connector}, {"tunnel_id", f.Tunnel}} {
		if field.value != "" {
			return nil, refusal.Bad(contract.CodeUnsupportedParameter, at+"."+field.name, "Unsupported parameter: '"+at+"."+
				field.name+"' names a server of OpenAI's. Write a server_url.")
		}
	}
	m := &Server{At: at, Label: f.Label, description: f.Description, deferred: isTrue(f.Deferred)}
	headers, failure := headersOf(at, f)
	if failure != nil {
		return nil, failure
	}
	m.secret = len(headers) > 0
	if failure := s.findServer(m, f, headers); failure != nil {
		return nil, failure
	}
	allowed := filter{all: true}
	if items.Given(f.Allowed) {
		if allowed, failure = readFilter(at+".allowed_tools", f.Allowed, true); failure != nil {
			return nil, failure
		}
		allowed.all = allowed.names == nil && allowed.readOnly == nil // an object that names nothing
	}
	m.allowed = append(m.allowed, allowed)
	return m, m.readApproval(at+".require_approval", f.Approval)
}

// findServer finds the server of a tool: the operator's with its label, or the one that the request names.
func (s *Operator) findServer(m *Server, f *members, headers http.Header) *openai.Error {
	at := m.At + ".server_url"
	configured := s.Server(m.Label)
	switch {
	case configured != nil && f.URL != "" && f.URL != configured.URL:
		return refusal.Bad(contract.CodeInvalidValue, at,
			"Invalid '"+at+"': the label "+refusal.Quote(m.Label)+" is a server of this "+
				"gateway. Leave server_url out, or choose another label.")
	case configured != nil:
		m.configured, m.To = true, configured.server().With(headers)
		if len(configured.AllowedTools) > 0 {
			m.allowed = append(m.allowed, filter{names: configured.AllowedTools})
		}
		m.always.all = configured.RequireApproval == approvalAlways
		m.never.all = configured.RequireApproval == approvalNever
		return nil
	case f.URL == "":
		return refusal.Bad(contract.CodeMissingParameter, at,
			"Missing required parameter: '"+at+"'. This gateway has no MCP "+
				"server "+refusal.Quote(m.Label)+" of its own.")
	}
	u, err := s.Guard.Check(f.URL)
	if err != nil {
		return refusal.Bad(contract.CodeInvalidValue, at, "Invalid '"+at+"': "+err.Error()+".")
	}
	m.To = &toolserver.Server{Label: m.Label, URL: u.String(), Headers: headers}
	return nil
}

// readApproval reads which calls need an approval. The API's default is that all do.
func (m *Server) readApproval(at string, raw json.RawMessage) *openai.Error {
	if !items.Given(raw) {
		return nil
	}
	m.never = filter{} // the request says which
	word := ""
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case approvalAlways:
		case approvalNever:
			m.never.all = true
		default:
			return refusal.Bad(contract.CodeInvalidValue, at, "Invalid '"+at+"': write always or never.")
		}
		return nil
	}
	var object struct{ Always, Never json.RawMessage }
	if json.Unmarshal(raw, &object) != nil {
		return refusal.WrongType(at, "always, never, or an object with filters")
	}
	for _, side := range []struct {
		name string
		raw  json.RawMessage
		into *filter
	}{{approvalAlways, object.Always, &m.always}, {approvalNever, object.Never, &m.never}} {
		if !items.Given(side.raw) || m.always.all {
			continue
		}
		f, failure := readFilter(at+"."+side.name, side.raw, false)
		if failure != nil {
			return failure
		}
		*side.into = f
	}
	return nil
}

// The values of require_approval.
const (
	approvalAlways = "always"
	approvalNever  = "never"
)

// filter chooses tools. The zero value chooses none.
type filter struct {
	all bool
	// names are those that are chosen, or nil for any. readOnly reports whether the tools must be so, or nil.
	names    []string
	readOnly *bool
}

func (f *filter) chooses(t *toolserver.Tool) bool {
	switch {
	case f.all:
		return true
	case f.names == nil && f.readOnly == nil:
		return false
	}
	return (f.names == nil || slices.Contains(f.names, t.Name)) && (f.readOnly == nil || *f.readOnly == t.ReadOnly)
}

// readFilter reads a filter of the API: names, or an object with names and whether the tools must be read-only.
func readFilter(at string, raw json.RawMessage, bare bool) (filter, *openai.Error) {
	var names []string
	if bare && json.Unmarshal(raw, &names) == nil {
		return filter{names: append([]string{}, names...)}, nil
	}
	var object struct {
		Names    []string `json:"tool_names"`
		ReadOnly *bool    `json:"read_only"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return filter{}, refusal.WrongType(at, "a list of names, or an object with tool_names or read_only")
	}
	return filter{names: object.Names, readOnly: object.ReadOnly}, nil
}

// validLabel reports whether a label has the API's form.
func validLabel(label string) bool {
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	if label == "" || len(label) > refusal.MaxQuoted || !letter(label[0]) {
		return false
	}
	for i := range len(label) {
		if c := label[i]; !letter(c) && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
