package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// mayBeRenamed reports whether clients may call the model otherwise than its servers do.
func (m *Model) mayBeRenamed() bool { return m.ServerModel != m.Name || len(m.Aliases) > 0 }

// namesOf returns the names of models.
func namesOf(models []Model) contract.Names {
	named := make([]contract.Named, len(models))
	for i := range models {
		named[i] = contract.Named{Name: models[i].Name, Aliases: models[i].Aliases}
	}
	return contract.NewNames(named)
}

// model returns the model that a client calls by this name, or nil.
func (g *Gateway) model(name string) *Model {
	if at := g.names.Find(name); at >= 0 {
		return &g.models[at]
	}
	return nil
}
