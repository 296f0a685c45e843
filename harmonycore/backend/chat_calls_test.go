package backend

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// pieces is a stream of one piece of a call per chunk.
func pieces(calls ...string) string {
	var out strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&out, "data: %s\n\n", chatChunk(`{"tool_calls":[`+c+`]}`))
	}
	return out.String()
}

// TestChatCalls: pieces find their calls by what there is of an index, an id and a name.
func TestChatCalls(t *testing.T) {
	const end = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	nameless := fmt.Sprintf(" error %+v", *errNamelessCall())
	for _, tc := range []streamCase{
		{"no index, no id", pieces(`{"function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`,
			`{"function":{"name":"g","arguments":"{}"}}`), "0: =f {} =g {} 0"},
		{"one function again, no index, no id", pieces(`{"function":{"name":"f","arguments":"{}"}}`,
			`{"function":{"name":"f","arguments":"{}"}}`), "0: =f {} =f {} 0"},
		{"interleaved", pieces(`{"index":0,"id":"x","function":{"name":"f"}}`, `{"index":1,"id":"y","function":{"name":"g"}}`,
			`{"index":0,"function":{"arguments":"a"}}`, `{"index":1,"function":{"arguments":"b"}}`,
			`{"index":0,"function":{"arguments":"c"}}`), "0: x=f ac y=g b 0"},
		{"indexes with gaps", pieces(`{"index":7,"id":"x","function":{"name":"f","arguments":"a"}}`,
			`{"index":3,"id":"y","function":{"name":"f","arguments":"b"}}`), "0: x=f a y=f b 0"},
		{"indexes of other types", pieces(`{"index":"0","id":"x","function":{"name":"f","arguments":"a"}}`,
			`{"index":-1,"function":{"arguments":"b"}}`, `{"index":1.5,"function":{"arguments":"c"}}`), "0: x=f abc 0"},
		{"an id that comes later", pieces(`{"index":0,"function":{"name":"f"}}`,
			`{"index":0,"id":"x","function":{"arguments":"a"}}`), "0: =f a 0"},
		{"another function with the same id", pieces(`{"index":0,"id":"x","function":{"name":"f"}}`,
			`{"index":0,"id":"x","function":{"name":"g","arguments":"a"}}`), "0: x=f  x=g a 0"},
		{"the same id at another index", pieces(`{"index":0,"id":"x","function":{"name":"f","arguments":"a"}}`,
			`{"index":1,"id":"x","function":{"name":"f","arguments":"b"}}`, `{"index":1,"function":{"arguments":"c"}}`,
			`{"index":0,"function":{"arguments":"d"}}`), "0: x=f abcd 0"},
		{"a whole call again at another index", pieces(`{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}`,
			`{"index":0,"function":{"arguments":"}"}}`, `{"index":1,"id":"x","function":{"name":"f","arguments":"{}"}}`),
			"0: x=f {} 0"},
		{"a whole call again at its index", pieces(`{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}`,
			`{"index":0,"function":{"arguments":"}"}}`, `{"index":0,"function":{"arguments":"{}"}}`), "0: x=f {} 0"},
		{"the same id at another index, with other arguments", pieces(
			`{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}`,
			`{"index":1,"id":"x","function":{"name":"f","arguments":"[]"}}`), "0: x=f {} x=f [] 0"},
		{"the same id at another index, with another name", pieces(
			`{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}`,
			`{"index":1,"id":"x","function":{"name":"g","arguments":"{}"}}`), "0: x=f { x=g {} 0"},
		{"arguments that are an object", pieces(`{"index":0,"id":"x","function":{"name":"f","arguments":{"a": [1]}}}`,
			`{"index":1,"id":"y","function":{"name":"f","arguments":null}}`), `0: x=f {"a": [1]} y=f  0`},
		{"custom tools", pieces(`{"index":0,"id":"x","type":"custom","custom":{"name":"p","input":""},"function":null}`,
			`{"index":0,"custom":{"input":"*** "}}`, `{"index":0,"custom":{"input":"Begin"}}`), "0: x=p *** Begin 0"},
		{"no arguments", pieces(`{"index":0,"id":"x","function":{"name":"f"}}`) + end, "0: x=f  1"},
		{"escapes", pieces(`{"index":0,"id":"\u0078","function":{"name":"f\u0031","arguments":"\"\n\ud83d\ude00"}}`),
			"0: x=f1 \"\n😀 0"},
		{"an id before the name", pieces(`{"index":0,"id":"x","function":{"arguments":""}}`,
			`{"index":0,"function":{"name":"f","arguments":"a"}}`), "0: x=f a 0"},
		{"a name that never comes", pieces(`{"index":0,"id":"x","function":{"arguments":"a"}}`) + end, "0: 1" + nameless},
		{"an id alone", pieces(`{"index":0,"id":"x","function":{}}`) + end, "0: 1"},
		{"two names that do not come", pieces(`{"index":0,"id":"x","function":{"arguments":"a"}}`,
			`{"index":1,"id":"y","function":{"arguments":"b"}}`), nameless},
		{"pieces of other types", pieces(`5`, `null`, `{"function":7}`, `{"function":{"name":7,"arguments":""}}`), ""},
		{"calls of another choice", strings.Replace(pieces(`{"index":0,"id":"x","function":{"name":"f"}}`), `"index":0`,
			`"index":3`, 1) + pieces(`{"index":0,"function":{"name":"g"}}`), "0: =g  0 3: x=f  0"},
		{"calls of no choice", strings.Replace(pieces(`{"index":0,"id":"x","function":{"name":"f"}}`), `"index":0`,
			`"index":-3`, 1), ""},
	} {
		if got := chatOf(chat{}.NewReader(), tc.in); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		checkTemplate(t, chat{}, tc.in)
		checkTemplate(t, chat{}, strings.Split(tc.in, "")...)
	}
}

// TestChatCallsAreBounded: a server that begins calls for ever, or never names one, is stopped.
func TestChatCallsAreBounded(t *testing.T) {
	for name, next := range map[string]func(i int) string{
		"calls": func(i int) string { return fmt.Sprintf(`{"index":%d,"id":"%d","function":{"name":"f"}}`, i, i) },
		"pieces": func(int) string {
			return strings.Repeat(`{"id":"x","function":{"name":"f","arguments":"["}},`, maxChatPieces) +
				`{"id":"x","function":{"name":"f","arguments":"]"}}`
		},
		"calls one": func(i int) string { return fmt.Sprintf(`{"function":{"name":"f%d"}}`, i) },
		"nameless": func(int) string {
			return `{"index":0,"function":{"arguments":"` + strings.Repeat("x", 1000) + `"}}`
		},
		"ids": func(int) string {
			return `{"index":0,"id":"` + strings.Repeat("x", maxHeldCall+1) + `","function":{"arguments":""}}`
		},
	} {
		r := chat{}.NewReader()
		var e Event
		stopped := 0
		for i := range 2 * maxChatCalls {
			r.Write([]byte(pieces(next(i))))
			for r.Next(&e) == Read {
				if e.Error != nil {
					stopped++
				}
			}
		}
		if stopped < maxChatCalls {
			t.Errorf("%s: %d pieces were refused", name, stopped)
		}
	}
}

// TestChatStateIsBounded: what a server can make the reader keep is bounded, whatever it sends.
func TestChatStateIsBounded(t *testing.T) {
	r := &chatReader{}
	s := &eventStream{read: r.read, more: r.more, fitted: r.fitted, variables: chatVariables}
	var e Event
	read := func(stream string) {
		s.Write([]byte(stream))
		for reading := s.Next(&e); reading != Drained; reading = s.Next(&e) {
		}
	}
	for choice := range maxChatChoices + 9 {
		for call := range maxChatCalls + 9 {
			read("data: " + strings.Replace(chatChunk(fmt.Sprintf(`{"tool_calls":[{"id":"%d","index":%d,"function":{"name":`+
				`"f"}},{"index":900,"function":{"arguments":"x"}}]}`, call, call)), `"index":0`, fmt.Sprintf(`"index":%d`,
				choice), 1) + "\n\n")
		}
	}
	if len(r.calls) != maxChatChoices {
		t.Errorf("%d choices are kept", len(r.calls))
	}
	for i := range r.calls {
		if c := &r.calls[i]; len(c.calls) != maxChatCalls || len(c.held) > maxHeldCall {
			t.Errorf("%d calls of choice %d are kept, and %d bytes", len(c.calls), i, len(c.held))
		}
	}
	if size := unsafe.Sizeof(chatCall{}) * maxChatCalls * maxChatChoices; size > 2<<20 {
		t.Errorf("all calls take %d bytes", size)
	}
}

// TestWholeArguments: in every cut, arguments are whole with the byte that ends them, and before it they are not.
func TestWholeArguments(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `{}`: 2, `[]`: 2, ` {"a":"}\"}","b":[{}]} `: 22, `{"a":"\\"}`: 10, `{`: 0, `{"a`: 0,
		`5`: 0, `"{}"`: 0, `*** {}`: 0,
		`}{}`: 0, `{]`: 2,
	} {
		for size := 1; size <= len(text)+1; size++ {
			var end jsonEnd
			for at := 0; at < len(text); at += size {
				to := min(at+size, len(text))
				end.add([]byte(text[at:to]))
				if end.ended != (want > 0 && to >= want) {
					t.Errorf("%q in pieces of %d: ended at %d: %t", text, size, to, end.ended)
				}
			}
			if end.hash != hashOf([]byte(text)) {
				t.Errorf("%q in pieces of %d has another hash", text, size)
			}
		}
	}
}
