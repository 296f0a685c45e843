// Package harmonycore has no code. Its folders are the core of Harmony Edge: the tokenizer, Harmony's format, OpenAI's
// APIs, the translation between them, and the wire formats of inference servers. They know no proxy, and do no input or
// output. Go and TinyGo compile them alike.
//
// # What is promised
//
// Programs outside this module may import [github.com/harmonyedge/harmonyedge/harmonycore/harmony] for the format,
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer] with
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k] for text and token ids, and
// [github.com/harmonyedge/harmonyedge/harmonycore/completion] for the translation of whole requests and answers. The
// page docs/library.md says what stays compatible. The other packages change without notice.
//
// # Words
//
// One word stands for one thing, in code, comments and documentation.
//
//   - answer: what a client gets for a request, made of the model's messages: chunks, events, or one body.
//   - call: a message by which the model calls a tool. Its recipient is the tool, and its content the arguments.
//   - channel: a word in a message's header that says what the message is for: analysis, commentary or final.
//   - chunk: a piece of a streamed Chat answer. A piece of a Responses answer is an event.
//   - choice: one of the n answers to one request.
//   - completion: what a model generates after a prompt, from one request to its end.
//   - content type: a word in a message's header that says what the content is, such as json.
//   - control token: a token with a meaning in the format, such as <|start|>. Text of users never becomes one.
//   - conversation: the messages that a prompt is rendered from, or a completion is parsed to.
//   - dialect: the wire format of one kind of server. In package harmony it is how a server writes messages as text.
//   - exchange: one request and its response on their way through the gateway.
//   - gateway: the configuration and the models that all exchanges of a filter share.
//   - generation: the exchange of a request that goes to a model, while the model's tokens come back.
//   - header: the part of a message before its content: role, recipient, channel and content type.
//   - host: what runs the filter: Envoy, wazero, or a test.
//   - message: a header and its content.
//   - pool: a set of servers that are alike, and serve the same models.
//   - preamble: what the model says to the user on its way to a call.
//   - prompt: the token ids that a server is sent.
//   - recipient: the tool, or the role, that a message is addressed to.
//   - recovery: one repair of malformed output.
//   - render: to make token ids of a conversation.
//   - role: the author of a message: user, assistant, system, developer or tool.
//   - server: a process that generates tokens, such as one of vLLM.
//   - spare: a pool that takes requests while another pool cannot.
//   - tool: a function that the model may call. The client, or a responses service, runs it.
//   - turn: what follows one message of the user: the model's messages, and the results of its calls.
package harmonycore
