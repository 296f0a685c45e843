package config

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/internal/watch"
)

// SecretValue is the value of a [Secret]: a token, or a certificate with its key in PEM.
type SecretValue struct {
	Token            string
	Certificate, Key []byte
}

// maxSecret is the largest file of a secret, in bytes. Tokens and certificate chains are much smaller.
const maxSecret = 1 << 20

// SecretValue reads the value of the i-th secret. An error is an [*Error], and contains no value.
func (c *Config) SecretValue(i int) (SecretValue, error) {
	value, field, err := c.Secrets[i].read()
	if err != nil {
		return SecretValue{}, &Error{Field: fmt.Sprintf("secrets[%d]%s", i, field), Reason: err.Error()}
	}
	return value, nil
}

// read returns the value, and the setting that an error is about.
func (s *Secret) read() (value SecretValue, field string, err error) {
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
