package translate

import (
	"bytes"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Searched is a call of the browser's, as a block web_search_tool_result carries it from one request to the next.
type Searched struct {
	// Name is the name of the browser's tool, such as browser.open. Arguments are what the model has called it with, and
	// Output is what it has read.
	Name, Arguments, Output string
	// Chain is the id by which the browser knows the conversation, or empty.
	Chain string
}

// The members of a call that is sealed.
const (
	searchedName      = "name"
	searchedArguments = "arguments"
	searchedOutput    = "output"
	searchedChain     = "chain"
)

// clearSearched begins a call that is not sealed, because there are no keys. It holds nothing that its client must not
// know.
const clearSearched = "clear."

// boundSearched is what sealed calls of the browser are bound to. Any model can read them.
func (s *Sealing) boundSearched() seal.Bound {
	return seal.Bound{Model: anthropic.WebSearch, Tenant: s.Tenant}
}

// SealSearched returns a call of the browser's as the encrypted_content of a block. It can always be opened: other than
// reasoning, it is no secret, and a conversation that goes on needs it.
func (s *Sealing) SealSearched(c *Searched) []byte {
	plain := []byte(`{`)
	for _, member := range [...]struct{ name, value string }{{searchedName, c.Name}, {searchedArguments, c.Arguments},
		{searchedOutput, c.Output}, {searchedChain, c.Chain}} {
		if len(plain) > 1 {
			plain = append(plain, ',')
		}
		plain = append(rawjson.AppendString(plain, member.name), ':')
		plain = rawjson.AppendString(plain, member.value)
	}
	plain = append(plain, '}')
	if s.Keys != nil {
		if sealed, err := s.Keys.Seal(nil, plain, s.boundSearched(), noExpiry); err == nil {
			return sealed
		}
	}
	return seal.AppendBase64([]byte(clearSearched), plain)
}

// noExpiry is a time that does not come.
const noExpiry int64 = 1 << 62

// openSearched opens a call of the browser's. It overwrites sealed, and what it returns lies there. ok reports whether
// it is one of this gateway's.
func (s *Sealing) openSearched(sealed []byte) (c Searched, ok bool) {
	var plain []byte
	if rest, isClear := bytes.CutPrefix(sealed, []byte(clearSearched)); isClear {
		plain = seal.DecodeBase64(rest)
	} else if s.Keys != nil && len(sealed) > 0 {
		plain, _ = s.Keys.Open(sealed, s.boundSearched(), 0)
	}
	if len(plain) == 0 || rawjson.Validate(plain, rawjson.MaxDepth) != nil {
		return c, false
	}
	members := rawjson.Members(plain)
	for members.Next() {
		if members.Kind != rawjson.String {
			continue
		}
		switch rawjson.View(members.Key) {
		case searchedName:
			c.Name = rawjson.Borrow(members.Value)
		case searchedArguments:
			c.Arguments = rawjson.Borrow(members.Value)
		case searchedOutput:
			c.Output = rawjson.Borrow(members.Value)
		case searchedChain:
			c.Chain = strings.Clone(rawjson.Unescape(members.Value))
		}
	}
	return c, isOfBrowser(c.Name)
}

// The names of the browser's tools.
const (
	browserSearch = "browser.search"
	browserOpen   = "browser.open"
	browserFind   = "browser.find"
)

func isOfBrowser(name string) bool {
	return name == browserSearch || name == browserOpen || name == browserFind
}

// browserTool returns the tool of the browser that an input is for. A service other than this gateway's only searches.
func browserTool(input string) string {
	members := rawjson.Members([]byte(input))
	tool := browserSearch
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "query":
			return browserSearch
		case "pattern":
			tool = browserFind
		case "id", "cursor", "loc":
			if tool == browserSearch {
				tool = browserOpen
			}
		}
	}
	return tool
}

// addServerUse adds a call that a server has run.
func (t *messagesRequest) addServerUse(b *anthropic.Block, item *openai.InputItem) {
	item.Kind, item.Role, item.CallID, item.Arguments = openai.ItemCall, "", b.ID, b.Text
	if item.Name, item.Namespace = b.Name, b.Server; b.Server == "" {
		item.Name, item.BuiltIn = browserTool(b.Text), true
	}
	t.ledToCall()
	t.open = false
	t.in.Add(item)
}

// maxServedBack is how far back in its message the call of a result is looked for.
const maxServedBack = 64

// addServerResult adds what a call has returned that a server has run. What the model has read then is in a seal. A
// result without its call is left out.
func (t *messagesRequest) addServerResult(b *anthropic.Block, item *openai.InputItem) *openai.Error {
	call := t.servedCall(b)
	if call == nil {
		t.in.Ignored[openai.IgnoredUnknown]++
		return nil
	}
	t.open = false
	item.Kind, item.Role, item.CallID = openai.ItemCallOutput, "", b.ID
	if call.BuiltIn {
		if c, ok := t.sealing.openSearched(b.Sealed); ok {
			call.Name, call.Arguments, item.Content = c.Name, c.Arguments, []string{c.Output}
			t.chain = c.Chain
			t.in.Add(item)
			return nil
		}
	}
	if err := t.takeContent(b, item); err != nil {
		return err
	}
	t.in.Add(item)
	return nil
}

// servedCall returns the call of a result, or nil.
func (t *messagesRequest) servedCall(b *anthropic.Block) *openai.InputItem {
	in := t.in.Input
	for i := len(in) - 1; i >= max(0, len(in)-maxServedBack) && in[i].Index == b.Message; i-- {
		if in[i].Kind == openai.ItemCall && in[i].CallID == b.ID && (in[i].BuiltIn || in[i].Namespace != "") {
			return &in[i]
		}
	}
	return nil
}
