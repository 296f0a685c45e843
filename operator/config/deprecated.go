package config

import "fmt"

// Deprecated returns an error for each setting in c that still works and has another in its place now. Its text names
// the other.
func (c *Config) Deprecated() []*Error {
	var all []*Error
	for i := range c.Models {
		m := &c.Models[i]
		if m.Dialect == "" {
			continue
		}
		reason := "is deprecated; leave it out: each of servers names its kind"
		if p := findPool(c.Pools, m.Pool); p != nil {
			reason = fmt.Sprintf("is deprecated; leave it out, and write kind: %s in the pool %s", m.Dialect, p.Name)
			if p.Kind != "" {
				reason = fmt.Sprintf("is deprecated; leave it out: kind of the pool %s is in its place", p.Name)
			}
		}
		all = append(all, &Error{Field: fmt.Sprintf("models[%d].dialect", i), Reason: reason})
	}
	return all
}
