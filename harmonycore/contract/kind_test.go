package contract

import (
	"reflect"
	"testing"
)

// TestCapabilitiesAreNoAddresses checks that no word of a kind's capabilities can look like a pointer into the filter's
// heap. tools/wasmfinish would refuse the module.
func TestCapabilitiesAreNoAddresses(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Capabilities]()) {
		if f.Name != "_" && f.Offset%4 == 3 {
			t.Errorf("%s is the fourth byte of a word; write a blank field before it", f.Name)
		}
	}
	if offset := reflect.TypeFor[Kind]().Field(3).Offset; offset%4 != 0 {
		t.Errorf("the capabilities begin at the offset %d", offset)
	}
}
