package up

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/internal/runfolder"
)

// xdsSocket is the name of the control plane's socket in the folder of a run.
const xdsSocket = "xds.sock"

// privateSocket is a Unix socket that only this user can connect to. The control plane sends the secrets of servers and
// listeners over it, and a TCP port of this machine would be open to all of its users (RATIONALE.md#66).
type privateSocket struct {
	net.Listener
	path   string
	folder *runfolder.Folder
}

// listenPrivately makes a socket of mode 0600 in the folder of this run, which has mode 0700.
func listenPrivately() (*privateSocket, error) {
	var errs error
	for _, parent := range cli.RunParents() {
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
	folder, err := runfolder.New(parent, cli.RunFolders)
	if err != nil {
		return nil, err
	}
	s := &privateSocket{path: folder.File(xdsSocket), folder: folder}
	if len(folder.File(cli.AdminSocket)) > cli.MaxSocketPath {
		folder.Remove()
		return nil, fmt.Errorf("%s is too long for the path of a socket", s.path)
	}
	if s.Listener, err = net.Listen("unix", s.path); err == nil {
		// The umask may have given it another mode. Until here the folder's mode protects it.
		if err = os.Chmod(s.path, 0o600); err == nil {
			return s, nil
		}
		err = errors.Join(err, s.Close())
	}
	folder.Remove()
	return nil, err
}

// discard closes the listener of a control plane that does not run, and removes the folder.
func (s *privateSocket) discard() error {
	err := s.Close()
	s.folder.Remove()
	return err
}
