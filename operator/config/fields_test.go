package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestFieldsAreTheSettings shows that the lists have every setting that the file may have, and no other.
func TestFieldsAreTheSettings(t *testing.T) {
	var listed, read []string
	describe(Default().Fields(), func(path string, f *Field) {
		listed = append(listed, path)
		if f.Meaning == "" {
			t.Errorf("%s has no meaning", path)
		}
		if f.At == nil {
			t.Errorf("%s has no value", path)
		}
	})
	var add func(prefix string, typ reflect.Type)
	add = func(prefix string, typ reflect.Type) {
		for _, f := range fieldsOf(typ) {
			path, inner := prefix+f.Tag.Get("yaml"), f.Type
			if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
				path, inner = path+"[]", inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				add(path+".", inner)
			} else {
				read = append(read, path)
			}
		}
	}
	add("", reflect.TypeFor[Config]())
	slices.Sort(listed)
	slices.Sort(read)
	if !slices.Equal(listed, read) {
		t.Errorf("the lists have\n%s\nand a file may have\n%s", strings.Join(listed, "\n"), strings.Join(read, "\n"))
	}
}

// fieldsOf returns the fields of a struct that are settings, including the fields of the contract's structs that it
// embeds.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		name := f.Tag.Get("yaml")
		return name == "" || name == "-" || f.Anonymous
	})
}

// TestDefaultsAreAllowed shows that each default, and each value for which an empty setting stands, is in its range.
func TestDefaultsAreAllowed(t *testing.T) {
	fields := Default().Fields()
	describe(fields, func(path string, f *Field) {
		if f.Zero != nil {
			reflect.ValueOf(f.At).Elem().Set(reflect.ValueOf(f.Zero))
		}
		f.refuse(func(_, reason string) {
			if reason != "" && !f.Required {
				t.Errorf("%s: %s", path, reason)
			}
		})
	})
}

// bothStores is a file whose service has every setting that it reads only at its start.
const bothStores = "responses_service: { store: a.db, listen: '127.0.0.1:8090', max_connections: 3 }\n"

func TestNextStart(t *testing.T) {
	base := "models: [{ name: m, servers: ['vllm=http://h:1'] }]\n"
	for _, tt := range []struct {
		before, after string
		running       []Part
		field, part   string
	}{
		{"", "envoy: { concurrency: 2 }", []Part{PartEnvoy}, "envoy.concurrency", "Envoy"},
		{"", "envoy: { concurrency: 2 }", nil, "", ""},
		{"", "admin: 127.0.0.1:9901", []Part{PartEnvoy, PartPage}, "admin", "the page"},
		{"", "listen: 127.0.0.1:1", []Part{PartEnvoy, PartPage}, "", ""},
		{"", "listen: 127.0.0.1:1", []Part{PartUp}, "listen", "harmony up"},
		{"", "listeners: [{ address: '127.0.0.1:1' }]", []Part{PartUp}, "listeners[0]", "harmony up"},
		{"listeners: [{ address: '127.0.0.1:1' }]", "listeners: [{ address: '127.0.0.1:1' }, { name: b, address: " +
			"'127.0.0.1:2' }]", []Part{PartUp}, "", ""},
		{"", "body_limit: 1MiB", []Part{PartEnvoy, PartPage, PartService}, "", ""},
		{"", "body_limit: 1MiB", []Part{PartHost}, "body_limit", "the filter in this program"},
		{"", "pools: [{ name: p, servers: ['http://h:2'] }]", []Part{PartHost}, "pools[p]", "the filter in this program"},
		{bothStores, strings.Replace(bothStores, "a.db", "b.db", 1), []Part{PartService}, "responses_service.store",
			"the responses service"},
		{bothStores, strings.Replace(bothStores, "8090", "8091", 1), []Part{PartService}, "responses_service.listen",
			"the responses service"},
		{bothStores, strings.Replace(bothStores, ": 3", ": 4", 1), []Part{PartService},
			"responses_service.max_connections", "the responses service"},
		{bothStores, strings.Replace(bothStores, " }", ", access_log: l }", 1), []Part{PartService},
			"responses_service.access_log", "the responses service"},
		{bothStores, strings.Replace(bothStores, " }", ", retention: 1h }", 1), []Part{PartService, PartHost}, "", ""},
		{bothStores, strings.Replace(bothStores, " }", ", websocket: false }", 1), []Part{PartHost}, "responses_service",
			"the filter in this program"},
		{"", bothStores, []Part{PartService}, "", ""}, // it appears
		{bothStores, "", []Part{PartService}, "", ""}, // it goes
		{bothStores, strings.Replace(bothStores, "a.db", "b.db", 1), []Part{PartEnvoy}, "", ""},
	} {
		e := NextStart(parse(t, base+tt.before), parse(t, base+tt.after), "harmony up", tt.running...)
		if e == nil {
			if tt.field != "" {
				t.Errorf("%q to %q: nothing is refused", tt.before, tt.after)
			}
			continue
		}
		want := tt.field + ": takes effect at the next start: " + tt.part + " reads it only when it starts; start harmony up " +
			"again, or take the change back"
		if e.Error() != want {
			t.Errorf("%q to %q:\ngot  %v\nwant %s", tt.before, tt.after, e, want)
		}
	}
}

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("h.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
