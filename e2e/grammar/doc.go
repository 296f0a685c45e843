// Package grammar reads answers by OpenAI's schemas, by the grammar of Responses streams and by the grammar of channel
// events.
//
// It shares nothing with the code that writes answers, and knows no host.
package grammar
