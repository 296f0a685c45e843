package server

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ExpiryWarning is how long before its end a certificate is warned of.
const ExpiryWarning = 14 * 24 * time.Hour

// certificateInterval is the time between two looks at the certificates, for the log.
const certificateInterval = time.Minute

// CertificateStatus is a file with certificates: of a listener, of an authority, or of the program itself.
type CertificateStatus struct {
	File string `json:"file"`
	// Expires is when the first of the file's certificates expires.
	Expires time.Time `json:"expires"`
}

// Late reports whether a certificate expires soon, or has expired.
func (c *CertificateStatus) Late(now time.Time) bool { return c.Expires.Sub(now) < ExpiryWarning }

// certificates returns the certificates of a configuration and of the program. Files that cannot be read are left out:
// what needs them reports that.
func (s *Server) certificates(c *configuration) []CertificateStatus {
	files := append([]string{}, s.options.Certificates...)
	if c != nil {
		files = append(files, certificateFiles(c.Config)...)
	}
	var all []CertificateStatus
	seen := map[string]bool{"": true}
	for _, file := range files {
		if seen[file] {
			continue
		}
		seen[file] = true
		if expires, ok := expiryOf(file); ok {
			all = append(all, CertificateStatus{File: file, Expires: expires})
		}
	}
	return all
}

func certificateFiles(c *config.Config) []string {
	files := []string{c.CAFile}
	for i := range c.Secrets {
		files = append(files, c.Secrets[i].Certificate)
	}
	return files
}

// expiryOf returns when the first certificate in a PEM file expires.
func expiryOf(file string) (first time.Time, ok bool) {
	rest, err := os.ReadFile(file)
	if err != nil {
		return first, false
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return first, ok
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if block.Type == "CERTIFICATE" && err == nil && (!ok || one.NotAfter.Before(first)) {
			first, ok = one.NotAfter, true
		}
	}
}

// warnOfCertificates logs each certificate that expires soon, once, until ctx ends.
func (s *Server) warnOfCertificates(ctx context.Context) error {
	warned := map[CertificateStatus]bool{}
	for {
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		for _, one := range s.certificates(current) {
			if one.Late(time.Now()) && !warned[one] {
				warned[one] = true
				s.log.Warn("a certificate expires soon", "file", one.File, "expires", one.Expires)
			}
		}
		next := certificateInterval
		if current == nil {
			next = coalesce // the first configuration comes soon
		}
		if !s.wait(ctx, next) {
			return nil
		}
	}
}
