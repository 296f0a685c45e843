package toolserver

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  string
	}{
		{&net.OpError{Op: "dial", Err: &egress.BlockedError{Reason: "no"}}, "blocked: no"},
		{&egress.RedirectError{Status: 302}, "Http status code: 302 (Found); redirects are not followed"},
		{&egress.EncodingError{}, "the server sent a compressed answer, which it was not asked for"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "secret.example", IsNotFound: true}},
			"the server's name has no address"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
			"the server refuses connections"},
		{&tls.CertificateVerificationError{Err: errors.New("secret")}, "the server's certificate is not valid"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "connecting to the server took longer than 10s"},
		{errors.New("secret"), "the connection to the server failed"},
	} {
		err := unreachable(&url.Error{Op: "Post", URL: "https://a/mcp?key=secret", Err: c.cause}, 10*time.Second)
		if err.Error() != c.want {
			t.Errorf("%v is %q, want %q", c.cause, err, c.want)
		}
	}
}
