// Package harmonycore has no code. Its folders are the core of Harmony Edge: the tokenizer, Harmony's format, OpenAI's
// and Anthropic's APIs, the translation between them, and the wire formats of inference servers. They know no proxy, and
// do no input or output. Both Go and TinyGo compile them.
//
// # What stays compatible
//
// Programs outside this module may import [github.com/harmonyedge/harmonyedge/harmonycore/harmony] for the format,
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer] with
// [github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k] for text and token ids, and
// [github.com/harmonyedge/harmonyedge/harmonycore/completion] for the translation of whole requests and answers. The
// page docs/library.md lists what stays compatible. The other packages change without notice.
//
// # Words
//
// Each word has one meaning in code, comments and documentation.
//
//   - answer: the chunks, events or body that a client gets for a request. It is made from the model's messages.
//   - call: a message by which the model calls a tool. Its recipient is the tool, and its content the arguments.
//   - channel: a word in a message's header with the purpose of the message: analysis, commentary or final.
//   - chunk: a piece of a streamed Chat answer. A piece of a Responses answer is an event.
//   - choice: one of the n answers to one request.
//   - completion: what a model generates after a prompt, from one request to its end.
//   - content type: a word in a message's header with the type of the content, such as json.
//   - control token: a token with a meaning in the format, such as <|start|>. Text of users never becomes one.
//   - conversation: the messages from which a prompt is rendered, or into which a completion is parsed.
//   - dialect: in package harmony, how a server writes messages as text.
//   - exchange: one request and its response on their way through the gateway.
//   - gateway: the configuration and the models that all exchanges of a filter share.
//   - generation: the exchange of a request that is sent to a model, while the model's tokens come back.
//   - header: the part of a message before its content: role, recipient, channel and content type.
//   - host: the program that runs the filter: Envoy, wazero, or a test.
//   - kind: which program a server is, such as vLLM; it determines paths, wire format and capabilities.
//   - message: a header and its content.
//   - pool: a set of identical servers, which serve the same models.
//   - preamble: text of the model to the user before a call.
//   - prompt: the token ids that are sent to a server.
//   - recipient: the tool, or the role, to which a message is addressed.
//   - recovery: one repair of malformed output.
//   - render: to turn a conversation into token ids.
//   - role: the author of a message: user, assistant, system, developer or tool.
//   - server: a process that generates tokens, such as a vLLM server.
//   - spare: a pool that takes requests while another pool cannot.
//   - tool: a function that the model may call. The client, or a responses service, runs it.
//   - turn: what follows one message of the user: the model's messages, and the results of its calls.
package harmonycore
