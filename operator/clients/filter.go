package clients

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Fill adds the file's clients to the filter's configuration.
func (f *File) Fill(to *contract.Clients) {
	to.Context = f.Defaults.Context
	for i := range f.Clients {
		c := &f.Clients[i]
		if to.By == contract.ClientsByKey {
			for _, h := range c.Hashes {
				to.Keys = append(to.Keys, keyEntry(h, c.Name))
			}
			if c.Deputy {
				to.Deputies = append(to.Deputies, c.Name)
			}
		}
		if c.Limits != nil && c.Limits.Context != f.Defaults.Context {
			to.Contexts = append(to.Contexts, fmt.Sprintf("%s %d", c.Name, c.Limits.Context))
		}
		for _, m := range c.Models {
			if m.Context > 0 {
				to.Contexts = append(to.Contexts, fmt.Sprintf("%s %d %s", c.Name, m.Context, m.Name))
			}
		}
		if c.Class != "" {
			to.Classes = append(to.Classes, c.Name+" "+c.Class)
		}
		if len(to.Counted) < contract.MaxCountedClients {
			to.Counted = append(to.Counted, c.Name)
		}
	}
	slices.Sort(to.Keys)
	slices.Sort(to.Contexts)
	slices.Sort(to.Classes)
}

// AddDeputy adds the key of the responses service that is not in a file.
func AddDeputy(to *contract.Clients, h Hash) {
	to.Keys = append(to.Keys, keyEntry(h, Service))
	slices.Sort(to.Keys)
	to.Deputies = append(to.Deputies, Service)
}

func keyEntry(h Hash, name string) string { return hex.EncodeToString(h[:]) + " " + name }
