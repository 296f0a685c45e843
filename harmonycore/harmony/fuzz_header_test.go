package harmony

import (
	"fmt"
	"strings"
	"testing"
)

// A fuzzer's byte is a control token, a word that headers have, or a word of an answer. An answer's words are numbered,
// so that each can be found again; %[1]s is a space, but after a control token, where it may be missing.
var (
	headerControls = []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|return|>",
		"<|call|>"}
	fieldWords = []string{"assistant", " assistant", "user", "final", "analysis", "commentary", " to=functions.f",
		" to=f", " json", " code", "\n"}
	answerWords = []string{"%[1]sYes%03[2]d.", "%[1]sno%03[2]d,", "%[1]s%03[2]d!", "%[1]s{\"a\":\"%03[2]d\"}",
		"%[1]sé%03[2]d…", "\u2003x%03[2]d?", "%[1]s(to %03[2]d)", "%[1]s<b>%03[2]d</b>"}
)

// headerText returns what a fuzzer's bytes stand for: the text, the words that must be delivered once, and those that
// may be lost.
//
// A word may be lost in a header that a message token ends: there the words are fields, or what is left of them.
func headerText(data []byte) (text string, kept, loose []string) {
	var b strings.Builder
	var pending []string
	content, recipient, answered := false, false, false
	space := ""
	for i, c := range data {
		n := int(c)
		if n < len(headerControls) {
			switch control := headerControls[n]; control {
			case "<|message|>":
				loose = append(loose, pending...)
				pending, content = nil, true
			case "<|start|>", "<|end|>", "<|return|>", "<|call|>":
				kept = append(kept, pending...)
				pending, content, recipient = nil, false, false
			case "<|channel|>":
				if recipient {
					loose = append(loose, pending...) // of a header to a tool that begins again nothing is an answer
					pending = nil
				}
				content = false // what follows may be a header
			}
			b.WriteString(headerControls[n])
			space, answered = "", false
			continue
		}
		if n -= len(headerControls); n < len(fieldWords) {
			recipient = recipient || strings.Contains(fieldWords[n], recipientMark)
			if answered {
				b.WriteString(" ") // or it would be the answer's last word
			}
			b.WriteString(fieldWords[n])
			space, answered = " ", false
			continue
		}
		word := fmt.Sprintf(answerWords[n%len(answerWords)], space, i)
		b.WriteString(word)
		word = strings.TrimLeft(word, " \u2003")
		if content {
			kept = append(kept, word)
		} else {
			pending = append(pending, word)
		}
		space, answered = " ", true
	}
	return b.String(), append(kept, pending...), loose
}

// FuzzHeaderWords checks that a word of an answer is delivered once, whatever header precedes it and however that ends.
func FuzzHeaderWords(f *testing.F) {
	f.Add([]byte{1, 10, 3, 30, 31, 5})            // final, constrain, an answer
	f.Add([]byte{1, 10, 3, 30, 5})                // the same of one word
	f.Add([]byte{4, 0, 30, 5})                    // an answer in the role's place
	f.Add([]byte{1, 10, 31, 1, 11, 32, 5})        // two headers without message tokens
	f.Add([]byte{1, 12, 13, 3, 15, 33, 6, 1, 10}) // a call
	f.Add([]byte{2, 30, 1, 31, 2, 32, 4, 33})     // a channel token in content
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 999 {
			return
		}
		text, kept, loose := headerText(data)
		ids := tokens(text)
		checkInvariants(t, ids)
		whole, _ := recordText(t, TextOptions{}, []timed{{text, 0}})
		for name, got := range map[string]*recorder{"ids": record(ids), "text": &whole.recorder} {
			var all strings.Builder
			for _, m := range got.messages {
				all.WriteString(m.text)
				all.WriteString("\n")
			}
			for _, word := range kept {
				if n := strings.Count(all.String(), word); n != 1 {
					t.Errorf("by %s: %q is delivered %d times of %q\n%s", name, word, n, text, formatMessages(got.messages))
				}
			}
			for _, word := range loose {
				if n := strings.Count(all.String(), word); n > 1 {
					t.Errorf("by %s: %q is delivered %d times of %q\n%s", name, word, n, text, formatMessages(got.messages))
				}
			}
		}
	})
}
