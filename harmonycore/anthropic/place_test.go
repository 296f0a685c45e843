package anthropic

import "testing"

// TestPlaces checks the names of places in a request.
func TestPlaces(t *testing.T) {
	message := inMessage(1)
	for _, tt := range []struct {
		p    place
		want string
	}{
		{top("tools"), "tools"},
		{top("tools").element(3), "tools.3"},
		{top("tools").element(3).in("input_schema"), "tools.3.input_schema"},
		{top("output_config").in("format").in("schema"), "output_config.format.schema"},
		{message, "messages.1"},
		{message.in("role"), "messages.1.role"},
		{message.at(0).in("text"), "messages.1.content.0.text"},
		{message.at(0).part(2).in("source"), "messages.1.content.0.content.2.source"},
		{message.at(0).in("source").in("content").part(2).in("text"), "messages.1.content.0.source.content.2.text"},
		{message.at(0).in("content").part(2).in("source").in("data"), "messages.1.content.0.content.2.source.data"},
		{message.at(0).at(1).in("content").part(0), "messages.1.content.0.content.1.content.0"},
		{message.at(0).in("a").element(1).element(2), "messages.1.content.0.a.1.2"},
	} {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestPlacesAreFree: a place takes memory only if an error names it. A request may have 65,000 tools.
func TestPlacesAreFree(t *testing.T) {
	tools, kind := top("tools"), ""
	if n := testing.AllocsPerRun(100, func() {
		p := tools.element(1000).in("name")
		kind = p.inner
	}); n > 0 || kind != "name" {
		t.Errorf("%v allocations for a place", n)
	}
}
