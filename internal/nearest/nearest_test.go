package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"servers", "server_model", "server_extras", "name", "context_length", "up", "pool", "mode", "model"}
	for word, want := range map[string]string{
		"server": "servers", "serevrs": "servers", "servers_": "servers", "Servers": "servers",
		"server-model": "server_model", "serverModel": "server_model",
		"nmae": "name", "modle": "model", "mod": "mode", "contextlength": "context_length", "context": "context_length",
		"ups": "up", "pool": "pool", "pols": "", "pol": "pool",
		"": "", "x": "", "temperature": "", "api_key": "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
