package config

import (
	"net/url"
	"strings"
)

// CheckLimits returns an error in the limits of an Envoy that starts without a configuration file, as an [*Error].
func (e *Envoy) CheckLimits() error {
	p := &problems{}
	walk("envoy.", e.fields(), p.refuse)
	return p.err()
}

// validOrigin reports whether a browser can send this origin: a scheme and a host, without a path.
func validOrigin(origin string) bool {
	if origin == "*" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.ToLower(u.Scheme+"://"+u.Host) == origin
}
