package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	adminTimeout  = 5 * time.Second
	maxAdminReply = 16 << 20
)

// AdminInterface is the admin interface of an Envoy, by its address: host:port, or unix:PATH for a socket.
type AdminInterface string

// transport returns the transport to the admin interface. It uses no proxy of the environment, because the interface is
// on this machine.
func (a AdminInterface) transport() *http.Transport {
	t := &http.Transport{DisableKeepAlives: true}
	if path, ok := strings.CutPrefix(string(a), UnixPrefix); ok {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
	}
	return t
}

// host returns the host of URLs of the admin interface. For a socket it is any name.
func (a AdminInterface) host() string {
	if strings.HasPrefix(string(a), UnixPrefix) {
		return "envoy"
	}
	return string(a)
}

// Admin returns the address of the admin interface, as [AdminInterface] has it.
func (p *Process) Admin() string { return string(p.admin) }

// Get returns a page of the admin interface, such as /stats?format=json.
func (p *Process) Get(ctx context.Context, path string) ([]byte, error) {
	return p.admin.Get(ctx, path)
}

// Get returns a page, such as /stats?format=json.
func (a AdminInterface) Get(ctx context.Context, path string) ([]byte, error) {
	return a.request(ctx, http.MethodGet, path)
}

// request gets or posts a page. A page that changes something needs POST.
func (a AdminInterface) request(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.host()+path, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: adminTimeout, Transport: a.transport()}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("Envoy's admin interface: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAdminReply))
	if err != nil {
		return nil, fmt.Errorf("Envoy's admin interface: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Envoy's admin interface: %s answers %s", path, response.Status)
	}
	return body, nil
}

func (p *Process) ready(ctx context.Context) bool {
	_, err := p.Get(ctx, "/ready") // 503 until every listener has its workers
	return err == nil
}

// Listener returns the address that a listener is bound to, as host:port. It has the real port where the configuration
// has 0.
func (p *Process) Listener(ctx context.Context, name string) (string, error) {
	body, err := p.Get(ctx, "/listeners?format=json")
	if err != nil {
		return "", err
	}
	var listeners struct {
		Statuses []struct {
			Name    string `json:"name"`
			Address struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(body, &listeners); err != nil {
		return "", fmt.Errorf("Envoy's admin interface: /listeners: %w", err)
	}
	for _, l := range listeners.Statuses {
		if s := l.Address.Socket; l.Name == name && s.Port != 0 {
			return net.JoinHostPort(s.Address, strconv.Itoa(s.Port)), nil
		}
	}
	return "", fmt.Errorf("Envoy has no listener %s", name)
}
