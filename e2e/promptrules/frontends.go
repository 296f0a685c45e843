package promptrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// model is the name by which all front ends serve the model.
const model = engines.VLLMModel

// llamaTemplate is the name of the last front end.
const llamaTemplate = "llama.cpp's template"

// An answer is a prompt, or a refusal.
type answer struct {
	ids []uint32
	// refusal is a status and a message, empty for a prompt.
	refusal string
}

// A frontEnd makes prompts of conversations.
type frontEnd struct {
	name string
	// apis are the folders of the cases that it is asked.
	apis []string
	// library reports whether the front end is only a renderer of Harmony, which another program asks.
	library bool
	ask     func(c *testCase) (answer, error)
}

// ours renders as the gateway does.
func ours() frontEnd {
	settings := completion.GPTOSS(model)
	settings.StructuralTags = true
	t := completion.New(completion.Options{Tokenizer: o200k.Tokenizer(), Model: settings})
	return frontEnd{name: "ours", apis: []string{chat, responses}, ask: func(c *testCase) (answer, error) {
		render := t.ChatPrompt
		if c.api == responses {
			render = t.ResponsesPrompt
		}
		ids, err := render(c.body)
		var refused *completion.Error
		if errors.As(err, &refused) {
			return answer{refusal: fmt.Sprintf("%d %s", refused.Status, errorMessage(refused.Body))}, nil
		}
		return answer{ids: ids}, err
	}}
}

// byHTTP asks paths of a server. read takes the prompt out of an answer.
func byHTTP(name, url string, paths map[string]string, read func(body []byte) ([]uint32, error)) frontEnd {
	f := frontEnd{name: name}
	for api := range paths {
		f.apis = append(f.apis, api)
	}
	f.ask = func(c *testCase) (answer, error) {
		response, err := http.Post(url+paths[c.api], "application/json", bytes.NewReader(c.body))
		if err != nil {
			return answer{}, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return answer{}, err
		}
		if response.StatusCode != http.StatusOK {
			return answer{refusal: fmt.Sprintf("%d %s", response.StatusCode, errorMessage(body))}, nil
		}
		ids, err := read(body)
		if err != nil {
			return answer{}, fmt.Errorf("%s says %s: %w", name, body, err)
		}
		return answer{ids: ids}, nil
	}
	return f
}

func errorMessage(body []byte) string {
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Message == "" {
		return string(body)
	}
	return said.Error.Message
}

// tokenIDs reads an answer of vLLM's render endpoints.
func tokenIDs(body []byte) ([]uint32, error) {
	var said struct {
		IDs []uint32 `json:"token_ids"`
	}
	err := json.Unmarshal(body, &said)
	if err == nil && len(said.IDs) == 0 {
		err = errors.New("no token_ids")
	}
	return said.IDs, err
}

// templateText reads an answer of llama.cpp's /apply-template. Its text has control tokens by their spelling.
func templateText(body []byte) ([]uint32, error) {
	var said struct {
		Prompt string `json:"prompt"`
	}
	err := json.Unmarshal(body, &said)
	if err == nil && said.Prompt == "" {
		err = errors.New("no prompt")
	}
	return o200k.Tokenizer().AppendEncodeSpecial(nil, strings.TrimRight(said.Prompt, "\n")), err
}
