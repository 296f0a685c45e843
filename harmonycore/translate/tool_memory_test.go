package translate

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestToolMemory: tools are found by all of their JSON, their API and whose they are, and by nothing less.
func TestToolMemory(t *testing.T) {
	var m ToolMemory
	json := []byte(`[{"type":"function","name":"f"}]`)
	added := m.add("a", ChatAPI, json, openai.DeclaredTools{Echo: "x"})
	json[3] = 'T' // the memory has a copy
	for _, tt := range []struct {
		owner string
		api   API
		json  string
		found bool
	}{
		{"a", ChatAPI, `[{"type":"function","name":"f"}]`, true},
		{"b", ChatAPI, `[{"type":"function","name":"f"}]`, false},
		{"", ChatAPI, `[{"type":"function","name":"f"}]`, false},
		{"a", ResponsesAPI, `[{"type":"function","name":"f"}]`, false},
		{"a", ChatAPI, `[{"type":"function","name":"g"}]`, false},
		{"a", ChatAPI, `[{"type":"function","name":"f"}] `, false},
		{"a", ChatAPI, ``, false},
	} {
		if got := m.find(tt.owner, tt.api, []byte(tt.json)); (got == added) != tt.found || !tt.found && got != nil {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestToolMemoryIsBounded: of many tools, and of large ones, those that were used last are remembered.
func TestToolMemoryIsBounded(t *testing.T) {
	var m ToolMemory
	check := func() {
		t.Helper()
		size := 0
		for _, e := range m.all {
			size += e.size
		}
		if size != m.size || size > maxRememberedSize || len(m.all) > maxRemembered {
			t.Fatalf("%d remembered with %d bytes, counted as %d", len(m.all), size, m.size)
		}
	}
	first := []byte("first")
	m.add("", ChatAPI, first, openai.DeclaredTools{})
	for i := range 10 * maxRemembered {
		m.add("", ChatAPI, []byte("tools "+strconv.Itoa(i)), openai.DeclaredTools{})
		if check(); m.find("", ChatAPI, first) == nil {
			t.Fatalf("what is used again and again is forgotten after %d others", i)
		}
	}
	if len(m.all) != maxRemembered || m.find("", ChatAPI, []byte("tools 0")) != nil {
		t.Errorf("%d are remembered", len(m.all))
	}
	for i := range 20 {
		large := []byte(strconv.Itoa(i) + strings.Repeat(" ", maxRememberedSize/10))
		if m.add("", ChatAPI, large, openai.DeclaredTools{}) == nil || m.find("", ChatAPI, large) == nil {
			t.Fatal("large tools are not remembered")
		}
		check()
	}
	if m.add("", ChatAPI, make([]byte, maxRememberedSize/4), openai.DeclaredTools{}) != nil {
		t.Error("tools of a quarter of a megabyte are remembered")
	}
}
