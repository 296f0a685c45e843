package egress

import (
	"errors"
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.0",
		"172.15.255.255", "172.32.0.0",
		"223.255.255.255", "2606:4700::1111", "2a00::1", "2001:4860:4860::8888", "2003::1"} {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	g := &Guard{}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1",
		"127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255",
		"192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
		"255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
		"64:ff9b::8.8.8.8",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
		"2002:7f00:1::",
		"2002:a00:1::1", "2620:4f:8000::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
		"fec0::1", "ff02::1",
		"4000::1",
	} {
		a := netip.MustParseAddr(text)
		if public(a) {
			t.Errorf("%s is public", text)
		}
		to := netip.AddrPortFrom(a, 443).String()
		var b *BlockedError
		if err := g.mayDial("tcp6", to, false); !errors.As(err, &b) {
			t.Errorf("%s may be dialled (%v)", to, err)
		}
		if err := g.mayDial("tcp6", to, true); err != nil {
			t.Errorf("%s may not be dialled for a private server: %v", to, err)
		}
	}
}

// A rule opens the address that it has, in every form in which a kernel may be told of it, and no other.
func TestOpenedAddresses(t *testing.T) {
	g, err := NewGuard([]string{"10.0.0.0/8", "http://192.168.0.5:8001", "fd00::/8", "tools.internal"})
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"10.1.2.3:1", "[::ffff:10.1.2.3]:1", "192.168.0.5:8001", "[fd00::1]:443", "8.8.8.8:443"} {
		if err := g.mayDial("tcp", to, false); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []string{"11.0.0.1.5:1", "127.0.0.1:1", "192.168.0.5:8002", "192.168.0.6:8001",
		"[fe80::1%eth0]:443",
		"[64:ff9b::a01:203]:1", "[2002:a01:203::]:1", "", "tools.internal:443"} {
		if err := g.mayDial("tcp", to, false); err == nil {
			t.Errorf("%s may be dialled", to)
		}
	}
	if err := g.mayDial("udp4", "8.8.8.8:53", false); err == nil {
		t.Error("UDP may be used")
	}
}
