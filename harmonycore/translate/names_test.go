package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// declaredAs returns tools by their names, NAMESPACE.NAME or NAME alone.
func declaredAs(names string) (tools []openai.Tool) {
	for _, name := range strings.Fields(names) {
		namespace, bare, ok := strings.Cut(name, ".")
		if !ok {
			namespace, bare = "", name
		}
		tools = append(tools, openai.Tool{Namespace: namespace, Name: bare})
	}
	return tools
}

// TestMissedNames: a recipient that misses a declared tool by a prefix or a namespace is that tool, if no other is
// missed.
func TestMissedNames(t *testing.T) {
	for _, tt := range []struct{ declared, recipient, want string }{
		{"mcp__shop.list_orders", "functions.mcp__shop__list_orders", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "mcp__shop__list_orders", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "mcp__shop.list_orders", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "functions.mcp__shop.list_orders", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "functions.functions.mcp__shop.list_orders", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "mcp__shop.list_ordersjson", "mcp__shop.list_orders"},
		{"mcp__shop.list_orders", "mcp.shop.list_orders", "mcp__shop.list_orders"},
		{"mcp__shop__.list", "mcp__shop__list", "mcp__shop__.list"},
		{"get_weather", "functions.functions.get_weather", ".get_weather"},
		{"get_weather", "functions.functions.get_weatherjson", ".get_weather"},
		{"mcp__shop__list", "mcp__shop.list", ".mcp__shop__list"},
		{"mcp__shop__list", "functions.mcp__shop.list", ".mcp__shop__list"},
		// A name of its own goes before one that is missed.
		{"a.b a__b", "functions.a__b", ".a__b"},
		{"crm.find erp.find", "functions.crm.find", "crm.find"},
		{"crm.find erp.find", "erp.find", "erp.find"},
		{"functions_x.f", "functions_x.f", "functions_x.f"},
		// Which one, or none.
		{"a.b a__b", "functions.a.b", ""},
		{"crm.find erp.find", "functions.find", ""},
		{"a__b.c a.b__c", "a.b.c", ""},
		{"get_weather", "functions.get_weather2", ""},
		{"get_weather", "other.get_weather", ""},
		{"get_weather", "functions.functions.functions.get_weather", ""},
		{"mcp__shop.list", "mcp__other.list", ""},
		{"mcp__shop.list", "mcp__shop_list", ""},
		{"mcp__shop.list", "mcp__shop.", ""},
		{"mcp__shop.list", "mcp__shop", ""},
		{"mcp__shop.list", ".list", ""},
		{"", "functions.functions.x", ""},
	} {
		got := ""
		set := newToolset(declaredAs(tt.declared))
		tool := set.byRecipient(tt.recipient)
		if tool != nil {
			got = tool.namespace + "." + tool.name
		}
		if got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.recipient, tt.declared, got, tt.want)
		}
		// Servers that take conversations write names that are missed likewise.
		name := strings.TrimSuffix(tt.recipient, jsonType)
		if r := (&Request{tools: set}); tool != nil && r.CalledName(name) != tool.shown {
			t.Errorf("%s of %q is called as %s", name, tt.declared, r.CalledName(name))
		}
	}
}
