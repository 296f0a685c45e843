package harmony

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// report is what a model wrote, as a public report quotes it (testdata/reports.txt, described there).
type report struct {
	url      string
	ids      []uint32
	text     string
	stripped bool
	want     []string
	lost     string
}

func reports(t *testing.T) []report {
	t.Helper()
	data, err := os.ReadFile("testdata/reports.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []report
	for n, line := range strings.Split(string(data), "\n") {
		field, value, _ := strings.Cut(line, " ")
		if field == "url" {
			all = append(all, report{url: value})
		}
		if field == "" || field == "#" || field == "url" || field == "what" {
			continue
		}
		r := &all[len(all)-1]
		err = nil
		switch field {
		case "ids":
			err = json.Unmarshal([]byte(value), &r.ids)
			r.text = o200k.Tokenizer().DecodeString(r.ids)
		case "raw":
			r.text, err = strconv.Unquote(value)
			r.ids = o200k.Tokenizer().AppendEncodeSpecial(nil, r.text)
		case "stripped":
			r.text, err = strconv.Unquote(value)
			r.stripped = true
		case "want":
			r.want = append(r.want, value)
		case "left":
			r.lost = value
		default:
			t.Fatalf("line %d: %s?", n+1, field)
		}
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d reports", len(all))
	}
	return all
}

// quoted prints messages as formatMessages does, one each, with their texts quoted.
func quoted(messages []recorded) []string {
	var out []string
	for _, m := range messages {
		m.text = strconv.Quote(m.text)
		out = append(out, formatMessages([]recorded{m}))
	}
	return out
}

// TestReports gives what models really wrote to the tolerant parsers, by ids and by text at every cut.
func TestReports(t *testing.T) {
	for _, r := range reports(t) {
		options := TextOptions{}
		if r.stripped {
			options.Dialect = Stripped
		} else {
			checkInvariants(t, r.ids)
			if got := quoted(record(r.ids).messages); !slices.Equal(got, r.want) {
				t.Errorf("%s: %q\n got %s\nwant %s", r.url, r.text, strings.Join(got, "\n     "), strings.Join(r.want, "\n     "))
			}
		}
		// recordText fails on any event that holds a control token.
		whole, _ := recordText(t, options, []timed{{r.text, 0}})
		if got := quoted(whole.messages); !slices.Equal(got, r.want) {
			t.Errorf("%s: text %q\n got %s\nwant %s", r.url, r.text, strings.Join(got, "\n     "),
				strings.Join(r.want, "\n     "))
		}
		for i := 1; i < len(r.text); i++ {
			cut, _ := recordText(t, options, []timed{{r.text[:i], 0}, {r.text[i:], 0}})
			if !slices.Equal(cut.messages, whole.messages) || cut.seen != whole.seen {
				t.Errorf("%s: cut at %d: %q", r.url, i, quoted(cut.messages))
			}
		}
		checkText(t, options, []timed{{r.text, 0}})
		if lost := lostText(t, r.text, whole.messages); lost != r.lost {
			t.Errorf("%s: outside of all messages stands %q, want %q", r.url, lost, r.lost)
		}
	}
}

// lostText returns the parts of a text that are in no message, without control tokens. These are the words of headers,
// if nothing was lost.
func lostText(t *testing.T, text string, messages []recorded) string {
	t.Helper()
	var flat []byte  // text without control tokens
	var place []int  // of each byte of flat in text
	var marks []bool // where in text a control token stood
	for i := 0; i < len(text); {
		if _, size, _ := tokenizer.MatchSpecial([]byte(text[i:])); size > 0 {
			marks = append(marks, slices.Repeat([]bool{true}, size)...)
			i += size
			continue
		}
		flat, place, marks = append(flat, text[i]), append(place, i), append(marks, false)
		i++
	}
	taken := make([]bool, len(text))
	from := 0
	for _, m := range messages {
		at := strings.Index(string(flat[from:]), m.text)
		if at < 0 {
			t.Fatalf("%q is not in %q", m.text, flat[from:])
		}
		for i := from + at; i < from+at+len(m.text); i++ {
			taken[place[i]] = true
		}
		from += at + len(m.text)
	}
	var left []byte
	for i := range len(text) {
		switch {
		case marks[i] || taken[i]:
			left = append(left, ' ')
		default:
			left = append(left, text[i])
		}
	}
	return strings.Join(strings.Fields(string(left)), " ")
}
