package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestFillClasses: the filter knows the class of each client that has one.
func TestFillClasses(t *testing.T) {
	hash := func(digit string) string { return `["sha256:` + strings.Repeat(digit, 64) + `"]` }
	f, err := Parse("k", []byte("clients:\n- {name: b, hashes: "+hash("1")+", class: batch}\n- {name: a-1, hashes: "+hash("2")+
		", class: chat}\n- {name: a, hashes: "+hash("3")+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	to := contract.Clients{By: contract.ClientsByKey}
	f.Fill(&to)
	if want := []string{"a-1 chat", "b batch"}; !slices.Equal(to.Classes, want) || to.Unsorted() {
		t.Errorf("got %v, want %v", to.Classes, want)
	}
	for client, want := range map[string]string{"a": "", "a-1": "chat", "b": "batch", "c": "", "": ""} {
		if got := to.ClassOf(client); got != want {
			t.Errorf("%s: got %q, want %q", client, got, want)
		}
	}
	to.DefaultClass = "chat"
	if got := to.ClassOf("a") + " " + to.ClassOf("b"); got != "chat batch" {
		t.Errorf("with a default: %s", got)
	}
	_, err = Parse("k", []byte("clients:\n- {name: b, hashes: "+hash("1")+", class: a b}\n"))
	if err == nil || !strings.Contains(err.Error(), `clients[0].class: is not the name of a class`) {
		t.Errorf("got %v", err)
	}
}
