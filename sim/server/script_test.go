package server

import "testing"

// TestPick chooses lines by the whole prompt, by its last message and by their order.
func TestPick(t *testing.T) {
	s := NewScript(
		Line{Finish: "first"}, Line{Last: "<|start|>user<|message|>Hi<|end|>", Finish: "asked"},
		Line{Match: "to=assistant", Last: "six", Finish: "told"}, Line{Match: "six", Finish: "seen"}, Line{Finish: "second"})
	const user, call, result, open = "<|start|>user<|message|>Hi<|end|>",
		"<|start|>assistant to=functions.f<|message|>{}<|call|>",
		"<|start|>functions.f to=assistant<|message|>six<|end|>", "<|start|>assistant"
	for _, tt := range []struct{ prompt, want string }{
		{user + open, "asked"}, {user + call + result + open, "told"}, {user + call + result + user + open, "asked"},
		{user + call + result + "<|start|>user<|message|>And?<|end|>" + open, "seen"},
		{user + "<|start|>user<|message|>And?<|end|>" + open, "first"}, {"Hi", "second"}, {"Hi", ""}, {"", ""},
	} {
		line, ok := s.pick(tt.prompt)
		if line.Finish != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q %t, want %q", tt.prompt, line.Finish, ok, tt.want)
		}
	}
}
