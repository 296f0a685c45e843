package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// TokenizerInfo describes the tokenizer of a model, as the file tokenizer_config.json beside its weights does. It is
// the answer of GET /tokenizer_info, which is vLLM's path.
type TokenizerInfo struct {
	// BOS, EOS and Pad are the spellings of the tokens that begin a text, end an answer and fill up a batch.
	BOS, EOS, Pad string
	// ContextLength is the most tokens that prompt and answer may have.
	ContextLength int
}

// AppendJSON appends the description.
func (t *TokenizerInfo) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"tokenizer_class":"PreTrainedTokenizerFast","bos_token":`...)
	dst = append(rawjson.AppendString(dst, t.BOS), `,"eos_token":`...)
	dst = append(rawjson.AppendString(dst, t.EOS), `,"pad_token":`...)
	dst = rawjson.AppendString(dst, t.Pad)
	dst = appendCount(dst, `,"model_max_length":`, t.ContextLength)
	return append(dst, `,"clean_up_tokenization_spaces":false,"chat_template":null}`...)
}
