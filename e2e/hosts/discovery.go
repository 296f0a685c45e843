package hosts

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy"
)

// EnvoyOverADS runs the real Envoy and gives it these resources as a control plane does, over delta ADS. It returns
// when Envoy has accepted all of them. If Envoy refuses one, the error has Envoy's text.
func EnvoyOverADS(s Setup, r *xds.Resources) (*Host, error) {
	server := ads.New(ads.Options{})
	if err := set(server, r); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", anyPort.String())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(ctx, listener) // if it fails, Envoy does not become current, and that error says more
	}()
	stop := func() {
		cancel()
		<-served
	}
	bootstrap, err := envoy.DiscoveryBootstrap(
		envoy.Discovery{ControlPlane: listener.Addr().String(), Node: "harmony", Admin: anyPort})
	if err != nil {
		stop()
		return nil, err
	}
	h, err := startEnvoy(s, bootstrap)
	if err != nil {
		stop()
		return nil, err
	}
	stopEnvoy := h.stop
	h.stop = func() {
		stopEnvoy()
		stop()
	}
	h.plane = server
	if err := h.awaitCurrent(); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

// Update gives the Envoy of [EnvoyOverADS] other resources. It returns when Envoy has accepted all of them.
func (h *Host) Update(r *xds.Resources) error {
	if err := set(h.plane, r); err != nil {
		return err
	}
	if err := h.awaitCurrent(); err != nil {
		return err
	}
	return h.findListener(r.Listeners[0].GetName())
}

func set(server *ads.Server, r *xds.Resources) error {
	discovered, err := r.Discovered()
	if err != nil {
		return err
	}
	_, err = server.Set(discovered)
	return err
}

// awaitCurrent is awaitCurrent for the host's Envoy, whose log says more than what it sends to the control plane.
func (h *Host) awaitCurrent() error {
	if err := awaitCurrent(h.plane); err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, h.Process.Log(lastWords))
	}
	return nil
}

const lastWords = 20 // lines

// awaitCurrent waits until the only Envoy has accepted everything.
func awaitCurrent(server *ads.Server) error {
	tooLate := time.After(startLimit)
	for {
		all := server.Envoys()
		if len(all) == 1 && all[0].Current {
			return nil
		}
		for _, e := range all {
			for name, state := range e.Types {
				if state.Refused != "" {
					return fmt.Errorf("Envoy refuses %s %v: %s", name, state.Resources, state.Error)
				}
			}
		}
		select {
		case <-server.Changed():
		case <-tooLate:
			return fmt.Errorf("after %s Envoy has not accepted its configuration: %+v", startLimit, all)
		}
	}
}
