package server

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TokenizePage returns /tokenize of vLLM and of SGLang for a text. An unknown model is refused where checked is set:
// SGLang does not read it. Chat messages, which both take too, are not simulated.
//
// Sources: vLLM 0.33 vllm/entrypoints/serve/tokenize, SGLang 0.5.23 sglang/srt/entrypoints/openai/serving_tokenize.py.
func (s *Server) TokenizePage(checked bool) *Page {
	return &Page{[]string{http.MethodPost}, func(w http.ResponseWriter, rec *Request) {
		var q struct {
			Model  string  `json:"model"`
			Prompt *string `json:"prompt"`
		}
		switch err := json.Unmarshal(rec.Body, &q); {
		case err != nil || q.Prompt == nil:
			s.Refuse(w, rec, BadRequest("prompt", "The simulator tokenizes a prompt that is a text."))
		case checked && q.Model != "" && !s.Serves(q.Model):
			s.Refuse(w, rec, NotFound("model", "The model `"+q.Model+"` does not exist."))
		default:
			ids := s.Tokenize(*q.Prompt)
			s.Respond(w, rec, http.StatusOK, []byte(`{"count":`+strconv.Itoa(len(ids))+`,"max_model_len":`+
				strconv.Itoa(s.Options.MaxModelLen)+`,"tokens":`+string(MustJSON(List(ids)))+`}`))
		}
	}}
}

// firstByte is the id of the byte 0 in the vocabulary of [Options.OtherVocabulary].
const firstByte = 3

// Tokenize returns the ids of a text, in which the spellings of special tokens are those tokens.
func (s *Server) Tokenize(text string) []uint32 {
	if !s.Options.OtherVocabulary {
		return o200k.Tokenizer().AppendEncodeSpecial(nil, text)
	}
	ids := make([]uint32, len(text))
	for i := range ids {
		ids[i] = firstByte + uint32(text[i])
	}
	return ids
}
