package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// DefaultDrainTime is how long Kubernetes and others wait between the signal and the kill.
	DefaultDrainTime = 30 * time.Second
	// DrainPoll is how often the remaining streams are counted.
	DrainPoll = 50 * time.Millisecond
)

// Listen listens on the address of a flag. An address that is not one, or is in use, is an error that names the flag.
func Listen(address, flag string) (net.Listener, error) {
	a, err := config.ParseListen(address)
	if err != nil {
		return nil, Usage(fmt.Errorf("%s: %w", flag, err))
	}
	if err := PortFree(address, flag); err != nil {
		return nil, err
	}
	return net.Listen("tcp", a.String())
}

// Reachable reports whether other machines may connect to an address.
func Reachable(at net.Addr) bool {
	a, ok := at.(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}

// PortFree returns an error if an address is in use. Envoy itself would not notice: two Envoys share a port and its
// clients (SO_REUSEPORT).
func PortFree(address, flag string) error {
	a, err := config.ParseListen(address)
	if err != nil {
		return err
	}
	if a.Port() == 0 {
		return nil
	}
	l, err := net.Listen("tcp", a.String())
	if err == nil {
		return l.Close()
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use; stop what listens there, or choose another address with %s", address, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s needs rights that this user does not have; choose a port above 1023 with %s", address, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; choose another with %s", address, flag)
	}
	return fmt.Errorf("cannot listen on %s (%w); choose another address with %s", address, err, flag)
}

// StatsAddress parses --stats. "" is the invalid address.
func StatsAddress(text string) (at netip.AddrPort, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = config.ParseListen(text); err != nil {
		return at, fmt.Errorf("--stats: %w", err)
	}
	return at, nil
}
