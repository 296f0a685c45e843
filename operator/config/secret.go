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
		return p != nil && (p.Authorization == secret || p.Queue.WakeAuthorization == secret)
	})
}

func (c *Config) checkSecrets(p *problems) {
	for i := range c.Secrets {
		s, at := &c.Secrets[i], fmt.Sprintf("secrets[%d]", i)
		if c.Secret(s.Name) != s {
			p.add(at+".name", "%s is listed twice", s.Name)
		}
		kinds := 0
		for _, given := range []bool{s.File != "", s.Env != "", s.IsCertificate()} {
			if given {
				kinds++
			}
		}
		if kinds != 1 {
			p.add(at, "%s has %d sources; write one of file, env, or certificate with key", s.Name, kinds)
		}
		if s.IsCertificate() && (s.Certificate == "" || s.Key == "") {
			p.add(at, "%s has half of a certificate; write both certificate and key", s.Name)
		}
	}
}

// checkSecretOf checks a setting that names a secret.
func (c *Config) checkSecretOf(path string, f *Field, p *problems) {
	name, ok := f.At.(*string)
	if !ok || *name == "" {
		return
	}
	switch s, certificate := c.Secret(*name), f.Form == FormCertificate; {
	case s == nil:
		p.add(path, "there is no secret called %s; add it to secrets", *name)
	case certificate && !s.IsCertificate():
		p.add(path, "%s is a token; name a certificate with its key", *name)
	case !certificate && s.IsCertificate():
		p.add(path, "%s is a certificate; name a token", *name)
	}
}
