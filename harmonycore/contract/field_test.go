package contract

import (
	"reflect"
	"slices"
	"testing"
)

// place returns where a field's value is, or nil for a block.
func place(f *Field) any {
	switch {
	case f.Flag != nil:
		return f.Flag
	case f.Number != nil:
		return f.Number
	case f.Fraction != nil:
		return f.Fraction
	case f.Text != nil:
		return f.Text
	case f.List != nil:
		return f.List
	}
	return nil
}

// TestFieldsAreTheStruct holds every block's Fields against its Go fields: each has one, of its name and in its order.
func TestFieldsAreTheStruct(t *testing.T) {
	var m ModelSettings
	var s Settings
	for _, tt := range []struct {
		block  any
		fields []Field
	}{
		{&m, m.Fields()}, {&m.ReasoningEfforts, m.ReasoningEfforts.Fields()}, {&m.Answers, m.Answers.Fields()},
		{&m.System, m.System.Fields()}, {&s, s.Fields()},
	} {
		v := reflect.ValueOf(tt.block).Elem()
		if v.NumField() != len(tt.fields) {
			t.Errorf("%T has %d fields, and Fields %d", tt.block, v.NumField(), len(tt.fields))
			continue
		}
		for i := range tt.fields {
			f, name := &tt.fields[i], v.Type().Field(i).Tag.Get("yaml")
			if f.Key != name {
				t.Errorf("%T: %s is called %s by Fields", tt.block, name, f.Key)
			}
			if p := place(f); p != nil && p != v.Field(i).Addr().Interface() {
				t.Errorf("%T: Fields has %s elsewhere", tt.block, name)
			}
		}
	}
}

// TestDefaultsAreAllowed: no default is out of its range.
func TestDefaultsAreAllowed(t *testing.T) {
	var check func(fields []Field)
	check = func(fields []Field) {
		for i := range fields {
			f := &fields[i]
			if !f.Optional {
				check(f.Block)
			}
			if !f.Allowed() || f.Block == nil && !f.IsDefault() {
				t.Errorf("%s: its default is out of its range", f.Key)
			}
		}
	}
	m := DefaultModel("m")
	check(append(DefaultConfig().Fields(), m.Fields()...))
}

// TestFillZeros: a zero that is out of the range becomes the default, and any other stays.
func TestFillZeros(t *testing.T) {
	m := DefaultModel("m").ModelSettings
	want := m
	m.ContextLength, m.RawPrompts, m.System.Date, m.ReasoningEfforts.Max = 0, "", "", ""
	m.DrainTokens, m.System.Identity, m.ServerExtras = 0, "", nil
	want.DrainTokens, want.System.Identity, want.ServerExtras = 0, "", nil
	if FillZeros(m.Fields()); !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v", m)
	}
}

func TestDate(t *testing.T) {
	for text, want := range map[string]bool{
		DateUTC: true, DateOmit: true, "2026-01-31": true, "2024-02-29": true, "2000-02-29": true,
		"": false, "today": false, "2026-1-1": false, "2026-13-01": false, "2026-00-01": false, "2026-01-00": false,
		"2026-04-31": false, "2026-02-29": false, "1900-02-29": false, "2026/01/01": false, "2026-01-0x": false,
	} {
		if validDate(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestDefaultExtrasAreKnown(t *testing.T) {
	for _, name := range DefaultExtras() {
		if !slices.Contains(KnownExtras(), name) {
			t.Errorf("%s is let through by default, and is not known", name)
		}
	}
}
