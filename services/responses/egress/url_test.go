package egress

import (
	"errors"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://mcp.example.com/mcp":             "https://mcp.example.com/mcp",
		"HTTPS://MCP.Example.COM:443/Mcp?a=b%20c": "https://mcp.example.com/Mcp?a=b%20c",
		"http://a:80":                        "http://a",
		"http://a:443/":                      "http://a:443/",
		"https://a:":                         "https://a",
		"https://xn--bcher-kva.example/%2F":  "https://xn--bcher-kva.example/%2F",
		"http://127.0.0.1:8001/mcp":          "http://127.0.0.1:8001/mcp",
		"http://[::1]:8001/":                 "http://[::1]:8001/",
		"http://[2001:DB8:0::1]/":            "http://[2001:db8::1]/",
		"http://my_tools.svc.cluster.local/": "http://my_tools.svc.cluster.local/",
		"http://1a.example":                  "http://1a.example",
	} {
		u, err := ParseURL(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s is %s, want %s", raw, u, want)
		}
	}
}

// badURLs have been used, here or elsewhere, to show one host to a check and another to a client.
var badURLs = []string{
	"", "/", "mcp.example.com", "mcp.example.com/mcp", "//mcp.example.com", "https:mcp.example.com", "https:///mcp",
	"https://",
	"ftp://a", "file:///etc/passwd", "gopher://a", "javascript:alert(1)", "unix:///run/docker.sock", "ws://a",
	"https://user@a", "https://user:secret@a", "https://@a", "https://a@b@c", "https://a:b:c@d",
	`https://a\@b`, `https://a\.b`, `https:\\a`, `https://a/\b`,
	"https://a#b", "https://a/#", "https://a#@b",
	"https://a b", " https://a", "https://a ", "https://a\n", "https://a\r\nHost: b", "https://a\t.b", "https://a\x00",
	"https://a/\x7f",
	"https://a%2eb", "https://a%00", "https://%61", "https://a%", "https://%5B::1%5D",
	"https://bücher.example", "https://a。b", "https://ａ.example", "https://①②⑦.0.0.1", "https://a/ü",
	"https://a.", "https://a..b", "https://.a", "https://.", "https://-a", "https://a-.b", "https://a+b", "https://a,b",
	"https://*",
	"https://127.0.0.1.", "https://127.1", "https://127.0.1", "https://2130706433", "https://0x7f000001", "https://0x7f.1",
	"https://0177.0.0.1", "https://127.0.0.01", "https://0", "https://0.0.0.0.0", "https://1.2.3.256", "https://a.1",
	"https://a.0x1",
	"https://127.0.0.1.0x0", "https://00000.1.1.1",
	"https://[::ffff:127.0.0.1]", "https://[::ffff:7f00:1]", "https://[fe80::1%25eth0]", "https://[fe80::1%eth0]",
	"https://[::1",
	"https://::1", "https://[::1]a", "https://[127.0.0.1]", "https://[a]", "https://[]", "https://[v1.a]",
	"https://a:0", "https://a:65536", "https://a:-1", "https://a:+1", "https://a:1a", "https://a:99999999999999999999",
	"https://a:1:2",
	"https://" + strings.Repeat("a", 64), "https://" + strings.Repeat("a.", 127) + "a",
	"https://a/" + strings.Repeat("a", maxURL),
}

func TestBadURLs(t *testing.T) {
	everything, err := NewGuard([]string{"*", "http://*", "0.0.0.0/0", "::/0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range badURLs {
		var b *BlockedError
		if u, err := ParseURL(raw); !errors.As(err, &b) {
			t.Errorf("ParseURL takes %q for %v (%v)", raw, u, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error %q tells a secret", raw, err)
		}
		if u, err := everything.Check(raw); !errors.As(err, &b) {
			t.Errorf("Check takes %q for %v (%v)", raw, u, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, raw := range badURLs {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			return
		}
		// A checked URL stays the same, however often it is read.
		again, err := ParseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q is %s, which is %v (%v)", raw, u, again, err)
		}
	})
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule    string
		yes, no []string
	}{
		{"mcp.example.com", []string{"https://mcp.example.com/x?y", "https://MCP.example.com:443"},
			[]string{"http://mcp.example.com", "https://mcp.example.com:8443", "https://a.mcp.example.com",
				"https://example.com",
				"https://mcp.example.com.evil.example", "https://evilmcp.example.com"}},
		{"mcp.example.com:8443", []string{"https://mcp.example.com:8443"},
			[]string{"https://mcp.example.com", "http://mcp.example.com:8443"}},
		{"*.example.org", []string{"https://a.example.org", "https://a.b.example.org"},
			[]string{"https://example.org", "https://aexample.org", "https://a.example.org.evil", "http://a.example.org"}},
		{"http://*.example.org:8001", []string{"http://a.example.org:8001"},
			[]string{"http://a.example.org", "https://a.example.org:8001"}},
		{"*", []string{"https://a", "https://localhost", "https://8.8.8.8", "https://[2606:4700::1]"},
			[]string{"http://a", "https://a:8443", "https://10.0.0.1", "https://127.0.0.1", "https://[::1]",
				"https://169.254.169.254"}},
		{"http://*:8001", []string{"http://a:8001"}, []string{"https://a:8001", "http://a", "http://10.0.0.1:8001"}},
		{"10.0.0.5", []string{"http://10.0.0.5", "https://10.0.0.5:9"}, []string{"http://10.0.0.6", "http://a"}},
		{"10.0.0.0/8", []string{"http://10.1.2.3:99"}, []string{"http://11.0.0.0", "http://a", "http://[::1]"}},
		{"fd00::/8", []string{"http://[fd00::1]"}, []string{"http://[fe00::1]", "http://10.0.0.1"}},
		{"::/0", []string{"http://[fd00::1]"}, []string{"http://10.0.0.1", "http://a"}},
		{"http://10.0.0.5:8001", []string{"http://10.0.0.5:8001/mcp"},
			[]string{"https://10.0.0.5:8001", "http://10.0.0.5", "http://10.0.0.5:8002"}},
		{"http://[::1]:8001", []string{"http://[::1]:8001"}, []string{"http://[::1]", "http://[::2]:8001"}},
	} {
		g, err := NewGuard([]string{"unused.example", c.rule})
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		for _, raw := range c.yes {
			if _, err := g.Check(raw); err != nil {
				t.Errorf("%s: %s: %v", c.rule, raw, err)
			}
		}
		for _, raw := range c.no {
			var b *BlockedError
			if _, err := g.Check(raw); !errors.As(err, &b) {
				t.Errorf("%s allows %s (%v)", c.rule, raw, err)
			}
		}
	}
}

func TestBadRules(t *testing.T) {
	for _, rule := range []string{"", "*.", "*.*", "*.*.a", "a.*", "*a", "**", "*.10.0.0.1", "https://a/mcp",
		"https://a?b", "ftp://a",
		"a b", "https://u@a", "10.0.0", "10.0.0.0/33", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "fe80::1%eth0", "a:b",
		"a:0", "*:0", "bücher.example"} {
		if _, err := NewGuard([]string{rule}); err == nil {
			t.Errorf("%q is taken for a rule", rule)
		} else if !strings.Contains(err.Error(), rule) {
			t.Errorf("%q: the error %q does not name it", rule, err)
		}
	}
	if g, err := NewGuard(nil); err != nil {
		t.Error(err)
	} else if _, err := g.Check("https://a"); err == nil {
		t.Error("without a rule something is allowed")
	}
}
