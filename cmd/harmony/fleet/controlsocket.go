package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

const (
	// controlSocket is the name of the socket for commands in the state folder.
	controlSocket = "control.sock"
	// noControl is the value of --control that serves no commands.
	noControl = "none"
)

// controlSocket returns the listener for commands, or nil if there is none. That a default one cannot be had is logged,
// and no error.
func (f *controlplaneFlags) controlSocket(state string, log *slog.Logger) (net.Listener, error) {
	path := f.control
	switch {
	case path == noControl || path == "" && (state == "" || f.wasmOnEnvoys != ""):
		return nil, nil
	case path != "":
		l, err := listenForCommands(path)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--control: %w", err))
		}
		return l, nil
	}
	l, err := listenForCommands(filepath.Join(state, controlSocket))
	if err != nil {
		log.Warn("there is no socket for commands, so no rollouts; name one with --control", "error", err)
		return nil, nil
	}
	return l, nil
}

// listenForCommands makes a socket that only this user can connect to. One that a killed process has left is replaced.
func listenForCommands(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if len(path) > cli.MaxSocketPath {
		return nil, fmt.Errorf("%s has %d bytes, and the path of a socket may have %d", path, len(path), cli.MaxSocketPath)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if other, err := net.Dial("unix", path); err == nil {
		other.Close()
		return nil, fmt.Errorf("another control plane serves %s", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is there already, and no socket", path)
	}
	// It gets its place when it has its mode: the folder may be one that others can enter.
	private, err := os.MkdirTemp(filepath.Dir(path), ".") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	hidden := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: hidden, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &commandListener{Listener: l, path: path}, nil
}

// commandListener is a listener whose socket is elsewhere than where it was made.
type commandListener struct {
	net.Listener
	path string
}

// Addr implements [net.Listener].
func (l *commandListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close implements [net.Listener].
func (l *commandListener) Close() error {
	err := l.Listener.Close()
	if err == nil { // else it was closed before, and the socket may be another's
		os.Remove(l.path)
	}
	return err
}
