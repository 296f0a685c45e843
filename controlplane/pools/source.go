package pools

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"

	"github.com/harmonyedge/harmonyedge/controlplane/watch"
)

// maxFile is how large a file of servers or of certificates may be.
const maxFile = 1 << 20

// source is a file of which the last content counts that was good.
type source[T any] struct {
	path  string
	parse func(path string, data []byte) (T, error)
	sum   [sha256.Size]byte // of what was read last
	good  T
	err   error // what is wrong with what was read last; its text names the file
}

// reread is the source after another look at the file.
func (s source[T]) reread() source[T] {
	data, err := watch.Read(s.path, maxFile)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the rest says the path again
		}
		s.sum, s.err = [sha256.Size]byte{}, fmt.Errorf("%s: cannot be read: %w", s.path, err)
		return s
	}
	sum := sha256.Sum256(data)
	if sum == s.sum {
		return s
	}
	s.sum = sum
	good, err := s.parse(s.path, data)
	if s.err = err; err == nil {
		s.good = good
	}
	return s
}

func parseRoots(path string, data []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, errors.New(path + ": holds no certificate in PEM")
	}
	return roots, nil
}
