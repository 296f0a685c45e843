package ours

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

const answer = "<|channel|>analysis<|message|>Wärme<|end|><|start|>assistant<|channel|>final<|message|>中文!<|return|>"

func TestResults(t *testing.T) {
	tokenizer := o200k.Tokenizer()
	var stream []byte
	for _, id := range tokenizer.AppendEncodeSpecial(nil, answer) {
		stream = binary.LittleEndian.AppendUint32(stream, id)
	}
	prompt := "<|start|>user<|message|>hi<|end|><|start|>assistant"
	tests := []struct {
		op, input string
		count     int
		of        []byte
	}{
		{"encode", "hello world\x00 world", 3, ids(24912, 2375, 2375)},
		{"render", `{"messages":[{"role":"user","content":"hi"}]}`, 7, ids(tokenizer.AppendEncodeSpecial(nil, prompt)...)},
		{"strict", string(stream), 2, []byte("Wärme中文!")},
		{"stream", string(stream), 2, []byte("Wärme中文!")},
	}
	b := New(tokenizer)
	for _, tt := range tests {
		if err := b.Load(tt.op, []byte(tt.input)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // nothing may remain of the previous run
			b.Run()
		}
		if count, sum, err := b.Result(); err != nil || count != tt.count || sum != crc32.ChecksumIEEE(tt.of) {
			t.Errorf("%s: %d, %x, %v, want %d, %x", tt.op, count, sum, err, tt.count, crc32.ChecksumIEEE(tt.of))
		}
	}
	if err := b.Load("sing", nil); err == nil {
		t.Error("no error for an operation that there is not")
	}
}

func ids(list ...uint32) (out []byte) {
	for _, id := range list {
		out = binary.LittleEndian.AppendUint32(out, id)
	}
	return out
}
