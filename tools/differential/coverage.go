package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony/harmonytest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// parseErrors are the prefixes of all errors of the reference's parser.
var parseErrors = []string{
	"Unexpected token ",
	"Unexpected EOS while waiting for message header to complete",
	"could not decode header",
	"channel marker present but no channel value found in header",
	"message header did not contain a role",
	"Unknown role: ",
	"unexpected tokens remaining in message header: Some(",
	"Could not decode tokens: Invalid utf-8 sequence: incomplete utf-8 byte sequence",
	"Could not decode tokens: Invalid utf-8 sequence: invalid utf-8 sequence",
	"Could not decode tokens: Invalid token error: Invalid token for decoding: ",
}

const readingError = "invalid conversation JSON: "

// renderErrors are the prefixes of all errors of the reference's renderer; readingError and what follows are its JSON
// library's. The library's "invalid unicode code point" is left out: it is about bytes, and no text can cause it.
var renderErrors = append([]string{
	"Tools should have a name!",
	"SystemContent may only appear in system messages, found in User",
	"SystemContent may only appear in system messages, found in Assistant",
	"SystemContent may only appear in system messages, found in Developer",
	"SystemContent may only appear in system messages, found in Tool",
	"DeveloperContent may only appear in developer messages, found in User",
	"DeveloperContent may only appear in developer messages, found in Assistant",
	"DeveloperContent may only appear in developer messages, found in System",
	"DeveloperContent may only appear in developer messages, found in Tool",
	"unknown role: ",
	"invalid message JSON: ",
}, prefixed(readingError, "missing field", "duplicate field", "unknown variant", "invalid type", "invalid value",
	"invalid length",
	"EOF while parsing a list", "EOF while parsing an object", "EOF while parsing a string", "EOF while parsing a value",
	"expected `:`", "expected `,` or `]`", "expected `,` or `}`", "expected ident", "expected value", "invalid escape",
	"invalid number",
	"number out of range", "control character", "key must be a string", "lone leading surrogate", "trailing comma",
	"trailing characters",
	"unexpected end of hex escape", "recursion limit exceeded")...)

func prefixed(prefix string, words ...string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = prefix + word
	}
	return out
}

// coverage counts what a run has covered.
type coverage struct {
	t *tokenizer.Tokenizer
	// pairs are counted by strict flag, situation and token class.
	pairs  [2][len(stateNames)][len(classNames)]int
	errors map[string]int
	// oss counts the messages and streams that a rule of [ossRules] explains.
	oss map[string]int
	// unlisted are errors of the reference that are in no list above.
	unlisted map[string]int
}

func newCoverage(t *tokenizer.Tokenizer) coverage {
	return coverage{t: t, errors: map[string]int{}, oss: map[string]int{}, unlisted: map[string]int{}}
}

// stream counts a stream's errors and returns the [harmonytest.Visit] that counts its tokens.
func (c *coverage) stream(v *vectors.Stream) harmonytest.Visit {
	for i := range v.Steps {
		if err := v.Steps[i].Error; err != nil {
			c.countError(parseErrors, *err)
		}
	}
	k := tracker{t: c.t, state: harmony.ExpectingStart}
	flag := 0
	if v.Strict {
		flag = 1
	}
	return func(p *harmony.StrictParser, token int64) {
		c.pairs[flag][k.record(p, token)][classOf(c.t, token)]++
	}
}

// conversation counts each error once, however many renderings gave it.
func (c *coverage) conversation(v *vectors.Conversation) {
	counted := map[string]bool{}
	for _, r := range []*vectors.Rendered{&v.Completion, &v.Training, &v.Plain, &v.Alone} {
		if r.Error != nil && !counted[r.Error.Message] {
			counted[r.Error.Message] = true
			c.countError(renderErrors, r.Error.Message)
		}
	}
}

// rules counts what explained a difference of oss-harmony.
func (c *coverage) rules(rules []string) {
	for _, rule := range rules {
		c.oss[rule]++
	}
}

func (c *coverage) countError(list []string, message string) {
	for _, beginning := range list {
		if strings.HasPrefix(message, beginning) {
			c.errors[beginning]++
			return
		}
	}
	c.unlisted[message]++
}

// print writes the tables.
func (c *coverage) print(w io.Writer) {
	for i, name := range stateNames {
		fmt.Fprintf(w, "%c: %s\n", 'A'+i, name)
	}
	for flag, name := range []string{"strict=False", "strict=True"} {
		fmt.Fprintf(w, "\ntokens by the parser's state, %s\n%-24s", name, "")
		for i := range stateNames {
			fmt.Fprintf(w, "%8s", string(rune('A'+i)))
		}
		fmt.Fprintln(w)
		for class := range classNames {
			fmt.Fprintf(w, "%-24s", classNames[class])
			for state := range stateNames {
				fmt.Fprintf(w, "%8d", c.pairs[flag][state][class])
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, "\nerrors, by how they begin")
	for _, list := range [][]string{parseErrors, renderErrors} {
		for _, beginning := range list {
			fmt.Fprintf(w, "%8d  %s\n", c.errors[beginning], beginning)
		}
	}
	fmt.Fprintln(w, "\noss-harmony differs from openai-harmony, by rule")
	for _, rule := range ossRules {
		fmt.Fprintf(w, "%8d  %s\n", c.oss[rule], rule)
	}
	fmt.Fprintln(w)
}

// missing returns an error that names everything covered fewer than least times.
func (c *coverage) missing(least int) error {
	var out []string
	for flag := range c.pairs {
		for state := range stateNames {
			for class := range classNames {
				if n := c.pairs[flag][state][class]; n < least {
					out = append(out, fmt.Sprintf("%s in state %q with strict=%v: %d", classNames[class], stateNames[state], flag == 1,
						n))
				}
			}
		}
	}
	for _, list := range [][]string{parseErrors, renderErrors} {
		for _, beginning := range list {
			if n := c.errors[beginning]; n < least {
				out = append(out, fmt.Sprintf("error %q: %d", beginning, n))
			}
		}
	}
	for _, rule := range ossRules {
		if n := c.oss[rule]; n < least {
			out = append(out, fmt.Sprintf("rule of oss-harmony %q: %d", rule, n))
		}
	}
	for message, n := range c.unlisted {
		out = append(out, fmt.Sprintf("an error that is in no list, %d times: %q", n, message))
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("covered fewer than %d times:\n  %s", least, strings.Join(out, "\n  "))
}
