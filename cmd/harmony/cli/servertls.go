package cli

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

// ServerTLS has the files for TLS with Envoys. If they are all empty, connections have no TLS.
type ServerTLS struct{ Certificate, Key, ClientCA string }

// Add adds the flags to a command's.
func (s *ServerTLS) Add(flags *pflag.FlagSet) {
	flags.StringVar(&s.Certificate, "certificate", "",
		"`FILE` of the certificate that Envoys check (default: clear text)")
	flags.StringVar(&s.Key, "key", "", "`FILE` of its key")
	flags.StringVar(&s.ClientCA, "client-ca", "",
		"`FILE` of the certificates that Envoys' own are checked against (default: Envoys need none)")
}

// On reports whether connections have TLS.
func (s *ServerTLS) On() bool { return s.Certificate != "" }

// Wrap adds TLS to a listener, if there is any. It reads the files again for each connection, so that they can be
// renewed.
func (s *ServerTLS) Wrap(l net.Listener, log *slog.Logger) (net.Listener, error) {
	if *s == (ServerTLS{}) {
		return l, nil
	}
	if s.Certificate == "" || s.Key == "" {
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

func (s *ServerTLS) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
	if err != nil {
		return nil, fmt.Errorf("--certificate: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair}}
	if s.ClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(s.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--client-ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--client-ca: %s has no certificates", s.ClientCA)
	}
	return c, nil
}
