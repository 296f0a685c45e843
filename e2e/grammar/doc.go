// Package grammar reads answers by OpenAI's schemas, by the grammars of Responses streams and of channel events, and by
// that of Anthropic's Messages.
//
// It shares nothing with the code that writes answers, and knows no host.
package grammar
