package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestShownNames checks that every tool has a name of its own, by which it and its calls in the history are found.
func TestShownNames(t *testing.T) {
	for _, tt := range []struct {
		declared string // NAMESPACE.NAME, or NAME alone
		shown    string
	}{
		{"find crm.list", "find list"},
		{"crm.find erp.find", "crm__find erp__find"},
		{"find crm.find", "find crm__find"},
		{"crm__find crm.find erp.find", "crm__find crm__find_2 erp__find"},
		{"crm.find erp.find crm__find", "crm__find_2 erp__find crm__find"},
		{"crm.find erp.find crm__find crm__find_2", "crm__find_3 erp__find crm__find crm__find_2"},
		{"crm.find erp.find erp.crm__find", "crm__find_2 erp__find crm__find"},
		{"a.b__c a__b.c x.b__c x.c", "a__b__c a__b__c_2 x__b__c x__c"},
	} {
		var declared []openai.Tool
		for _, name := range strings.Fields(tt.declared) {
			namespace, bare, ok := strings.Cut(name, ".")
			if !ok {
				namespace, bare = "", name
			}
			declared = append(declared, openai.Tool{Namespace: namespace, Name: bare})
		}
		set := newToolset(declared)
		renamed := set.renamed()
		var shown []string
		for i := range set {
			shown = append(shown, set[i].shown)
			called := set.byRecipient(functions + "." + set[i].shown)
			if called == nil || called.namespace != declared[i].Namespace || called.name != declared[i].Name {
				t.Errorf("%s: %s is called as %+v", tt.declared, set[i].shown, called)
			}
			if past := renamed.shown(declared[i].Namespace, declared[i].Name); past != set[i].shown {
				t.Errorf("%s: a call of the past of %s is one of %s", tt.declared, set[i].shown, past)
			}
		}
		if got := strings.Join(shown, " "); got != tt.shown {
			t.Errorf("%s: shown as %s, want %s", tt.declared, got, tt.shown)
		}
	}
}

// TestNamespaceDescriptions checks that the description of a namespace is shown with the names of its functions.
func TestNamespaceDescriptions(t *testing.T) {
	declared := []openai.Tool{
		{Name: "top"},
		{Name: "find", Namespace: "crm", NamespaceDescription: "Customers.\nRead only."},
		{Name: "list", Namespace: "crm", NamespaceDescription: "Customers.\nRead only."},
		{Name: "silent", Namespace: "plain"},
		{Name: "find", Namespace: "erp", NamespaceDescription: "Orders."},
	}
	got := newToolset(declared).namespaces(declared, schemasOf(declared))[0].Description
	const want = "crm (crm__find, list): Customers.\nRead only.\nerp (erp__find): Orders."
	if !got.Set || got.Value != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	if got := newToolset(declared[:1]).namespaces(declared[:1], schemasOf(declared[:1]))[0].Description; got.Set {
		t.Errorf("got %q of a tool without a namespace", got.Value)
	}
}
