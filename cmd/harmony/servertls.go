package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// serverTLS has the files for TLS with Envoys. If they are all empty, connections have no TLS.
type serverTLS struct{ certificate, key, clientCA string }

func (s *serverTLS) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.certificate, "certificate", "",
		"`FILE` of the certificate that Envoys check (default: clear text)")
	flags.StringVar(&s.key, "key", "", "`FILE` of its key")
	flags.StringVar(&s.clientCA, "client-ca", "",
		"`FILE` of the certificates that Envoys' own are checked against (default: Envoys need none)")
}

func (s *serverTLS) on() bool { return s.certificate != "" }

// wrap adds TLS to a listener, if there is any. It reads the files again for each connection, so that they can be
// renewed.
func (s *serverTLS) wrap(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if *s == (serverTLS{}) {
		return l, nil
	}
	if s.certificate == "" || s.key == "" {
		return nil, errors.Join(errors.New("--certificate needs --key, and --client-ca needs both"), l.Close())
	}
	if _, err := s.config(nil); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	h := &handshakes{Listener: l, log: log, logged: map[string]time.Time{}}
	return tls.NewListener(h, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := s.config(hello)
			if err == nil {
				c.VerifyConnection = h.accept(hello)
			}
			return c, err
		}}), nil
}

func (s *serverTLS) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(s.certificate, s.key)
	if err != nil {
		return nil, fmt.Errorf("--certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair}}
	if s.clientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(s.clientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--client-ca: %s has no certificates", s.clientCA)
	}
	return c, nil
}
