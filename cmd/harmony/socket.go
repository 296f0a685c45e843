package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path of a Unix socket that works on every system. macOS has 104 bytes, and one of them
// ends the path.
const maxSocketPath = 103

// adminSocket is the name of the socket of Envoy's admin interface, in the same folder.
const adminSocket = "admin.sock"

// privateSocket is a Unix socket that only this user can connect to. The control plane sends the secrets of servers and
// listeners over it, and a TCP port of this machine would be open to all of its users (RATIONALE.md#66).
type privateSocket struct {
	net.Listener
	path string
}

// listenPrivately makes a socket of mode 0600, in a separate folder of mode 0700.
func listenPrivately() (*privateSocket, error) {
	var errs error
	// The path of a temporary folder may be too long for a socket in it.
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		l, err := listenBelow(parent)
		if err == nil {
			return l, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, fmt.Errorf("no place for the socket between Envoy and its control plane; set TMPDIR to a folder with a "+
		"short path: %w", errs)
}

func listenBelow(parent string) (*privateSocket, error) {
	folder, err := os.MkdirTemp(parent, "harmony-up-") // mode 0700
	if err != nil {
		return nil, err
	}
	s := &privateSocket{path: filepath.Join(folder, "xds.sock")}
	if len(s.beside(adminSocket)) > maxSocketPath {
		s.remove()
		return nil, fmt.Errorf("%s is too long for the path of a socket", s.path)
	}
	if s.Listener, err = net.Listen("unix", s.path); err == nil {
		// The umask may have given it another mode. Until here the folder's mode protects it.
		if err = os.Chmod(s.path, 0o600); err == nil {
			return s, nil
		}
		err = errors.Join(err, s.Close())
	}
	s.remove()
	return nil, err
}

// beside returns the path of another file in the folder.
func (s *privateSocket) beside(name string) string { return filepath.Join(filepath.Dir(s.path), name) }

// remove removes the folder. The listener must be closed before.
func (s *privateSocket) remove() {
	_ = os.RemoveAll(filepath.Dir(s.path)) // leftovers in the temporary folder do no harm
}
