package hosted

import (
	"testing"
	"time"
)

// TestToolOptions checks the defaults of a service, and that settings stay.
func TestToolOptions(t *testing.T) {
	o := Options{}.OrDefaults()
	if o.Rounds != 32 || o.Time != 10*time.Minute || o.CallTime != time.Minute || o.ResultLimit != 64<<10 ||
		o.Parallel != 8 {
		t.Errorf("the defaults are %+v", o)
	}
	o = Options{Rounds: 1, Time: 2, CallTime: 3, ResultLimit: 4, Parallel: 5,
		Servers: []ToolServer{{Label: "a"}, {Label: "b", URL: "http://b"}}}.OrDefaults()
	if o.Rounds != 1 || o.Time != 2 || o.CallTime != 3 || o.ResultLimit != 4 || o.Parallel != 5 {
		t.Errorf("the settings are %+v", o)
	}
	if s := o.Server("b"); s == nil || s.URL != "http://b" || o.Server("c") != nil {
		t.Errorf("b is %+v, c is %+v", s, o.Server("c"))
	}
}

// TestConfiguredServers checks that servers of the configuration can be asked, programs too.
func TestConfiguredServers(t *testing.T) {
	s := Operator{Options: Options{Servers: []ToolServer{{Label: "web", URL: "http://127.0.0.1:1"},
		{Label: "program", Command: []string{"server"}, Environment: []string{"A=b"}}}}}
	for _, label := range []string{"web", "program"} {
		m, failure := s.readMCPTool("tools[0]", &members{Label: label})
		if failure != nil {
			t.Fatalf("%s: %s", label, failure.Message)
		}
		if err := m.To.Validate(); err != nil {
			t.Errorf("%s: %v", label, err)
		}
	}
}
