package seal

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func sealedRecord(t *testing.T, k *Keys, text, covered string) []byte {
	t.Helper()
	record, err := k.SealRecord(nil, []byte(text), []byte(covered))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestRecords(t *testing.T) {
	k := keys(t, keyA)
	for _, text := range []string{"", "I need Paris first.", strings.Repeat("thinking ", 100_000), "\x00\xff"} {
		record := sealedRecord(t, k, text, "item 1")
		if start := text[:min(len(text), 16)]; len(start) > 4 && bytes.Contains(record, []byte(start)) {
			t.Errorf("%q shows", start)
		}
		if isForm(record[0]) {
			t.Error("a record looks like a sealed text")
		}
		kept := slices.Clone(record)
		if got, err := k.OpenRecord(record, []byte("item 1")); err != nil || string(got) != text {
			t.Errorf("%.20q came back as %.20q, %v", text, got, err)
		}
		if !bytes.Equal(record, kept) {
			t.Error("opening has changed the record")
		}
		if again := sealedRecord(t, k, text, "item 1"); bytes.Equal(again, record) {
			t.Error("the same text is sealed the same way twice")
		}
	}
}

// TestRecordAppends seals and opens records whose neighbours in memory must stay as they are.
func TestRecordAppends(t *testing.T) {
	k := keys(t, keyA)
	dst := append(make([]byte, 0, 1000), "before"...)
	record, err := k.SealRecord(dst, []byte("text"), []byte("covered"))
	if err != nil || !bytes.HasPrefix(record, []byte("before")) {
		t.Fatalf("%q, %v", record, err)
	}
	record = append(record, "behind"...)
	one := record[len("before") : len(record)-len("behind")]
	if got, err := k.OpenRecord(one, []byte("covered")); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if !bytes.HasSuffix(record, []byte("behind")) {
		t.Errorf("what follows is %q", record[len(record)-6:])
	}
}

func TestRecordRotation(t *testing.T) {
	old := sealedRecord(t, keys(t, keyA), "thought", "")
	both, after := keys(t, keyB+","+keyA), keys(t, keyB)
	if got, err := both.OpenRecord(old, nil); err != nil || string(got) != "thought" {
		t.Errorf("B,A: %q, %v", got, err)
	}
	if _, err := after.OpenRecord(old, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("B alone: %v", err)
	}
	if _, err := after.OpenRecord(sealedRecord(t, both, "thought", ""), nil); err != nil {
		t.Errorf("the first key does not seal: %v", err)
	}
	if ids := both.IDs(); !slices.Equal(ids, []string{"b-2", "a"}) {
		t.Errorf("ids %q", ids)
	}
	only := both.Only("a")
	if got, err := only.OpenRecord(old, nil); err != nil || string(got) != "thought" || !slices.Equal(only.IDs(), []string{"a"}) {
		t.Errorf("only a: %q, %v", got, err)
	}
	if both.Only("c") != nil {
		t.Error("there is a key c")
	}
}

func TestEveryByteOfARecordCounts(t *testing.T) {
	k := keys(t, keyA)
	record := sealedRecord(t, k, "thought", "item 1")
	for i := range record {
		changed := slices.Clone(record)
		changed[i] ^= 1
		if got, err := k.OpenRecord(changed, []byte("item 1")); err == nil {
			t.Errorf("with byte %d changed it opens as %q", i, got)
		}
		if got, err := k.OpenRecord(record[:i], []byte("item 1")); err == nil {
			t.Errorf("cut at %d it opens as %q", i, got)
		}
	}
	otherKey := keys(t, strings.Replace(keyB, "b-2", "a", 1))
	for name, open := range map[string]func() ([]byte, error){
		"as another record":            func() ([]byte, error) { return k.OpenRecord(record, []byte("item 2")) },
		"as no record":                 func() ([]byte, error) { return k.OpenRecord(record, nil) },
		"by another key of its id":     func() ([]byte, error) { return otherKey.OpenRecord(record, []byte("item 1")) },
		"a sealed text":                func() ([]byte, error) { return k.OpenRecord([]byte(sealed(t, k, "x", Bound{})), nil) },
		"a head without a nonce":       func() ([]byte, error) { return k.OpenRecord([]byte{recordVersion, 1, 'a'}, nil) },
		"an id longer than the record": func() ([]byte, error) { return k.OpenRecord([]byte{recordVersion, 255, 'a'}, nil) },
	} {
		if got, err := open(); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func FuzzOpenRecord(f *testing.F) {
	k, err := ParseKeys(keyB + "," + keyA)
	if err != nil {
		f.Fatal(err)
	}
	valid, err := k.SealRecord(nil, []byte("text"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add([]byte{recordVersion, 0})
	f.Add([]byte{recordVersion, 255, 'a'})
	f.Fuzz(func(t *testing.T, record []byte) {
		if got, err := k.OpenRecord(record, nil); err == nil && string(got) != "text" {
			t.Errorf("%q opens as %q", record, got)
		}
	})
}
