// Package messages turns requests of Anthropic's Messages API into responses that the service makes, and their events
// into that API's answers.
//
// It knows both APIs' forms. It does not know the loop of tools, how the gateway is asked, HTTP, or what is stored:
// nothing is.
package messages
