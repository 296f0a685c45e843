package o200k

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

const (
	// Printed by tools/vocab when it reads the source: the ranks themselves, whatever they are packed in.
	expandedSHA256 = "bac143fe7fe950090c6e4ed9a2f80de5412a92495758b52becbbe5a7eea25ecb"
	// The table, so that the native one and the filter's are the same bytes. Changes with package bpe's format only.
	tableSHA256 = "ea00e0676d666387616479636d7f86aa9cd29f101b7c26bfd8b7fbffa794d327"
)

func TestTableHoldsTheSource(t *testing.T) {
	v, err := bpe.Open(Table())
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for id := range uint32(v.Len()) {
		b, ok := v.Bytes(id)
		if !ok {
			t.Fatalf("id %d has no bytes", id)
		}
		h.Write([]byte{byte(len(b))})
		h.Write(b)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != expandedSHA256 {
		t.Errorf("expanded ranks have SHA-256 %s, the source's have %s", got, expandedSHA256)
	}
	if got := hex.EncodeToString(packed[fileHeader-2*sha256.Size : fileHeader-sha256.Size]); got != Source {
		t.Errorf("the packed file was made from %s, not %s", got, Source)
	}
	sum := sha256.Sum256(Table())
	if got := hex.EncodeToString(sum[:]); got != tableSHA256 {
		t.Errorf("table of %d bytes has SHA-256 %s, want %s", len(Table()), got, tableSHA256)
	}
	if len(packed) >= 1<<20 {
		t.Errorf("packed file is %d bytes, must stay below 1 MiB", len(packed))
	}
}

func TestUnpackRefusesDamage(t *testing.T) {
	for at := 0; at < len(packed); at += 1 + at/4 {
		if at >= 4+4*4 && at < 4+4*4+sha256.Size {
			continue // the source's hash says nothing about the content
		}
		bad := append([]byte(nil), packed...)
		bad[at] ^= 0x55
		if _, _, _, err := unpack(bad); !errors.Is(err, errFile) {
			t.Fatalf("byte %d changed: error %v", at, err)
		}
		if _, _, _, err := unpack(packed[:at]); !errors.Is(err, errFile) {
			t.Fatalf("cut at %d: error %v", at, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		blob, ends, sorted, err := unpack(packed)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bpe.Build(blob, ends, sorted); err != nil {
			b.Fatal(err)
		}
	}
}

// TestText: it is what the tokenizer makes of ids, for every id and for some that do not exist.
func TestText(t *testing.T) {
	vocabulary := Tokenizer()
	for id := range uint32(202_000) {
		want, known := vocabulary.TokenBytes(id)
		if text, ok := Text([]uint32{id}); ok != known || text != string(want) {
			t.Fatalf("the id %d is %q %t, want %q %t", id, text, ok, want, known)
		}
	}
	ids := vocabulary.AppendEncodeSpecial(nil, "<|start|>user<|message|>Grüße 👩‍👩‍👧<|end|>")
	if text, ok := Text(ids); !ok || text != vocabulary.DecodeString(ids) {
		t.Errorf("%q %t", text, ok)
	}
	if text, ok := Text([]uint32{1, 4_000_000_000}); ok || text != "" {
		t.Errorf("%q %t", text, ok)
	}
}
