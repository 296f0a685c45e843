package config

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// SealKeysVariable is the environment variable that the keys come from, as ID:BASE64,ID:BASE64,… (seal.ParseKeys).
const SealKeysVariable = "HARMONY_SEAL_KEYS"

// Seal says how the reasoning is sealed that clients of the Responses API carry from one request to the next.
type Seal struct {
	// LifetimeS is how long a sealed text opens, in seconds.
	LifetimeS int
	// TenantHeader is the header, in lower case, whose value tells apart those who must not open each other's. Empty: none.
	TenantHeader string
}

// The limits of Seal.LifetimeS, and its default.
const (
	DefaultSealLifetimeS = 30 * 24 * 3600
	MaxSealLifetimeS     = 10 * 365 * 24 * 3600
)

func (p *parser) seal(path string, v *rawjson.Value, s *Seal) {
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "lifetime_s":
			s.LifetimeS = p.integer(key, value, 1, MaxSealLifetimeS)
		case "tenant_header":
			s.TenantHeader = p.text(key, value)
			if s.TenantHeader != strings.ToLower(s.TenantHeader) {
				p.fail(key, "must be in lower case")
			}
		default:
			return false
		}
		return true
	})
}

func (s *Seal) write(w *writer, otherwise *Seal) {
	w.integer("lifetime_s", s.LifetimeS, otherwise.LifetimeS)
	w.text("tenant_header", s.TenantHeader, otherwise.TenantHeader)
}
