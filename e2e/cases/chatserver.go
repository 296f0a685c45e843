//go:build e2e

package cases

import (
	"cmp"
	"maps"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// WantChat is the member with the view before a server that takes conversations, where that is another than before
// vLLM.
const WantChat = "want chat"

// OfChatServers reads the cases that are about servers that take conversations alone.
func OfChatServers(t *testing.T) []*Case {
	t.Helper()
	paths, err := filepath.Glob(lab.File("e2e/cases/chatservers/*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	var all []*Case
	for _, path := range paths {
		c, err := read(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, c.On(contract.Chat))
	}
	return all
}

// formSettings are the settings of a gateway before servers of each form.
var formSettings = map[string]map[string]string{
	sim.ChatThink:   {"think_tags": contract.ThinkAnywhere},
	sim.ChatOpened:  {"think_tags": contract.ThinkOpened},
	sim.ChatMarker:  {"speaks": contract.SpeaksMarker},
	sim.ChatHarmony: {"speaks": contract.SpeaksHarmony},
}

// Formed returns the case before a chat server whose answers have this form, one of [sim.ChatForms]. The gateway's
// settings are those for such a server if set says so.
func (c *Case) Formed(form string, set bool) *Case {
	other := *c
	other.Settings = maps.Clone(c.Settings)
	other.Settings["chat_form"] = form
	if set {
		maps.Copy(other.Settings, formSettings[form])
	}
	return &other
}

// UpdateChat writes what was seen before a server that takes conversations into the case's file; empty is what is seen
// before vLLM.
func (c *Case) UpdateChat(want string) error { return c.rewrite(member(WantChat, want)) }

// setChatServer sets the options of a server that takes conversations.
func (c *Case) setChatServer(o *sim.Options) {
	o.ChatForm, o.ChatMarker, o.APIPath = c.Settings["chat_form"], c.Settings["chat_marker"], c.Settings["server_path"]
	for name, flag := range map[string]*bool{"openai_only": &o.OpenAIOnly, "no_developer": &o.NoDeveloper,
		"text_only": &o.TextOnly, "chat_whole": &o.ChatWhole, "no_usage": &o.NoUsage, "one_call": &o.OneCall} {
		*flag = c.Settings[name] == "true"
	}
}

// ServerPath returns the path of requests to the case's server.
func (c *Case) ServerPath() string {
	m := contract.Model{APIPath: cmp.Or(c.Settings["server_path"], contract.DefaultAPIPath)}
	return m.ServerPath(c.ServerKind().Path)
}
