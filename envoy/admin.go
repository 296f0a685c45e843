package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	adminTimeout  = 5 * time.Second
	maxAdminReply = 16 << 20
)

// adminClient uses no proxy of the environment, because the admin interface is on loopback.
var adminClient = &http.Client{Timeout: adminTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// AdminInterface is the admin interface of an Envoy, by its address: host:port.
type AdminInterface string

// Admin returns the address of the admin interface, as host:port.
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
	request, err := http.NewRequestWithContext(ctx, method, "http://"+string(a)+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := adminClient.Do(request)
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
