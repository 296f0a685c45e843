package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/internal/watch"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// maxSecret is the largest file of a secret, in bytes. Tokens and certificate chains are much smaller.
const maxSecret = 1 << 20

// readSecrets returns the values of the secrets that are used. No error contains a value. refuse is
// [Options].RefuseSecrets.
func readSecrets(c *config.Config, refuse string) (map[string]xds.SecretValue, error) {
	values := make(map[string]xds.SecretValue, len(c.Secrets)) // not nil, because Envoys get the secrets from here
	for i := range c.Secrets {
		if !c.Uses(c.Secrets[i].Name) {
			continue
		}
		if refuse != "" {
			return nil, &config.Error{Field: fmt.Sprintf("secrets[%d]", i), Reason: refuse}
		}
		value, field, err := readSecret(&c.Secrets[i])
		if err != nil {
			return nil, &config.Error{Field: fmt.Sprintf("secrets[%d]%s", i, field), Reason: err.Error()}
		}
		values[c.Secrets[i].Name] = value
	}
	return values, nil
}

func readSecret(s *config.Secret) (value xds.SecretValue, field string, err error) {
	if s.IsCertificate() {
		if value.Certificate, err = watch.Read(s.Certificate, maxSecret); err != nil {
			return value, ".certificate", err
		}
		if value.Key, err = watch.Read(s.Key, maxSecret); err != nil {
			return value, ".key", err
		}
		if _, err := tls.X509KeyPair(value.Certificate, value.Key); err != nil {
			return value, "", errors.New("the certificate and its key cannot be used: " + err.Error())
		}
		return value, "", nil
	}
	field, token := ".env", []byte(os.Getenv(s.Env))
	if s.File != "" {
		field = ".file"
		if token, err = watch.Read(s.File, maxSecret); err != nil {
			return value, field, err
		}
	}
	value.Token = string(bytes.TrimSpace(token))
	switch {
	case value.Token == "" && s.Env != "":
		return value, field, errors.New(s.Env + " is not set, or is empty; set it in the control plane's environment")
	case value.Token == "":
		return value, field, errors.New(s.File + " has no token")
	case !httpguts.ValidHeaderFieldValue(value.Token):
		return value, field, errors.New("the token is not a valid header value")
	}
	return value, "", nil
}
