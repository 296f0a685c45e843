package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	keyA = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	keyB = "b-2:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
	now  = 1_700_000_000
)

func keys(t *testing.T, text string) *Keys {
	t.Helper()
	k, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealed(t *testing.T, k *Keys, text string, b Bound) string {
	t.Helper()
	s, err := k.Seal(nil, []byte(text), b, now+60)
	if err != nil {
		t.Fatal(err)
	}
	return string(s)
}

func TestSealAndOpen(t *testing.T) {
	b := Bound{Model: "gpt-oss-120b", Tenant: "acme"}
	k := keys(t, keyA)
	for _, text := range []string{"", "I need Paris first.", strings.Repeat("thinking ", 100_000), "\x00\xff"} {
		s := sealed(t, k, text, b)
		raw, err := base64.RawURLEncoding.DecodeString(s)
		if start := text[:min(len(text), 16)]; err != nil || len(start) > 4 && bytes.Contains(raw, []byte(start)) {
			t.Errorf("%q shows, %v", start, err)
		}
		got, err := k.Open([]byte(s), b, now)
		if err != nil || string(got) != text {
			t.Errorf("%.20q came back as %.20q, %v", text, got, err)
		}
		if again := sealed(t, k, text, b); again == s {
			t.Error("the same text is sealed the same way twice")
		}
	}
}

func TestSealAppends(t *testing.T) {
	s, err := keys(t, keyA).Seal([]byte(`"`), []byte("text"), Bound{}, now+1)
	if err != nil || s[0] != '"' || bytes.ContainsAny(s[1:], `"\`) {
		t.Errorf("%s, %v", s, err)
	}
}

func TestRotation(t *testing.T) {
	b := Bound{Model: "m"}
	old := sealed(t, keys(t, keyA), "thought", b)
	both, after := keys(t, keyB+","+keyA), keys(t, keyB)
	if got, err := both.Open([]byte(old), b, now); err != nil || string(got) != "thought" {
		t.Errorf("B,A: %q, %v", got, err)
	}
	if _, err := after.Open([]byte(old), b, now); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("B alone: %v", err)
	}
	if _, err := after.Open([]byte(sealed(t, both, "thought", b)), b, now); err != nil {
		t.Errorf("the first key does not seal: %v", err)
	}
}

func TestRefused(t *testing.T) {
	b := Bound{Model: "m", Tenant: "t"}
	k := keys(t, keyA)
	valid := sealed(t, k, "thought", b)
	otherKey := sealed(t, keys(t, strings.Replace(keyB, "b-2", "a", 1)), "thought", b)
	raw, err := base64.RawURLEncoding.DecodeString(valid)
	if err != nil {
		t.Fatal(err)
	}
	later := slices.Clone(raw)
	later[10]++ // its expiry
	for _, tt := range []struct {
		name, text string
		bound      Bound
		now        int64
		want       error
	}{
		{"empty", "", b, now, ErrForeign},
		{"OpenAI's own", "gAAAAABotdZ0Sz7yPXXpQl5Q", b, now, ErrForeign},
		{"not base64", valid[:20] + "=" + valid[21:], b, now, ErrForeign},
		{"cut", valid[:len(valid)-3], b, now, ErrForeign},
		{"another model", valid, Bound{Model: "n", Tenant: "t"}, now, ErrForeign},
		{"another tenant", valid, Bound{Model: "m", Tenant: "u"}, now, ErrForeign},
		{"no tenant", valid, Bound{Model: "m"}, now, ErrForeign},
		{"another key of the same id", otherKey, b, now, ErrForeign},
		{"expiry moved", base64.RawURLEncoding.EncodeToString(later), b, now, ErrForeign},
		{"one second before its end", valid, b, now + 59, nil},
		{"at its end", valid, b, now + 60, ErrExpired},
	} {
		if _, err := k.Open([]byte(tt.text), tt.bound, tt.now); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestEveryByteCounts(t *testing.T) {
	b := Bound{Model: "m", Tenant: "t"}
	k := keys(t, keyA)
	raw, err := base64.RawURLEncoding.DecodeString(sealed(t, k, "thought", b))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		if got, err := k.Open(base64.RawURLEncoding.AppendEncode(nil, changed), b, now); err == nil {
			t.Errorf("with byte %d changed it opens as %q", i, got)
		}
		if got, err := k.Open(base64.RawURLEncoding.AppendEncode(nil, raw[:i]), b, now); err == nil {
			t.Errorf("cut at %d it opens as %q", i, got)
		}
	}
}

// TestOneSpelling shows that a sealed text opens only in its own spelling, and not in another spelling of the same
// bytes. With several spellings it could evade a comparison or a count.
func TestOneSpelling(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=\r\n \x00"
	b := Bound{Model: "m", Tenant: "t"}
	k := keys(t, keyA)
	for _, text := range []string{"thought", "thoughts", "thoughts!"} { // one for each number of remaining bits
		valid := sealed(t, k, text, b)
		for i := range len(valid) + 1 {
			for _, c := range []byte(alphabet) {
				spellings := []string{valid[:i] + string(c) + valid[i:]}
				if i < len(valid) && valid[i] != c {
					spellings = append(spellings, valid[:i]+string(c)+valid[i+1:])
				}
				for _, s := range spellings {
					if _, err := k.Open([]byte(s), b, now); err == nil {
						t.Errorf("%q: opens with %q at %d of %d", text, c, i, len(valid))
					}
				}
			}
		}
	}
}

func TestParseKeys(t *testing.T) {
	if k, err := ParseKeys(" "); k != nil || err != nil {
		t.Errorf("no keys: %v, %v", k, err)
	}
	secret := "c2VjcmV0"
	for text, want := range map[string]string{
		secret:                                 "key 1: write ID:KEY",
		"a b:" + secret:                        "key 1: write ID:KEY",
		":" + secret:                           "key 1: write ID:KEY",
		strings.Repeat("x", 33) + ":" + secret: "key 1: write ID:KEY",
		"a:" + secret:                          "key 1 (a): not 32 bytes",
		"a:???":                                "key 1 (a): not 32 bytes",
		keyA + ",":                             "key 2: write ID:KEY",
		keyA + "," + keyA:                      "key 2 (a): a second key",
		strings.Repeat(keyA+",", 1) + strings.Join(manyKeys(17), ","): "more than 16 keys",
	} {
		k, err := ParseKeys(text)
		if k != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func manyKeys(n int) []string {
	var list []string
	for i := range n {
		list = append(list, string(rune('b'+i))+keyA[1:])
	}
	return list
}

func FuzzOpen(f *testing.F) {
	k, err := ParseKeys(keyB + "," + keyA)
	if err != nil {
		f.Fatal(err)
	}
	b := Bound{Model: "m"}
	valid, err := k.Seal(nil, []byte("text"), b, now+60)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(valid))
	f.Add("AQA")
	f.Add("AQ__")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := k.Open([]byte(s), b, now); err == nil && string(got) != "text" {
			t.Errorf("%q opens as %q", s, got)
		}
	})
}
