package pools

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"

	"github.com/harmonyedge/harmonyedge/internal/watch"
)

// maxFile is the largest file of servers or of certificates, in bytes.
const maxFile = 1 << 20

// source is a file whose last valid content counts.
type source[T any] struct {
	path string
	// parse parses the file. before is its last valid content, if there is any.
	parse func(path string, data []byte, before T) (T, error)
	sum   [sha256.Size]byte // hash of the content read last
	valid T
	err   error // what is wrong with the content read last; its text names the file
}

// reread returns the source after reading its file again.
func (s source[T]) reread() source[T] {
	data, err := watch.Read(s.path, maxFile)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the rest of the error repeats the path
		}
		s.sum, s.err = [sha256.Size]byte{}, fmt.Errorf("%s: cannot be read: %w", s.path, err)
		return s
	}
	sum := sha256.Sum256(data)
	if sum == s.sum {
		return s
	}
	s.sum = sum
	valid, err := s.parse(s.path, data, s.valid)
	if s.err = err; err == nil {
		s.valid = valid
	}
	return s
}

func parseRoots(path string, data []byte, _ *x509.CertPool) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, errors.New(path + ": has no PEM certificate")
	}
	return roots, nil
}
