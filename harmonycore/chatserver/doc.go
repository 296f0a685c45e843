// Package chatserver writes what servers of OpenAI's Chat Completions API are asked: messages, tools, the choice of a
// tool and the form of the answer. It also rewrites a client's Chat request for such a server.
//
// It knows the form of these requests. It does not know Responses, where a conversation comes from, or HTTP.
package chatserver
