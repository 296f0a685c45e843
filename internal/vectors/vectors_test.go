package vectors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	var v *Stream
	line := `{"tokens":[1,2,3,-1,5],"steps":[[1,"user",null,null,null,null],2,[2,"user","a","b","c",null],"d",` +
		`{"error":"x"},{"error":"y","after":[0,null,null,null,null,null]}],"ended":true}`
	if n, err := Read(strings.NewReader(line+"\n"), func(_ int, got *Stream) error { v = got; return nil }); n != 1 ||
		err != nil {
		t.Fatal(n, err)
	}
	var got []string
	for _, s := range v.Steps {
		text := string(rune('0' + s.State))
		for _, part := range []*string{s.Role, s.Channel, s.Recipient, s.ContentType, s.Delta, s.Error} {
			if part == nil {
				text += " -"
			} else {
				text += " " + *part
			}
		}
		got = append(got, text)
	}
	want := "1 user - - - - -|1 user - - - - -|1 user - - - - -|2 user a b c - -|2 user a b c d -|2 user a b c d x|0 - " +
		"- - - - y"
	if all := strings.Join(got, "|"); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
	if _, ok := v.IDs(); ok || len(v.Fed()) != 6 || v.Fed()[5] != EOS || len(v.Tokens) != 5 {
		t.Errorf("fed %v of %v", v.Fed(), v.Tokens)
	}
}

func TestUnreadable(t *testing.T) {
	for _, line := range []string{`{`, `{"steps":[[1,null]]}`, `{"steps":[true]}`, `{"steps":[{"error":1}]}`} {
		if _, err := Read(strings.NewReader(line+"\n"), func(int, *Stream) error { return nil }); err == nil {
			t.Errorf("%s is read", line)
		}
	}
	for _, line := range []string{`{}`, `{"completion":[1],"training":[2,[]],"plain":"same"}`,
		`{"completion":{"error":null},"training":"same","plain":"same"}`} {
		if _, err := Read(strings.NewReader(line+"\n"), func(int, *Conversation) error { return nil }); err == nil {
			t.Errorf("%s is read", line)
		}
	}
	if n, err := Read(strings.NewReader("{}\n{}"), func(int, *Stream) error { return nil }); n != 1 || err == nil {
		t.Errorf("a last line that is cut off: %d lines, %v", n, err)
	}
}

func TestEachWantsEnough(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a_1.jsonl", "a_2.jsonl"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{}\n{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var places []Place
	count := func(at Place, _ *Stream) error { places = append(places, at); return nil }
	if err := Each(folder, "a_*.jsonl", 4, count); err != nil || len(places) != 4 || places[3] != "a_2.jsonl:2" {
		t.Errorf("%v, %v", places, err)
	}
	for _, pattern := range []string{"a_1.jsonl", "b_*.jsonl"} {
		if Each(folder, pattern, 3, count) == nil {
			t.Errorf("%s has enough", pattern)
		}
	}
	failed := errors.New("no")
	if err := Each(folder, "a_*.jsonl", 1, func(Place, *Stream) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}
