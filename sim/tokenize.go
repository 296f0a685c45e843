package sim

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// tokenizePage returns /tokenize of vLLM and of SGLang for a text. An unknown model is refused where checked is set:
// SGLang does not read it. Chat messages, which both take too, are not simulated.
//
// Sources: vLLM 0.33 vllm/entrypoints/serve/tokenize, SGLang 0.5.23 sglang/srt/entrypoints/openai/serving_tokenize.py.
func (s *Server) tokenizePage(checked bool) *page {
	return &page{[]string{http.MethodPost}, func(w http.ResponseWriter, rec *Request) {
		var q struct {
			Model  string  `json:"model"`
			Prompt *string `json:"prompt"`
		}
		switch err := json.Unmarshal(rec.Body, &q); {
		case err != nil || q.Prompt == nil:
			s.refuse(w, rec, badRequest("prompt", "The simulator tokenizes a prompt that is a text."))
		case checked && q.Model != "" && !s.serves(q.Model):
			s.refuse(w, rec, notFound("model", "The model `"+q.Model+"` does not exist."))
		default:
			ids := s.tokenize(*q.Prompt)
			s.respond(w, rec, http.StatusOK, []byte(`{"count":`+strconv.Itoa(len(ids))+`,"max_model_len":`+
				strconv.Itoa(s.opt.MaxModelLen)+`,"tokens":`+string(mustJSON(list(ids)))+`}`))
		}
	}}
}

// firstByte is the id of the byte 0 in the vocabulary of [Options.OtherVocabulary].
const firstByte = 3

// tokenize returns the ids of a text, in which the spellings of special tokens are those tokens.
func (s *Server) tokenize(text string) []uint32 {
	if !s.opt.OtherVocabulary {
		return o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	}
	ids := make([]uint32, len(text))
	for i := range ids {
		ids[i] = firstByte + uint32(text[i])
	}
	return ids
}
