package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// The bounds of the settings that protect the gateway from its clients.
const (
	minRequestTimeout = time.Second
	maxRequestTimeout = time.Hour
	minHeap           = 128 << 20
	maxHeap           = 1 << 40
	maxConnections    = 1_000_000
)

// checkEdge checks the settings that protect the gateway from its clients.
func (c *Config) checkEdge() *Error {
	if d := time.Duration(c.RequestTimeout); d < minRequestTimeout || d > maxRequestTimeout {
		return &Error{Field: "request_timeout", Reason: d.String() + " is out of range; write how long a client may take " +
			"to send a request, 1s to 1h"}
	}
	for i, o := range c.CORSOrigins {
		if !validOrigin(o) {
			return &Error{Field: fmt.Sprintf("cors_origins[%d]", i), Reason: fmt.Sprintf("%q is not an origin; write one as "+
				"browsers do, such as https://chat.example.com, or * for any", o)}
		}
	}
	return c.Envoy.checkLimits()
}

func (e *Envoy) checkLimits() *Error {
	if e.MaxHeap < minHeap || e.MaxHeap > maxHeap {
		return &Error{Field: "envoy.max_heap", Reason: fmt.Sprintf("%s is out of range; use 128MiB to 1024GiB", &e.MaxHeap)}
	}
	if e.MaxConnections < 1 || e.MaxConnections > maxConnections {
		return &Error{Field: "envoy.max_connections",
			Reason: fmt.Sprintf("%d is out of range; use 1 to %d", e.MaxConnections, maxConnections)}
	}
	return nil
}

// CheckLimits returns an error in the limits of an Envoy that starts without a configuration file, as an [*Error].
func (e *Envoy) CheckLimits() error {
	if failure := e.checkLimits(); failure != nil {
		return failure
	}
	return nil
}

// validOrigin reports whether a browser can send this origin: a scheme and a host, without a path.
func validOrigin(origin string) bool {
	if origin == "*" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.ToLower(u.Scheme+"://"+u.Host) == origin
}
