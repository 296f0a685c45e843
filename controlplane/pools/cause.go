package pools

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Cause returns the cause of a network error in a few words. The words are always the same for one cause, and contain
// nothing that a peer sent, unlike the errors' own texts. For an unknown cause it returns fallback.
func Cause(err error, fallback string) string {
	var (
		answer  answerError
		dns     *net.DNSError
		errno   syscall.Errno
		cert    *tls.CertificateVerificationError
		alert   tls.AlertError
		record  tls.RecordHeaderError
		network net.Error
	)
	switch {
	case errors.As(err, &answer):
		return answer.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	case errors.As(err, &dns):
		return "the name server fails"
	case errors.As(err, &cert):
		return "its certificate " + certificateCause(cert)
	case errors.As(err, &alert):
		return "it refuses TLS: " + alert.Error()
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closes the connection without an answer"
	}
	return fallback
}

func certificateCause(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown):
		return "is signed by an unknown authority"
	case errors.As(err, &name):
		return "is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "has expired, or is not valid yet"
	}
	return "is not accepted"
}
