package harmony

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestTranscript reads whole conversations, by ids and by text.
func TestTranscript(t *testing.T) {
	const call = "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>"
	for _, tt := range []struct{ in, want, seen string }{
		{"", "", ""},
		{"<|start|>user<|message|>q<|end|>" + call + "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|><|start|>assistant",
			"[user:] q end; [commentary >functions.f json] {} call; [tool:functions.f commentary >assistant] 1 end", ""},
		{"<|start|>user<|message|>q<|end|><|start|>assistant<|channel|>", "[user:] q end", "dropped_header repaired_channel"},
		{"<|channel|>final<|message|>x<|end|>", "[final] x end", "missing_start"},
		{"<|end|>" + finalHi, "[final] Hi return", "stray_terminator"},
		{finalHi + finalHi, "[final] Hi return; [final] Hi return", "after_stop"},
	} {
		ids := &recorder{}
		p := NewTranscriptParser(o200k.Tokenizer(), ids)
		for _, id := range tokens(tt.in) {
			p.Process(id)
		}
		p.Finish()
		if told(ids.messages) != tt.want || counted(p.Recoveries()) != tt.seen {
			t.Errorf("%s\n got %q %q\nwant %q %q", tt.in, told(ids.messages), counted(p.Recoveries()), tt.want, tt.seen)
		}
		text := &textRecorder{}
		x := NewTextTranscriptParser(text)
		x.Write([]byte(tt.in), 0)
		x.Finish()
		if told(text.messages) != tt.want || counted(x.Recoveries()) != tt.seen {
			t.Errorf("text %s\n got %q %q\nwant %q %q", tt.in, told(text.messages), counted(x.Recoveries()), tt.want, tt.seen)
		}
	}
}
