package config

import "fmt"

// DefaultListener is the name of the listener that Listen sets up.
const DefaultListener = "harmony"

// Listener is one address where clients connect. All listeners serve the same models.
type Listener struct {
	// Name is the listener's name in Envoy's statistics. Empty: harmony, which only one listener can have.
	Name string `yaml:"name"`
	// Address is host:port. Port 0 takes a free one.
	Address string `yaml:"address"`
	// TLS is the name of the secret that holds the certificate and its key. Empty: clear text.
	TLS string `yaml:"tls"`
}

// AllListeners returns Listeners, or the one listener that Listen sets up if there are none.
func (c *Config) AllListeners() []Listener {
	if len(c.Listeners) == 0 {
		return []Listener{{Name: DefaultListener, Address: c.Listen}}
	}
	all := append([]Listener(nil), c.Listeners...)
	for i := range all {
		if all[i].Name == "" {
			all[i].Name = DefaultListener
		}
	}
	return all
}

func (c *Config) checkListeners(p *problems) {
	if len(c.Listeners) == 0 {
		return
	}
	if c.Listen != DefaultListen {
		p.add("listen", "cannot be used with listeners; leave one of them out")
	}
	names, addresses := map[string]bool{}, map[string]bool{}
	for i, l := range c.AllListeners() {
		at := fmt.Sprintf("listeners[%d].", i)
		if a, err := ParseListen(l.Address); err == nil && a.Port() != 0 {
			if addresses[a.String()] {
				p.add(at+"address", "%s is listed twice", l.Address)
			}
			addresses[a.String()] = true
		}
		if names[l.Name] {
			p.add(at+"name", "%s is listed twice; give each listener a name of its own", l.Name)
		}
		names[l.Name] = true
	}
}

// nameRule describes valid names of listeners and pools. They stand in Envoy's statistics, where dots separate words.
const nameRule = "at most 128 letters, digits, - and _"

func validName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) <= 128
}
