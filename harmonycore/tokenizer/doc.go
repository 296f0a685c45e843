// Package tokenizer turns text into o200k token ids and ids back into bytes, exactly as the reference does
// (docs/harmony-format.md#tokenizer).
//
// It knows text and ids; it must not know what a message is, or what the
// control tokens mean to it.
//
// There are two ways in. AppendEncode is for everything that comes from data:
// a spelled-out control token stays plain text there, which is what keeps a
// user from forging one. AppendEncodeSpecial is for text that is trusted to
// hold control tokens.
package tokenizer
