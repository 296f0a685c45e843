// Package anthropic tests Anthropic's API from outside: its endpoints, and that whoever refuses a request does so in its
// form. What answers say is tested with the other APIs, in the suite.
//
// It knows paths, headers, statuses and the form of answers, and no client.
package anthropic
