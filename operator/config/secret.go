package config

import (
	"fmt"
	"slices"
)

// Secret is the place of a secret value; the configuration itself holds none. It is either a token (File or Env) or a
// certificate with its key.
type Secret struct {
	// Name is the secret's name for pools and listeners.
	Name string `yaml:"name"`
	// File holds a token. White space around it is ignored.
	File string `yaml:"file"`
	// Env is the environment variable that holds a token.
	Env string `yaml:"env"`
	// Certificate is a file with a certificate chain in PEM. Key is a file with its private key.
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
}

// IsCertificate reports whether the secret is a certificate rather than a token.
func (s *Secret) IsCertificate() bool { return s.Certificate != "" || s.Key != "" }

// Secret returns the secret with this name, or nil.
func (c *Config) Secret(name string) *Secret {
	for i := range c.Secrets {
		if c.Secrets[i].Name == name {
			return &c.Secrets[i]
		}
	}
	return nil
}

// Uses reports whether a listener, or a pool with models, uses a secret. Only then must the secret exist.
func (c *Config) Uses(secret string) bool {
	for _, l := range c.AllListeners() {
		if l.TLS == secret {
			return true
		}
	}
	return slices.ContainsFunc(c.Models, func(m Model) bool {
		p := findPool(c.Pools, m.Pool)
		return p != nil && p.Authorization == secret
	})
}

func (c *Config) checkSecrets() *Error {
	for i := range c.Secrets {
		s := &c.Secrets[i]
		fail := func(field, format string, args ...any) *Error {
			return &Error{Field: fmt.Sprintf("secrets[%d]%s", i, field), Reason: fmt.Sprintf(format, args...)}
		}
		if !validName(s.Name) {
			return fail(".name", "%q is not a name; use %s", s.Name, nameRule)
		}
		if c.Secret(s.Name) != s {
			return fail(".name", "%s is listed twice", s.Name)
		}
		kinds := 0
		for _, given := range []bool{s.File != "", s.Env != "", s.IsCertificate()} {
			if given {
				kinds++
			}
		}
		if kinds != 1 {
			return fail("", "%s has %d sources; write one of file, env, or certificate with key", s.Name, kinds)
		}
		if s.IsCertificate() && (s.Certificate == "" || s.Key == "") {
			return fail("", "%s has half of a certificate; write both certificate and key", s.Name)
		}
	}
	return nil
}

// checkSecretOf checks the name of a secret in a field.
func (c *Config) checkSecretOf(field, name string, certificate bool) *Error {
	s := c.Secret(name)
	switch {
	case s == nil:
		return &Error{Field: field, Reason: fmt.Sprintf("there is no secret called %s; add it to secrets", name)}
	case certificate && !s.IsCertificate():
		return &Error{Field: field, Reason: name + " is a token; name a certificate with its key"}
	case !certificate && s.IsCertificate():
		return &Error{Field: field, Reason: name + " is a certificate; name a token"}
	}
	return nil
}
