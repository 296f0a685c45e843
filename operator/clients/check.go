package clients

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// check checks what a file says, and makes its index.
func (f *File) check() *Error {
	if len(f.Clients) > MaxClients {
		return &Error{Field: "clients", Reason: fmt.Sprintf("has %d clients; %d is the limit", len(f.Clients), MaxClients)}
	}
	if e := f.Defaults.check("defaults"); e != nil {
		return e
	}
	f.byName = make(map[string]*Client, len(f.Clients))
	owners := map[Hash]string{}
	for i := range f.Clients {
		c, field := &f.Clients[i], fmt.Sprintf("clients[%d]", i)
		if !contract.ValidClient(c.Name) {
			return &Error{Field: field + ".name", Reason: "is not a name; use at most 64 letters, digits and . _ - @ : / +"}
		}
		if f.byName[c.Name] != nil {
			return &Error{Field: field + ".name", Reason: c.Name + " is listed twice; give all its hashes in one place"}
		}
		f.byName[c.Name] = c
		if c.Name == Service && !c.Deputy {
			return &Error{Field: field + ".name", Reason: Service + " is the name of a service that sends requests of others; " +
				"choose another, or write deputy: true"}
		}
		if c.Name == Anonymous && len(c.Hashes) > 0 {
			return &Error{Field: field + ".hashes", Reason: Anonymous + " is the name of requests without a key"}
		}
		for j, h := range c.Hashes {
			if owner, ok := owners[h]; ok {
				return &Error{Field: fmt.Sprintf("%s.hashes[%d]", field, j), Reason: "is a hash of " + owner + " already"}
			}
			owners[h] = c.Name
		}
		if e := c.check(field); e != nil {
			return e
		}
	}
	if len(owners) > MaxHashes {
		return &Error{Field: "clients", Reason: fmt.Sprintf("have %d hashes; %d is the limit", len(owners), MaxHashes)}
	}
	return nil
}

func (c *Client) check(field string) *Error {
	if c.Limits != nil {
		if e := c.Limits.check(field + ".limits"); e != nil {
			return e
		}
	}
	if c.Weight < 0 || c.Weight > MaxWeight {
		return &Error{Field: field + ".weight",
			Reason: fmt.Sprintf("%d is out of range; use 1 to %d, or leave it out for 1", c.Weight, MaxWeight)}
	}
	if !contract.ValidClass(c.Class) {
		return &Error{Field: field + ".class", Reason: "is not the name of a class; use at most 64 letters, digits, - and _"}
	}
	seen := map[string]bool{}
	for i := range c.Models {
		m, place := &c.Models[i], fmt.Sprintf("%s.models[%d]", field, i)
		if m.Name == "" || len(m.Name) > contract.MaxNameLength {
			return &Error{Field: place + ".name", Reason: "is not a model's name"}
		}
		if seen[m.Name] {
			return &Error{Field: place + ".name", Reason: m.Name + " is listed twice"}
		}
		seen[m.Name] = true
		if e := m.check(place); e != nil {
			return e
		}
	}
	return nil
}

func (l *Limits) check(field string) *Error {
	for _, one := range []struct {
		name       string
		value, max int
	}{
		{"requests_per_minute", l.RequestsPerMinute, MaxLimit}, {"requests_per_day", l.RequestsPerDay, MaxLimit},
		{"tokens_per_minute", l.TokensPerMinute, MaxLimit}, {"tokens_per_day", l.TokensPerDay, MaxLimit},
		{"concurrency", l.Concurrency, MaxLimit}, {"context", l.Context, contract.MaxClientContext},
	} {
		if one.value < 0 || one.value > one.max {
			return &Error{Field: field + "." + one.name,
				Reason: fmt.Sprintf("%d is out of range; use 1 to %d, or leave it out for no limit", one.value, one.max)}
		}
	}
	return nil
}
