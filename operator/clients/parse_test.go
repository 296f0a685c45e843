package clients

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var hashA, hashB = HashOf("a").String(), HashOf("b").String()

func TestParse(t *testing.T) {
	f, err := Parse("keys.yaml", []byte("\ufeff"+`
defaults: {requests_per_minute: 10}
clients:
  - name: search
    hashes: [`+hashA+`, "`+hashB+`"]
    limits: {tokens_per_minute: 400000, concurrency: 8, context: 32768}
    models:
      - name: openai/gpt-oss-120b
        tokens_per_day: 1000000
  - name: batch
`))
	if err != nil {
		t.Fatal(err)
	}
	if h := f.Client("search").Hashes; len(h) != 2 || h[0] != HashOf("a") || h[1] != HashOf("b") {
		t.Errorf("the hashes are %v", h)
	}
	for _, tt := range []struct {
		client, model string
		all, ofModel  Limits
	}{
		{"search", "openai/gpt-oss-120b", Limits{TokensPerMinute: 400_000, Concurrency: 8, Context: 32_768},
			Limits{TokensPerDay: 1_000_000}},
		{"search", "other", Limits{TokensPerMinute: 400_000, Concurrency: 8, Context: 32_768}, Limits{}},
		{"batch", "other", Limits{RequestsPerMinute: 10}, Limits{}},
		{"unknown", "other", Limits{RequestsPerMinute: 10}, Limits{}},
	} {
		if all, ofModel := f.Limits(tt.client, tt.model); all != tt.all || ofModel != tt.ofModel {
			t.Errorf("%s, %s: %+v, %+v", tt.client, tt.model, all, ofModel)
		}
	}
	if empty, err := Parse("keys.yaml", nil); err != nil || len(empty.Clients) > 0 || empty.Client("a") != nil {
		t.Errorf("an empty file: %+v, %v", empty, err)
	}
}

// TestRefusals: each error names its place, and none repeats what could be a key.
func TestRefusals(t *testing.T) {
	const secret = "sk-secret"
	for _, tt := range []struct{ text, want string }{
		{"clients: [{name: a, hashes: [" + secret + "]}]", "k:1: clients[0].hashes[0]: is not a hash"},
		{"clients: [{name: a, hashes: ['sha256:" + secret + "']}]", "k:1: clients[0].hashes[0]: is not a hash"},
		{"clients: [{name: a, hashes: " + secret + "}]", "k:1: "},
		{"clients: [{name: a, hashes: [{x: " + secret + "}]}]", "k:1: clients[0].hashes[0]"},
		{"clients:\n  - name: a\n    key: " + secret, "k:3: there is no such setting"},
		{"clients: [{name: a, hashs: [" + secret + "]}]", "k:1: there is no such setting; did you mean hashes? Or see docs"},
		{"client: []", "k:1: there is no such setting; did you mean clients? Or see"},
		{"clients:\n\t- name: " + secret, "k:2: a tab; indent with spaces"},
		{"clients: [{name: a, limits: {requests_per_hour: 1}}]", "k:1: there is no such setting"},
		{"clients: [{name: a, limits: {concurrency: " + secret + "}}]", "k:1: the value is of another type"},
		{"clients: [{name: a, name: " + secret + "}]", "k:1: "},
		{secret, "k:1: "},
		{"clients: [" + secret, "k:1: "},
		{"clients: [{hashes: ['" + hashA + "']}]", "k: clients[0].name: is not a name"},
		{"clients: [{name: 'a b'}]", "k: clients[0].name: is not a name"},
		{"clients: [{name: " + strings.Repeat("a", 65) + "}]", "k: clients[0].name: is not a name"},
		{"clients: [{name: a}, {name: a}]", "k: clients[1].name: a is listed twice"},
		{"clients: [{name: a, hashes: ['" + hashA + "']}, {name: b, hashes: ['" + hashA + "']}]",
			"k: clients[1].hashes[0]: is a hash of a already"},
		{"clients: [{name: anonymous, hashes: ['" + hashA + "']}]", "k: clients[0].hashes: anonymous is"},
		{"clients: [{name: a, limits: {context: -1}}]", "k: clients[0].limits.context: -1 is out of range"},
		{"clients: [{name: a, limits: {context: 2000000000}}]",
			"k: clients[0].limits.context: 2000000000 is out of range; use 1 to 1073741824"},
		{"clients: [{name: a, models: [{name: m, tokens_per_day: 2000000000000}]}]",
			"k: clients[0].models[0].tokens_per_day: 2000000000000 is out of range"},
		{"clients: [{name: a, models: [{tokens_per_day: 2}]}]", "k: clients[0].models[0].name: is not a model's name"},
		{"clients: [{name: a, models: [{name: m}, {name: m}]}]", "k: clients[0].models[1].name: m is listed twice"},
		{"clients: [{name: a, weight: 1001}]", "k: clients[0].weight: 1001 is out of range"},
		{"clients: [{name: a, weight: -1}]", "k: clients[0].weight: -1 is out of range"},
		{"clients: [{name: a, class: " + strings.Repeat("c", 1000) + "}]", "k: clients[0].class: is not the name of a class"},
		{"defaults: {context: -1}", "k: defaults.context: -1 is out of range"},
		{strings.Repeat("#", maxFile+1), "k: is larger than 8 MiB"},
	} {
		_, err := Parse("k", []byte(tt.text))
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), secret) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: %v, want %s", tt.text, err, tt.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestMany: the largest file is read in a time that a control plane has.
func TestMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("clients:\n")
	for i := range MaxClients {
		fmt.Fprintf(&b, "  - name: client-%d\n    hashes: [%s, %s]\n    limits: {tokens_per_minute: 1, context: 4096}\n", i,
			HashOf(fmt.Sprint("a", i)), HashOf(fmt.Sprint("b", i)))
	}
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f, err := Load(path)
	if err != nil || f.Client("client-9999") == nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes in %v", b.Len(), time.Since(began))
	b.WriteString("  - name: one-more\n")
	if _, err := Parse("k", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "10001 clients") {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	a, b := NewKey(), NewKey()
	if a == b || len(a) != len(keyPrefix)+43 || !strings.HasPrefix(a, keyPrefix) {
		t.Errorf("the keys are %s, %s", a, b)
	}
	if h, err := ParseHash(HashOf(a).String()); err != nil || h != HashOf(a) {
		t.Errorf("%v, %v", h, err)
	}
}

// TestSettings compares the names for suggestions with the file's.
func TestSettings(t *testing.T) {
	names := map[string]bool{}
	var add func(of reflect.Type)
	add = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" {
				names[name] = true
			}
			if of.Field(i).IsExported() {
				add(of.Field(i).Type)
			}
		}
	}
	add(reflect.TypeFor[File]())
	if got, want := slices.Sorted(slices.Values(settings)), slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
