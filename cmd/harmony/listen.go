package main

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
	// defaultDrainTime is how long Kubernetes and others wait between the signal and the kill.
	defaultDrainTime = 30 * time.Second
	// drainPoll is how often the remaining streams are counted.
	drainPoll = 50 * time.Millisecond
)

func listenOn(address, flag string) (net.Listener, error) {
	a, err := config.ParseListen(address)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	if err := portFree(address, flag); err != nil {
		return nil, err
	}
	return net.Listen("tcp", a.String())
}

// reachable reports whether other machines may connect to an address.
func reachable(at net.Addr) bool {
	a, ok := at.(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}

// portFree returns an error if an address is in use. Envoy itself would not notice: two Envoys share a port and its
// clients (SO_REUSEPORT).
func portFree(address, flag string) error {
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

// statsAddress parses --stats. "" is the invalid address.
func statsAddress(text string) (at netip.AddrPort, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = config.ParseListen(text); err != nil {
		return at, fmt.Errorf("--stats: %w", err)
	}
	return at, nil
}
