package exchange

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// TestClientKey: the id of a key is the beginning of the key's hash, whatever header it comes in, and only if the
// operator wants it.
func TestClientKey(t *testing.T) {
	const key = "sk-0123456789"
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:12]
	basic := fmt.Sprintf("%x", sha256.Sum256([]byte("Basic Og==")))[:12]
	for _, tt := range []struct {
		headers [][2]string
		want    string
	}{
		{nil, ""},
		{[][2]string{{"authorization", "Bearer " + key}}, id},
		{[][2]string{{"authorization", "bearer  " + key + " "}}, id},
		{[][2]string{{"api-key", key}}, id},
		{[][2]string{{"x-api-key", key}}, id},
		{[][2]string{{"authorization", "Bearer "}, {"api-key", key}}, id},
		{[][2]string{{"authorization", "Bearer " + key}, {"authorization", "Bearer other"}, {"api-key", "other"}}, id},
		{[][2]string{{"x-api-key", "made up"}, {"authorization", "Bearer " + key}, {"authorization", "Bearer other"},
			{"api-key", "other"}}, id},
		{[][2]string{{"api-key", key}, {"x-api-key", "other"}, {"authorization", "Bearer "}}, id},
		{[][2]string{{"authorization", ""}, {"cookie", key}}, ""},
		{[][2]string{{"authorization", "Basic Og=="}}, basic},
	} {
		for _, wanted := range []bool{true, false} {
			x := testGateway(func(o *Options) { o.AccessLogClientKey = wanted }).Begin("POST", "/v1/chat/completions")
			for _, h := range tt.headers {
				if x.Header(h[0], h[1]) {
					t.Errorf("%s is taken from the servers", h[0])
				}
			}
			want := tt.want
			if !wanted {
				want = ""
			}
			if got := x.Report().ClientKey; got != want {
				t.Errorf("%q: %q, want %q", tt.headers, got, want)
			}
		}
	}
	// The header may be the one that separates tenants, too.
	x := testGateway(func(o *Options) { o.AccessLogClientKey, o.Seal.TenantHeader = true, "api-key" }).Begin("POST",
		"/v1/chat/completions")
	if x.Header("api-key", key); x.Report().ClientKey != id || x.options.tenant != key {
		t.Errorf("%q, tenant %q", x.Report().ClientKey, x.options.tenant)
	}
}
