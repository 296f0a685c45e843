package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// formSink is between an adapter that reads calls in the form of a model other than gpt-oss and the sink of its
// messages. Such a model is shown custom tools as functions with one parameter, which holds the input.
type formSink struct {
	*conversationSink
	request *translate.Request
	// custom reports whether the open call is one of a custom tool, and input are its arguments so far.
	custom bool
	input  []byte
}

// Open implements [harmony.Sink].
func (s *formSink) Open(h harmony.Header) {
	if name, ok := strings.CutPrefix(h.Recipient, translate.FunctionPrefix); ok {
		name = s.request.CalledName(name)
		h.Recipient = translate.FunctionPrefix + name
		s.custom = s.request.TakesText(name)
	}
	s.conversationSink.Open(h)
}

// Content implements [harmony.Sink]. The input of a custom tool waits for its end, unless it is very long.
func (s *formSink) Content(text []byte, tokens int) {
	if !s.custom {
		s.conversationSink.Content(text, tokens)
		return
	}
	s.input = append(s.input, text...)
	if len(s.input) > maxHeldArguments {
		s.conversationSink.Content(s.input, tokens)
		s.custom, s.input = false, nil
	}
}

// Close implements [harmony.Sink].
func (s *formSink) Close(end harmony.End) {
	if s.custom {
		s.conversationSink.Content(translate.CustomInput(s.input, end == harmony.Cut), 0)
		s.custom, s.input = false, nil
	}
	s.conversationSink.Close(end)
}
