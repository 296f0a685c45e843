package mesh

import (
	"regexp"
	"strings"
	"testing"
)

// TestName holds names of models against Kubernetes' rule, and against each other.
func TestName(t *testing.T) {
	rule := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	seen := map[string]string{}
	for _, text := range []string{"gpt-oss-120b", "openai/gpt-oss-120b", "openai-gpt-oss-120b", "OpenAI-gpt-oss-120b", "a.b",
		"a_b", "-", "ä", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65)} {
		name := Name("harmony-pool", text)
		if !rule.MatchString(name) || len(name) > 63 {
			t.Errorf("the name of %q is %q", text, name)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("%q and %q have the name %q", text, other, name)
		}
		seen[name] = text
	}
	if name := Name("harmony-pool", "gpt-oss-120b"); name != "harmony-pool-gpt-oss-120b" {
		t.Errorf("a text that is a name has the name %q", name)
	}
}

// TestModule has the URLs that are refused, each with a word of the error, and some that are not.
func TestModule(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for _, c := range []struct{ url, hash, want string }{
		{"file:///a/b.wasm", "", ""},
		{"oci://r/i:1", "", ""},
		{"oci://r/i:1", hash, ""},
		{"https://h/f.wasm", "", ""},
		{"http://h/f.wasm", hash, ""},
		{"http://h/f.wasm", "", "on its way"},
		{"file:///a", hash, "leave the hash out"},
		{"file://a", "", "relative"},
		{"a.wasm", "", "not the URL"},
		{"oci://", "", "not the URL"},
		{"s3://b/f", "", "scheme s3"},
		{"oci://r/i", strings.ToUpper(hash), "64 lower-case digits"},
		{"oci://r/i", "sha256:" + hash, "64 lower-case digits"},
	} {
		err := (&Module{URL: c.url, SHA256: c.hash}).Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.url, c.hash, err, c.want)
		}
	}
}
