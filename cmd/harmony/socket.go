package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path that every system takes for a Unix socket: macOS's 104 bytes, one of which ends it.
const maxSocketPath = 103

// privateSocket is a Unix socket that only this user can connect to. What is served there are secrets of servers and
// listeners, and a TCP port of this machine is open to all of its users.
type privateSocket struct {
	net.Listener
	path string
}

// listenPrivately makes the socket, of mode 0600, in a folder of its own, of mode 0700.
func listenPrivately() (*privateSocket, error) {
	var errs error
	// A temporary folder may have a path so long that no socket can lie below it.
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		l, err := listenBelow(parent)
		if err == nil {
			return l, nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, fmt.Errorf("no place for the socket between Envoy and its control plane; set TMPDIR to a folder with a short path: %w", errs)
}

func listenBelow(parent string) (*privateSocket, error) {
	folder, err := os.MkdirTemp(parent, "harmony-up-") // mode 0700
	if err != nil {
		return nil, err
	}
	s := &privateSocket{path: filepath.Join(folder, "xds.sock")}
	if len(s.path) > maxSocketPath {
		s.remove()
		return nil, fmt.Errorf("%s is longer than a socket's path can be", s.path)
	}
	if s.Listener, err = net.Listen("unix", s.path); err == nil {
		// Whatever the umask is. Nobody else gets through the folder before.
		if err = os.Chmod(s.path, 0o600); err == nil {
			return s, nil
		}
		err = errors.Join(err, s.Close())
	}
	s.remove()
	return nil, err
}

// remove removes the folder. The listener has to be closed before.
func (s *privateSocket) remove() {
	_ = os.RemoveAll(filepath.Dir(s.path)) // a leftover in the temporary folder is no error of the caller's
}
