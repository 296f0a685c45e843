package filterfile

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// moduleOf returns a module with these exports.
func moduleOf(exports ...string) []byte {
	content := []byte{byte(len(exports))}
	for _, name := range exports {
		content = append(wasmfile.AppendSized(content, []byte(name)), 0, 0)
	}
	return wasmfile.Join([]wasmfile.Section{
		{ID: wasmfile.Export, Content: content}, {ID: wasmfile.Custom, Content: []byte("\x04namex")}})
}

func stamped(t *testing.T, version string) []byte {
	t.Helper()
	module, err := Stamp(moduleOf("memory", "proxy_abi_version_0_2_0"), version)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// TestStamp checks that a stamp is read again, that a second one replaces the first, and that it changes nothing else.
func TestStamp(t *testing.T) {
	first := stamped(t, "1.2.3")
	info, err := Read(first)
	if err != nil || info.Version != "1.2.3" || info.SHA256 != sum(first) {
		t.Errorf("got %+v, %v", info, err)
	}
	second, err := Stamp(first, "1.2.4")
	if err != nil {
		t.Fatal(err)
	}
	if info, err = Read(second); err != nil || info.Version != "1.2.4" || info.SHA256 == sum(first) {
		t.Errorf("got %+v, %v", info, err)
	}
	plain := moduleOf("memory", "proxy_abi_version_0_2_0")
	if n := bytes.Count(second, []byte(SectionName)); n != 1 || !bytes.HasPrefix(second, plain) {
		t.Errorf("%d stamps, or other bytes than before", n)
	}
	if _, err := Stamp([]byte("text"), "1"); err == nil {
		t.Error("a text is stamped")
	}
}

// TestCutOrChanged checks that no beginning of a filter is taken for a filter, nor one with another byte.
func TestCutOrChanged(t *testing.T) {
	whole := stamped(t, "1")
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for the whole", n, len(whole))
		}
		other := slices.Clone(whole)
		other[n] ^= 1
		// The version is the stamp's own. All else is covered by the checksum, or its lack is noticed.
		if info, err := Read(other); err == nil && info.Version == "1" {
			t.Errorf("a change of byte %d is not noticed", n)
		}
	}
}

func TestRefused(t *testing.T) {
	unreadable, err := Stamp(moduleOf("proxy_abi_version_0_2_0"), "1")
	if err != nil {
		t.Fatal(err)
	}
	unreadable = bytes.Replace(unreadable, []byte(`{"version"`), []byte(`{version":`), 1)
	for words, file := range map[string][]byte{
		"is empty":                       nil,
		"is not a WebAssembly module; ":  []byte("<html>not found</html>"),
		"compressed by gzip":             []byte("\x1f\x8b\x08\x00"),
		"is a WebAssembly component":     []byte("\x00asm\x0d\x00\x01\x00"),
		"ends in the middle":             stamped(t, "1")[:20],
		"no filter for Envoy":            moduleOf("memory"),
		"exports proxy_abi_version_0_1_": moduleOf("proxy_abi_version_0_1_0"),
		"is not a filter of Harmony":     moduleOf("proxy_abi_version_0_2_1"),
		"its exports cannot be read": wasmfile.Join([]wasmfile.Section{
			{ID: wasmfile.Export, Content: []byte{3}}}),
		"a stamp that cannot be read": unreadable,
		"is larger than":              make([]byte, MaxSize+1),
	} {
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}
